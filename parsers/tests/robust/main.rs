//! Any bytes give tables: never a panic, nothing lost, the same tables however the input is split.
#![allow(clippy::unwrap_used, missing_docs)]

mod connections;
mod fast_paths;
mod histories;
mod table_files;
mod threads;
// The fuzzer's tables.
#[allow(clippy::pedantic, dead_code)]
#[path = "../../fuzz/src/tables.rs"]
mod tables;

use flowsweep_parsers::{Error, Summary};
use proptest::prelude::*;

use tables::Tables;

fn parse(files: &[&[u8]], threads: usize) -> Result<(Tables, Summary), Error> {
    tables::parse(files, threads, false)
}

const PCAP: [u8; 24] = [
    0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0,
];

fn record(time: u64, wire: u32, frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&((time / 1_000_000_000) as u32).to_le_bytes());
    bytes.extend_from_slice(&((time % 1_000_000_000) as u32).to_le_bytes());
    bytes.extend_from_slice(&(frame.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&wire.to_le_bytes());
    bytes.extend_from_slice(frame);
    bytes
}

/// Returns a TCP segment over IPv4 between hosts 1 and 2.
fn segment(back: bool, flags: u8, seq: u32, ack: u32, payload: u16) -> Vec<u8> {
    let mut frame = vec![0; 54];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(40 + payload).to_be_bytes());
    frame[23] = 6;
    let (from, to) = if back { (2, 1) } else { (1, 2) };
    frame[26..30].copy_from_slice(&[10, 0, 0, from]);
    frame[30..34].copy_from_slice(&[10, 0, 0, to]);
    frame[34..38].copy_from_slice(&if back { [0, 80, 4, 0] } else { [4, 0, 0, 80] });
    frame[38..42].copy_from_slice(&seq.to_be_bytes());
    frame[42..46].copy_from_slice(&ack.to_be_bytes());
    frame[46] = 0x50;
    frame[47] = flags;
    frame[48] = 1;
    frame
}

fn capture(segments: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = PCAP.to_vec();
    for (time, frame) in segments {
        bytes.extend(record(*time, 60, frame));
    }
    bytes
}

fn one_flow(tables: &Tables, column: &str) -> Vec<Option<i64>> {
    tables.numbers("flows", column)
}

fn check_totals(tables: &Tables, summary: &Summary) {
    let packets = i128::from(summary.packets);
    assert_eq!(tables.sum("captures", "packets"), packets);
    assert_eq!(tables.rows("packets") as i128, packets);
    let in_flows = tables.sum("flows", "packets");
    let apart = ["undecoded_packets", "duplicate_packets"];
    let apart: i128 = apart
        .map(|column| tables.sum("captures", column))
        .iter()
        .sum();
    assert_eq!(in_flows + apart, packets);
    assert_eq!(tables.sum("throughput", "packets"), in_flows);
    assert_eq!(
        tables.sum("intervals", "count"),
        in_flows - tables.rows("flows") as i128
    );
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    let tcp = (
        any::<bool>(),
        any::<u8>(),
        any::<u32>(),
        any::<u32>(),
        0_u16..2000,
    )
        .prop_map(|(back, flags, seq, ack, payload)| segment(back, flags, seq, ack, payload));
    let near = (
        any::<bool>(),
        any::<u8>(),
        0_u32..5000,
        0_u32..5000,
        0_u16..2000,
    )
        .prop_map(|(back, flags, seq, ack, payload)| {
            segment(
                back,
                flags,
                seq.wrapping_sub(2500),
                ack.wrapping_sub(2500),
                payload,
            )
        });
    let typed = (
        prop::sample::select(vec![
            0x0800_u16, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x8864, 0x894f, 0x6558,
        ]),
        prop::collection::vec(any::<u8>(), 0..120),
    )
        .prop_map(|(kind, rest)| [&[0; 12][..], &kind.to_be_bytes(), &rest].concat());
    let noise = prop::collection::vec(any::<u8>(), 0..120);
    prop_oneof![3 => tcp, 3 => near, 3 => typed, 1 => noise]
}

