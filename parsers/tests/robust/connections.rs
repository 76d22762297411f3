//! Packets to connections: one per pair of endpoints, unless it is closed or opened again, whatever the encapsulation.
//! The tests of TCP's rules cover when another connection begins.

use std::collections::HashMap;

use super::*;

/// How a segment is encapsulated, and its options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    Stamps,
    Mss,
    Sack,
    Vlan,
    Tunnel,
    FirstFragment,
    V6,
}

#[derive(Debug, Clone)]
struct Step {
    /// Host and port of the sender, then of the receiver.
    ends: [(u8, u16); 2],
    flags: u8,
    seq: u32,
    shape: Shape,
}

fn step() -> impl Strategy<Value = Step> {
    let end = || (1_u8..3, 1_u16..3);
    let ack = 0x10;
    let flags = prop_oneof![
        8 => Just(ack),
        2 => Just(ack | 8),
        2 => Just(2_u8),
        1 => Just(ack | 0x20),
    ];
    let shape = prop_oneof![
        6 => Just(Shape::Plain),
        6 => Just(Shape::Stamps),
        2 => Just(Shape::Mss),
        1 => Just(Shape::Sack),
        1 => Just(Shape::Vlan),
        1 => Just(Shape::Tunnel),
        1 => Just(Shape::FirstFragment),
        1 => Just(Shape::V6),
    ];
    (end(), end(), flags, 0_u32..3, shape).prop_map(|(source, destination, flags, seq, shape)| {
        let ends = [source, destination];
        // A SYN repeats the initial number.
        let seq = if flags & 2 == 0 { seq + 1 } else { 0 };
        Step {
            ends,
            flags,
            seq,
            shape,
        }
    })
}

/// Builds a frame whose checksum is `number`.
fn frame(step: &Step, number: u16) -> Vec<u8> {
    let [(from, source), (to, destination)] = step.ends;
    let mut frame = segment(false, step.flags, step.seq, 7, 20);
    let options: &[u8] = match step.shape {
        Shape::Stamps => &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0],
        Shape::Mss => &[2, 4, 5, 180],
        Shape::Sack => &[1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0],
        _ => &[],
    };
    frame[50..52].copy_from_slice(&number.to_be_bytes());
    frame[29] = from;
    frame[33] = to;
    frame[34..36].copy_from_slice(&source.to_be_bytes());
    frame[36..38].copy_from_slice(&destination.to_be_bytes());
    frame[46] = (5 + options.len() as u8 / 4) << 4;
    frame.extend(options);
    match step.shape {
        Shape::FirstFragment => frame[20] = 0x20,
        Shape::Vlan => drop(frame.splice(12..12, [0x81, 0, 0, 5])),
        Shape::Tunnel => {
            let mut outer = frame[14..34].to_vec();
            outer[2..4].copy_from_slice(&80_u16.to_be_bytes());
            outer[9] = 4;
            (outer[15], outer[19]) = (100, 101);
            frame.splice(14..14, outer);
        }
        Shape::V6 => {
            let mut header = vec![0; 40];
            (header[0], header[5], header[6]) = (0x60, 40, 6);
            (header[23], header[39]) = (from, to);
            frame.splice(12..34, [0x86, 0xdd].into_iter().chain(header));
        }
        _ => {}
    }
    frame
}

/// Returns the connection number of each packet.
fn expected(steps: &[Step]) -> Vec<i64> {
    let mut numbers = HashMap::new();
    let pairs = steps.iter().map(|step| {
        let [source, destination] = step.ends;
        let v6 = step.shape == Shape::V6;
        (source.min(destination), source.max(destination), v6)
    });
    pairs
        .map(|pair| {
            let next = numbers.len() as i64;
            *numbers.entry(pair).or_insert(next)
        })
        .collect()
}

/// Returns a capture of the steps, 1 ns apart, in which no two packets are alike.
fn frames(steps: &[Step]) -> Vec<(u64, Vec<u8>)> {
    let numbered = (1_u16..).zip(steps);
    numbered
        .map(|(number, step)| (u64::from(number), frame(step, number)))
        .collect()
}

proptest! {
    #[test]
    fn a_packet_belongs_to_the_connection_of_its_endpoints(
        steps in prop::collection::vec(step(), 1..300),
        threads in 1_usize..3,
    ) {
        let (tables, summary) = parse(&[&capture(&frames(&steps))], threads).unwrap();
        let expected = expected(&steps);
        prop_assert_eq!(tables.known("packets", "connection"), &expected[..]);
        prop_assert_eq!(summary.connections as i64, expected.iter().max().unwrap() + 1);
    }
}
