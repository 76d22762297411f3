//! Segments of two endpoints with any numbers, options and times, compared with a slow model of repeated bytes.
//!
//! Fields: options, the two initial numbers, then segments: control, flags, sequence number and
//! acknowledgement relative to the expected ones, payload, window, time step, repetitions, and SACK
//! blocks.

use super::checks::checked;
use super::fields::Fields;
use super::files::{Record, START_NS, pcap};
use super::model::{ACK, SYN, Segment, Side};
use super::tables::Tables;

const MOST_SEGMENTS: usize = 128;
/// Control bits: a number far from the others, whose unwrapping is ambiguous and not modelled.
const WILD: u8 = 0x0e;
/// Control bit: more segments of the same kind follow.
const BURST: u8 = 0x80;
/// Option bit: Ethernet instead of bare IP.
const ETHERNET: u8 = 8;
const PORTS: [u16; 2] = [1000, 2000];

/// The entry point.
pub fn enter(bytes: &[u8]) {
    let mut fields = Fields(bytes);
    let options = fields.u8();
    let isn = [fields.u32(), fields.u32()];
    let mut sides = [Side::default(), Side::default()];
    let mut next = [0_i64; 2];
    let mut time = START_NS;
    let mut modelled = true;
    let mut records: Vec<Record> = Vec::new();
    while fields.more() && records.len() < MOST_SEGMENTS {
        let control = fields.u8();
        let side = usize::from(control & 1);
        let wild = control & WILD == WILD;
        modelled &= !wild;
        let mut segment = Segment {
            flags: fields.u8(),
            seq: next[side] + i64::from(fields.i16()),
            payload: 0,
        };
        let ack = next[1 - side] + i64::from(fields.i16());
        segment.payload = i64::from(fields.u16() % 3000);
        let window = fields.u16();
        let step = fields.step_ns();
        let more = if control & BURST != 0 && !wild {
            fields.u8() % 32
        } else {
            0
        };
        let mut number = isn[side].wrapping_add(segment.seq as u32);
        if wild {
            number = fields.u32();
        } else {
            next[side] = next[side].max(segment.end());
        }
        let ack = isn[1 - side].wrapping_add(ack as u32);
        let tcp_options = tcp_options(control, &segment, ack, &mut fields);
        for again in 0..=more {
            if again > 0 {
                segment.seq = segment.end();
                number = isn[side].wrapping_add(segment.seq as u32);
                next[side] = next[side].max(segment.end());
            }
            time += step;
            sides[side].count(segment);
            let header = header(side, number, ack, segment.flags, window, &tcp_options);
            let mut frame = ip(options & 1 == 1, side, &header, segment.payload as usize);
            if options & ETHERNET != 0 {
                let kind = if options & 1 == 1 { 0x86dd_u16 } else { 0x0800 };
                frame.splice(..0, [[0; 12].as_slice(), &kind.to_be_bytes()].concat());
            }
            records.push((time, (frame.len() as i64 + segment.payload) as u32, frame));
        }
    }
    let link_type = if options & ETHERNET != 0 { 1 } else { 101 };
    let file = pcap(link_type, &records);
    let threads = if options & 6 == 6 { 2 } else { 1 };
    let (tables, summary) = checked(&[&file], threads).expect("a valid file is refused");
    assert_eq!(summary.packets as usize, records.len());
    assert_eq!(tables.sum("captures", "undecoded_packets"), 0);
    if modelled && summary.connections == 1 && all_count(&tables) {
        compare(&tables, &sides);
    }
}

/// Returns whether no packet was reordered, taken for a copy, or refused by its receiver.
fn all_count(tables: &Tables) -> bool {
    let captures = ["reordered_packets", "late_packets", "duplicate_packets"];
    let flows = [
        "outside_window_packets",
        "stray_syn_packets",
        "stray_syn_ack_packets",
        "stray_rst_packets",
    ];
    let captures = captures.map(|column| tables.sum("captures", column));
    let flows = flows.map(|column| tables.sum("flows", column));
    captures.into_iter().chain(flows).all(|count| count == 0)
}

fn compare(tables: &Tables, sides: &[Side; 2]) {
    let ports = tables.known("flows", "src_port");
    for (port, side) in PORTS
        .into_iter()
        .zip(sides)
        .filter(|(_, side)| side.packets > 0)
    {
        let row = ports.iter().position(|&found| found == i64::from(port));
        let row = row.expect("a direction has no row");
        for (column, expected) in [
            ("packets", side.packets),
            ("payload_bytes", side.payload_bytes),
            ("rst_packets", side.rst_packets),
            ("syn_packets", side.syn_packets),
            ("fin_packets", side.fin_packets),
            ("retransmitted_packets", side.retransmitted_packets),
            ("retransmitted_bytes", side.retransmitted_bytes),
            ("out_of_order_packets", side.out_of_order_packets),
        ] {
            if side.odd && column == "out_of_order_packets" {
                continue;
            }
            let found = tables.numbers("flows", column)[row];
            assert_eq!(found, Some(expected), "{column} of port {port}");
        }
    }
}

/// Returns the options that the control byte selects: those of a SYN, and SACK blocks around the acknowledgement.
fn tcp_options(control: u8, segment: &Segment, ack: u32, fields: &mut Fields<'_>) -> Vec<u8> {
    let mut options = Vec::new();
    if control & 16 != 0 || segment.has(SYN) {
        let [mss, shift] = [fields.u8(), fields.u8()];
        options.extend([2, 4, mss, 0xb4, 1, 3, 3, shift, 4, 2]);
    }
    let count = if segment.has(ACK) {
        control >> 5 & 3
    } else {
        0
    };
    if count > 0 {
        options.extend([5, 2 + 8 * count]);
        for _ in 0..count {
            let left = ack.wrapping_add(i32::from(fields.i16()) as u32);
            options.extend(left.to_be_bytes());
            options.extend(left.wrapping_add(u32::from(fields.u16())).to_be_bytes());
        }
    }
    options.truncate(40);
    options.resize(options.len().next_multiple_of(4), 0);
    options
}

/// Returns a TCP header.
pub fn header(side: usize, seq: u32, ack: u32, flags: u8, window: u16, options: &[u8]) -> Vec<u8> {
    let mut header = [PORTS[side].to_be_bytes(), PORTS[1 - side].to_be_bytes()].concat();
    header.extend(seq.to_be_bytes());
    header.extend(ack.to_be_bytes());
    header.extend([(5 + options.len() as u8 / 4) << 4, flags]);
    header.extend(window.to_be_bytes());
    header.extend([0; 4]);
    header.extend(options);
    header
}

/// Returns an IP packet of either version with `content`, after which `beyond` bytes were not captured.
pub fn ip(v6: bool, side: usize, content: &[u8], beyond: usize) -> Vec<u8> {
    let length = ((content.len() + beyond) as u16 + if v6 { 0 } else { 20 }).to_be_bytes();
    let hosts = [side as u8 + 1, 2 - side as u8];
    let mut packet = Vec::new();
    if v6 {
        packet.extend([0x60, 0, 0, 0, length[0], length[1], 6, 64]);
        for host in hosts {
            packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
    } else {
        packet.extend([0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, 6, 0, 0]);
        for host in hosts {
            packet.extend([10, 0, 0, host]);
        }
    }
    packet.extend(content);
    packet
}
