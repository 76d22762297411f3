//! Writes small inputs for every entry point, by hand and without any recording: where fuzzing begins.
//!
//! `cargo run --example seeds -- FOLDER` gives `FOLDER/<entry>/<name>`.

use std::fs;
use std::io::Result;
use std::path::Path;

use flowsweep_parsers_fuzz::compressed::{MAGICS, pack};
use flowsweep_parsers_fuzz::files::{Blocks, Record, START_NS, pcap};
use flowsweep_parsers_fuzz::frames::LINK_TYPES;
use flowsweep_parsers_fuzz::tcp::{header, ip};

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

/// A TCP segment over IPv4 or IPv6.
fn segment(v6: bool, side: usize, flags: u8, seq: u32) -> Vec<u8> {
    ip(
        v6,
        side,
        &[header(side, seq, 1, flags, 500, &[]), vec![0; 4]].concat(),
        0,
    )
}

/// An IPv4 packet of any protocol.
fn ip4(protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut packet = ip(false, 0, content, 0);
    packet[9] = protocol;
    packet
}

fn udp(port: u16, content: &[u8]) -> Vec<u8> {
    let length = (8 + content.len() as u16).to_be_bytes();
    let ports = [0x30, 0x39, (port >> 8) as u8, port as u8];
    ip4(17, &[&ports[..], &length, &[0, 0], content].concat())
}

fn ethernet(kind: u16, content: &[u8]) -> Vec<u8> {
    [
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
        &kind.to_be_bytes()[..],
        content,
    ]
    .concat()
}

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

/// Fields of the entry `frames`: each frame twice, one microsecond apart.
fn frame_fields(link_type: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let index = LINK_TYPES.iter().position(|&known| known == link_type);
    let mut fields = vec![index.unwrap_or_default() as u8, 0x0f];
    for frame in frames.iter().chain(frames) {
        fields.extend([frame.len() as u8, 0, 56]);
        fields.extend(frame);
    }
    fields
}

fn frames() -> Named {
    let inner = segment(false, 0, 16, 1);
    let inside = ethernet(0x0800, &inner);
    let v6 = segment(true, 0, 24, 1);
    let mut extended = v6.clone();
    extended[6] = 0;
    extended.splice(40..40, [44, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 9]);
    extended[5] += 16;
    let mut fragment = inner.clone();
    fragment[6] = 0x20;
    let mut named: Named = Vec::new();
    let mut add = |name: &str, link_type, frames: &[Vec<u8>]| {
        named.push((name.to_owned(), frame_fields(link_type, frames)));
    };
    add(
        "plain",
        1,
        &[
            inside.clone(),
            ethernet(0x86dd, &v6),
            ethernet(0x0806, &[0; 46]),
        ],
    );
    add(
        "extensions",
        1,
        &[ethernet(0x86dd, &extended), ethernet(0x0800, &fragment)],
    );
    let tagged = [&[0, 7, 0x81, 0, 0, 9, 8, 0][..], &inner].concat();
    add(
        "tags",
        1,
        &[ethernet(0x88a8, &tagged), ethernet(0x9100, &tagged)],
    );
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &inner].concat();
    add("snap", 1, &[ethernet(52, &snap)]);
    let label = [&[0, 1, 0x01, 64][..], &inner].concat();
    let session = [&[0x11, 0, 0, 1, 0, 50, 0, 0x21][..], &inner].concat();
    add(
        "mpls-pppoe",
        1,
        &[ethernet(0x8847, &label), ethernet(0x8864, &session)],
    );
    let gre = |head: &[u8], content: &[u8]| ethernet(0x0800, &ip4(47, &[head, content].concat()));
    add(
        "gre",
        1,
        &[
            gre(&[0x20, 0, 8, 0, 0, 0, 0, 5], &inner),
            gre(&[0, 0, 0x65, 0x58], &inside),
        ],
    );
    let erspan = [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0; 8]].concat();
    add(
        "erspan-ipip",
        1,
        &[gre(&erspan, &inside), ethernet(0x0800, &ip4(4, &inner))],
    );
    add(
        "six-in-four",
        101,
        &[ip4(41, &v6), ip4(1, &[8, 0, 0, 0]), udp(53, &[1, 2, 3])],
    );
    let behind = |head: &[u8], content: &[u8]| [head, content].concat();
    add(
        "vxlan",
        101,
        &[udp(4789, &behind(&[8, 0, 0, 0, 0, 0, 1, 0], &inside))],
    );
    add(
        "geneve",
        101,
        &[udp(6081, &behind(&[0, 0, 0x65, 0x58, 0, 0, 1, 0], &inside))],
    );
    add(
        "gtp-u",
        101,
        &[udp(2152, &behind(&[0x30, 0xff, 0, 44, 0, 0, 0, 1], &inner))],
    );
    add(
        "l2tp",
        101,
        &[udp(
            1701,
            &behind(&[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21], &inner),
        )],
    );
    add("teredo", 101, &[udp(3544, &v6)]);
    // RDMA: base header, what is behind it, data, CRC.
    let rdma = |opcode, number, behind: &[u8]| {
        let header = [opcode, 0, 255, 255, 0, 0, 0, 17, 0, 0, 0, number];
        udp(4791, &[&header, behind, &[0; 4]].concat())
    };
    add(
        "rdma",
        101,
        &[
            rdma(6, 1, &[0; 24]),
            rdma(8, 3, &[0; 8]),
            rdma(0x11, 2, &[0x60, 0, 0, 1]),
            rdma(7, 2, &[0; 8]),
            rdma(0x0c, 4, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 9, 0]),
            rdma(0x0d, 4, &[0; 12]),
            rdma(0x81, 0, &[0; 16]),
        ],
    );
    add(
        "null",
        0,
        &[behind(&[2, 0, 0, 0], &inner), behind(&[0, 0, 0, 30], &v6)],
    );
    add(
        "cooked",
        113,
        &[behind(
            &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0],
            &inner,
        )],
    );
    let cooked = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    add("cooked-2", 276, &[behind(&cooked, &inner)]);
    add(
        "ppp",
        9,
        &[behind(&[0xff, 3, 0, 0x21], &inner), behind(&[0x57], &v6)],
    );
    add(
        "radiotap",
        127,
        &[[&[0, 0, 8, 0, 0, 0, 0, 0, 8, 0][..], &[0; 22], &snap].concat()],
    );
    named
}

