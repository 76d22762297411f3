//! Frames of every link type and tunnel, for the entry `frames`.

use flowsweep_parsers_fuzz::frames::LINK_TYPES;

use crate::Named;
use crate::packets::{ethernet, ip4, segment, udp};

/// Returns fields of the entry `frames`: each frame twice, one microsecond apart.
fn frame_fields(link_type: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let index = LINK_TYPES.iter().position(|&known| known == link_type);
    let mut fields = vec![index.unwrap_or_default() as u8, 0x0f];
    for frame in frames.iter().chain(frames) {
        fields.extend([frame.len() as u8, 0, 56]);
        fields.extend(frame);
    }
    fields
}

pub fn frames() -> Named {
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
    // RDMA: base header, further headers, data, CRC.
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
