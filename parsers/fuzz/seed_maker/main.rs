//! Writes small hand-made inputs for every entry point, from which fuzzing starts; none is a recording.
//!
//! `cargo run --example seeds -- FOLDER` writes `FOLDER/<entry>/<name>`.

mod conversations;
mod frames;
mod packets;

use std::fs;
use std::io::Result;
use std::path::Path;

use flowsweep_parsers_fuzz::compressed::{MAGICS, pack};
use flowsweep_parsers_fuzz::files::{Blocks, Record, START_NS, pcap};

use conversations::conversations;
use frames::frames;
use packets::{ethernet, segment};

fn main() -> Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "seeds".to_owned());
    let folder = Path::new(&folder);
    let keep = |entry: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder.join(entry))?;
        fs::write(folder.join(entry).join(name), bytes)
    };
    for (name, bytes) in captures() {
        keep("capture", &name, &bytes)?;
    }
    for (name, bytes) in frames() {
        keep("frames", &name, &bytes)?;
    }
    keep("pcapng", "interfaces", &pcapng())?;
    for (name, bytes) in compressed() {
        keep("compressed", &name, &bytes)?;
    }
    for (name, bytes) in conversations() {
        keep("tcp", name, &bytes)?;
    }
    Ok(())
}

type Named = Vec<(String, Vec<u8>)>;

fn captures() -> Named {
    let records: Vec<Record> = (0..6)
        .map(|number| {
            let frame = ethernet(0x0800, &segment(false, number & 1, 16, number as u32 * 4));
            (START_NS + number as i64 * 1000, frame.len() as u32, frame)
        })
        .collect();
    let plain = pcap(1, &records);
    let mut micro = plain.clone();
    micro[..4].copy_from_slice(&[0xd4, 0xc3, 0xb2, 0xa1]);
    let mut modified = plain.clone();
    modified[..4].copy_from_slice(&[0x34, 0xcd, 0xb2, 0xa1]);
    let mut blocks = Blocks::default();
    for big in [false, true] {
        blocks.section(big);
        let interface = [&blocks.u16(1)[..], &[0; 6]].concat();
        blocks.block(1, &interface, 0);
        for (time, wire, frame) in &records {
            let words = [0, (time >> 32) as u32, *time as u32, *wire, *wire];
            let mut body = words.map(|word| blocks.u32(word)).concat();
            body.extend(frame);
            blocks.block(6, &body, 0);
        }
    }
    let mut named = vec![
        ("nano.pcap".to_owned(), plain.clone()),
        ("micro.pcap".to_owned(), micro),
        ("modified.pcap".to_owned(), modified),
        ("cut.pcap".to_owned(), plain[..plain.len() - 9].to_vec()),
        ("sections.pcapng".to_owned(), blocks.bytes),
    ];
    for (kind, name) in ["gz", "zst", "lz4", "bz2", "xz"].into_iter().enumerate() {
        named.push((format!("nano.pcap.{name}"), pack(kind, &plain)));
    }
    named
}

/// Returns fields of the entry `pcapng`: two interfaces with options, one packet block of each kind, counters.
fn pcapng() -> Vec<u8> {
    let frame = segment(false, 0, 16, 1);
    let length = frame.len() as u8;
    let mut fields = vec![0];
    fields.extend([1, 0, 7, 0, 0, 2, 9, 1, 9, 2, 3, b'e', b't', b'h']);
    fields.extend([1, 0, 7, 96, 0, 2, 9, 1, 0x8a, 14, 8, 1, 0, 0, 0, 0, 0, 0, 0]);
    for kind in [3, 5] {
        for interface in [0, 1] {
            fields.extend([kind, 0, interface, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, length]);
            fields.extend(&frame);
        }
    }
    fields.extend([6, 0, 44, 0, length]);
    fields.extend(&frame);
    fields.extend([
        7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 8, 9, 0, 0, 0, 0, 0, 0, 0,
    ]);
    fields.extend([7, 8, 3, 0, 0, 0, 0, 0, 0, 0]);
    fields
}

fn compressed() -> Named {
    let frame = ethernet(0x0800, &segment(false, 0, 16, 1));
    let plain = pcap(1, &vec![(START_NS, frame.len() as u32, frame.clone()); 3]);
    let mut named = Named::new();
    for (kind, magic) in MAGICS.iter().enumerate() {
        let head = [kind as u8, 0];
        let packed = pack(kind, &plain);
        named.push((
            format!("raw-{kind}"),
            [&head, &packed[magic.len()..]].concat(),
        ));
        for (name, how, repeats, cut) in [
            ("whole", 1, 40_u16, 0),
            ("parts", 3, 40, 0),
            ("long", 15, 4096, 0),
            ("cut", 1, 40, 9),
        ] {
            let repeats = repeats.to_le_bytes();
            let mut fields = vec![kind as u8, how, repeats[0], repeats[1], 0, 0, 0, cut];
            fields.extend(&frame);
            if name == "long" {
                fields.resize(800, 0x55); // more than the parser unpacks at once
            }
            named.push((format!("{name}-{kind}"), fields));
        }
    }
    named
}