/// Fields of the entry `pcapng`: two interfaces with options, one packet block of each kind, counters.
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

/// One segment of a conversation: control, flags, step of the numbers, payload, window.
type Step = (u8, u8, i16, i16, u16, u16);

fn conversations() -> Vec<(&'static str, Vec<u8>)> {
    let open: [Step; 3] = [
        (16, 2, 0, 0, 0, 500),
        (17, 18, 0, 0, 0, 500),
        (0, 16, 0, 0, 0, 500),
    ];
    let data: Step = (0, 24, 0, 0, 1448, 500);
    let ack: Step = (1, 16, 0, 0, 0, 500);
    let close: [Step; 3] = [
        (0, 17, 0, 0, 0, 500),
        (1, 17, 0, 0, 0, 500),
        (0, 16, 0, 0, 0, 500),
    ];
    let hole: Step = (0, 24, 1448, 0, 1448, 500);
    let duplicate: Step = (1, 16, 0, -2896, 0, 500);
    let filling: Step = (0, 24, -2896, 0, 1448, 500);
    let shut: Step = (1, 16, 0, 0, 0, 0);
    let probe: Step = (0, 16, -1, 0, 0, 500);
    let burst: Step = (128, 16, 0, 0, 1448, 500);
    let bursts = [
        &open[..],
        &[data, burst, ack, burst, hole, burst, filling, ack],
        &close,
    ]
    .concat();
    let whole = [&open[..], &[data, data, ack, data, ack], &close].concat();
    let lossy = [
        &open[..],
        &[data, hole, duplicate, duplicate, filling, ack, filling],
        &close,
    ];
    let stalled = [
        &open[..],
        &[data, shut, probe, shut, ack, data, ack, probe, ack],
    ]
    .concat();
    let reused = [&whole[..], &[(16, 2, 30_000, 0, 0, 500)], &whole[3..]].concat();
    vec![
        ("whole", fields(0, 1000, &whole)),
        ("wrap", fields(1, u32::MAX - 2000, &whole)),
        ("lossy", fields(6, 1000, &lossy.concat())),
        ("stalled", fields(0, 1000, &stalled)),
        ("reused", fields(0, 1000, &reused)),
        ("bursts", fields(8, 1000, &bursts)),
        (
            "bursts-of-two-threads",
            fields(15, u32::MAX - 50_000, &bursts),
        ),
        (
            "midstream",
            fields(0, 5, &[data, ack, data, filling, data, ack]),
        ),
    ]
}

fn fields(options: u8, isn: u32, steps: &[Step]) -> Vec<u8> {
    let mut fields = vec![options];
    fields.extend(isn.to_le_bytes());
    fields.extend(7777_u32.to_le_bytes());
    for &(control, flags, seq, ack, payload, window) in steps {
        fields.extend([control, flags]);
        fields.extend(seq.to_le_bytes());
        fields.extend(ack.to_le_bytes());
        fields.extend(payload.to_le_bytes());
        fields.extend(window.to_le_bytes());
        if control & 128 == 0 {
            fields.push(130);
        } else {
            // Soon one behind the other.
            fields.extend([70, 20]);
        }
        if control & 16 != 0 || flags & 2 != 0 {
            fields.extend([5, 7]);
        }
    }
    fields
}