proptest! {
    #[test]
    fn arbitrary_bytes_behind_any_header_never_panic(
        magic in prop::sample::select(vec![
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], vec![0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4],
            vec![0x34, 0xcd, 0xb2, 0xa1, 2, 0, 4, 0], vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
            vec![0x1f, 0x8b, 8], vec![0x28, 0xb5, 0x2f, 0xfd], vec![4, 0x22, 0x4d, 0x18], b"BZh9".to_vec(),
            vec![0xfd, b'7', b'z', b'X', b'Z', 0], vec![],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let _ = parse(&[&[magic, rest].concat()], 1);
    }

    #[test]
    fn every_packet_of_arbitrary_frames_is_counted_once(
        packets in prop::collection::vec((any::<u32>(), frames()), 0..60),
        link_type in prop::sample::select(vec![1_u8, 0, 9, 101, 113, 105, 127, 192, 239, 107, 104, 12]),
    ) {
        let mut bytes = PCAP.to_vec();
        bytes[20] = link_type;
        for (time, frame) in &packets {
            bytes.extend(record(u64::from(*time), frame.len() as u32, frame));
        }
        let (sink, summary) = parse(&[&bytes], 1).unwrap();
        prop_assert_eq!(summary.packets as usize, packets.len());
        prop_assert!(summary.damage.is_empty());
        check_totals(&sink, &summary);
    }

    #[test]
    fn several_files_and_threads_give_the_tables_of_one(
        packets in prop::collection::vec(frames(), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let records: Vec<Vec<u8>> = packets.iter().zip(1_u64..)
            .map(|(frame, number)| record(number * 7_000_000, frame.len() as u32, frame))
            .collect();
        let (first, second) = records.split_at(cut.index(records.len()));
        let file = |records: &[Vec<u8>]| [PCAP.to_vec(), records.concat()].concat();
        let whole = parse(&[&file(&records)], 1).unwrap().0.without_files();
        let parallel = parse(&[&file(&records)], 2).unwrap().0.without_files();
        let parts = parse(&[&file(second), &file(first)], 1).unwrap().0.without_files();
        prop_assert_eq!(&whole, &parallel);
        prop_assert_eq!(&whole, &parts);
    }

    #[test]
    fn a_file_cut_anywhere_keeps_the_packets_before_the_cut(
        packets in prop::collection::vec(frames(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut ends = vec![24];
        let mut bytes = PCAP.to_vec();
        for frame in &packets {
            bytes.extend(record(1, frame.len() as u32, frame));
            ends.push(bytes.len());
        }
        let length = 24 + cut.index(bytes.len() - 23);
        bytes.truncate(length);
        let (_, summary) = parse(&[&bytes], 1).unwrap();
        let whole = ends.iter().filter(|&&end| end <= length).count() as u64 - 1;
        prop_assert_eq!(summary.packets, whole);
        prop_assert_eq!(summary.damage.len(), usize::from(!ends.contains(&length)));
        if let Some(damage) = summary.damage.first() {
            prop_assert_eq!((damage.packet, damage.kept), (whole + 1, whole));
            prop_assert_eq!(damage.offset as usize, ends[whole as usize]);
        }
    }
}

#[test]
fn a_record_that_claims_four_gigabytes_is_damage_and_allocates_nothing() {
    let mut bytes = capture(&[(1, segment(false, 2, 0, 0, 0))]);
    bytes.extend([0; 8]);
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend(u32::MAX.to_le_bytes());
    let (sink, summary) = parse(&[&bytes], 1).unwrap();
    assert_eq!(summary.packets, 1);
    assert_eq!(summary.damage[0].found, "captured length 4294967295");
    check_totals(&sink, &summary);
}

#[test]
fn compression_shows_in_content_and_changes_nothing() {
    use std::io::Write;
    let segments: Vec<_> = (0..3000)
        .map(|n| (n * 1000, segment(n % 3 == 0, 16, n as u32, 7, 3)))
        .collect();
    let plain = capture(&segments);
    let half = plain.len() / 2;
    let gzip = |part: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(part).unwrap();
        out.finish().unwrap()
    };
    let zstd = |part: &[u8]| zstd::encode_all(part, 1).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&plain).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).unwrap();
    let packed = [
        gzip(&plain),
        // Consecutive members or frames are one stream.
        [gzip(&plain[..half]), gzip(&plain[half..])].concat(),
        zstd(&plain),
        [zstd(&plain[..half]), zstd(&plain[half..])].concat(),
        lz4.finish().unwrap(),
        bzip2.finish().unwrap(),
        xz.finish().unwrap(),
    ];
    let whole = parse(&[&plain], 1).unwrap().0.0;
    for packed in packed {
        match parse(&[&packed[..packed.len() - 20]], 1) {
            Ok((cut, kept)) => {
                assert_eq!(kept.damage.len(), 1);
                check_totals(&cut, &kept);
            }
            // If all bytes are in one block, a truncated block cannot be unpacked.
            Err(Error::NotACapture { found, .. }) => assert!(found.contains("cannot be unpacked")),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(parse(&[&packed], 2).unwrap().0.0, whole);
    }
}

#[test]
fn a_pcapng_section_may_change_byte_order_clock_and_link_type() {
    let section = |big: bool, link: u16, resolution: u8, packets: &[(u32, u64)]| {
        let u16 = |value: u16| {
            if big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let u32 = |value: u32| {
            if big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let block = |kind: u32, body: Vec<u8>| {
            let length = u32(body.len() as u32 + 12);
            [u32(kind).to_vec(), length.to_vec(), body, length.to_vec()].concat()
        };
        let mut bytes = block(
            0x0a0d_0d0a,
            [
                u32(0x1a2b_3c4d).to_vec(),
                u16(1).to_vec(),
                u16(0).to_vec(),
                vec![0xff; 8],
            ]
            .concat(),
        );
        let option = [
            u16(9).to_vec(),
            u16(1).to_vec(),
            vec![resolution, 0, 0, 0],
            vec![0; 4],
        ]
        .concat();
        bytes.extend(block(
            1,
            [u16(link).to_vec(), u16(0).to_vec(), u32(0).to_vec(), option].concat(),
        ));
        for &(interface, ticks) in packets {
            let frame = segment(false, 16, 1, 1, 0)[if link == 101 { 14 } else { 0 }..].to_vec();
            let length = u32(frame.len() as u32);
            let head = [interface, (ticks >> 32) as u32, ticks as u32]
                .map(u32)
                .concat();
            let padding = vec![0; frame.len().next_multiple_of(4) - frame.len()];
            bytes.extend(block(
                6,
                [head, length.to_vec(), length.to_vec(), frame, padding].concat(),
            ));
        }
        bytes
    };
    let bytes = [
        section(false, 1, 9, &[(0, 1_000_000_007)]),
        section(true, 101, 0x8a, &[(0, 2048), (1, 0)]),
    ]
    .concat();
    let (sink, summary) = parse(&[&bytes], 1).unwrap();
    // No block describes the interface of the last one.
    assert_eq!((summary.packets, summary.undecoded), (3, 1));
    assert_eq!(summary.connections, 1);
    assert!(summary.damage.is_empty());
    assert_eq!(one_flow(&sink, "duration_ns"), [Some(999_999_993)]);
    assert_eq!(sink.rows("captures"), 3);
    check_totals(&sink, &summary);
}
