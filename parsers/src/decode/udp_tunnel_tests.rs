//! Tests of tunnels over UDP: which datagrams lead to the packet inside, and which are flows themselves.

use proptest::prelude::*;

use crate::decode::links::Link;
use crate::decode::made::record;
use crate::decode::{NO_VLAN, Outcome, Packet, decode, whole};
use crate::records::Record;

/// Returns IPv4 and UDP from port 5 to `port`, with `payload`.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = 28 + payload.len() as u16;
    let mut bytes = vec![
        0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes.extend([0, 5]);
    bytes.extend(port.to_be_bytes());
    bytes.extend((length - 20).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

#[test]
fn tunnels_over_udp_lead_to_the_packet_inside_or_are_the_flow() {
    let inside = udp(6, &[]);
    let mut ayiya = vec![0x22, 0x52, 0x11, 4];
    ayiya.resize(8 + 4 + 20, 0);
    for (port, header) in [
        (4341, vec![0x80, 0, 0, 0, 0, 0, 0, 0]),
        (4342, vec![0x80, 0, 0, 0]),
        (4754, vec![0, 0, 8, 0]),
        (5072, ayiya),
    ] {
        let packet = whole(101, &udp(port, &[&header[..], &inside].concat()));
        assert_eq!((packet.key.high_port, packet.tunnels), (6, 1), "{port}");
    }
    for (port, payload) in [(4342, [0x10, 0, 0, 0]), (5072, [0x22, 0x52, 0x10, 59])] {
        let packet = whole(101, &udp(port, &payload));
        assert_eq!((packet.key.high_port, packet.payload), (port, 4), "{port}");
    }
}

#[test]
fn the_outermost_tunnel_is_noted_with_its_identifier() {
    let inside = udp(6, &[]);
    let flags = |first: u8| vec![first, 0, 8, 0];
    let ethernet = [&[0; 12][..], &[8, 0], &inside].concat();
    let nested = udp(4789, &[&[8, 0, 0, 0, 0, 0, 9, 0], &ethernet[..]].concat());
    for (port, payload, kind, id) in [
        (
            4789,
            [&[8, 0, 0, 0, 0, 1, 2, 0], &ethernet[..]].concat(),
            "vxlan",
            Some(258),
        ),
        (
            6081,
            [&[0, 0, 8, 0, 1, 0, 0, 0], &inside[..]].concat(),
            "geneve",
            Some(65_536),
        ),
        (
            2152,
            [&[0x30, 0xff, 0, 28, 0, 0, 1, 1], &inside[..]].concat(),
            "gtp-u",
            Some(257),
        ),
        (4754, [&flags(0)[..], &inside].concat(), "gre", None),
        (
            4754,
            [&flags(0x20)[..], &[0, 0, 3, 0], &inside].concat(),
            "gre",
            Some(768),
        ),
        (
            4754,
            [&flags(0xa0)[..], &[1, 2, 0, 0, 0, 0, 0, 7], &inside].concat(),
            "gre",
            Some(7),
        ),
        (4754, [&flags(0)[..], &nested].concat(), "gre", None),
    ] {
        let packet = whole(101, &udp(port, &payload));
        assert_eq!((packet.outer.kind, packet.outer.id), (kind, id));
        assert_eq!(packet.outer.key.high_port, port);
        assert!(
            packet.is_inside() && packet.key.high_port == 6,
            "{kind} {id:?}"
        );
    }
    // No header inside has ports: the tunnel is the flow.
    let header = [&[8, 0, 0, 0, 0, 1, 2, 0], &[0; 12][..]].concat();
    let request = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &[0; 20]].concat();
    let arp = [&header[..], &[8, 6], &request].concat();
    let tree = [&header[..], &[0, 38, 0x42, 0x42, 3], &[0; 35]].concat();
    for frame in [arp, tree] {
        let packet = whole(101, &udp(4789, &frame));
        assert!(packet.tunnels == 1 && !packet.is_inside());
    }
}

/// Variants of generic UDP encapsulation, LISP that names a protocol, CAPWAP data of Ethernet and of IEEE 802.11, TZSP
/// of the same, GRE with a checksum and a service header.
#[test]
fn what_few_tunnels_have_leads_to_the_packet_inside() {
    let inside = udp(6, &[]);
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let ethernet = [&[0; 12][..], &[8, 0]].concat();
    let wireless = [&[8, 0][..], &[0; 22], &snap].concat();
    let swapped = [&[0, 8][..], &[0; 22], &snap].concat();
    let behind = |head: &[u8], next: &[u8]| [head, next].concat();
    for (port, header, kind) in [
        (6080, vec![0, 4, 0, 0], "gue"),
        (6080, vec![2, 4, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "gue"),
        (6080, vec![0, 47, 0, 0, 0, 0, 8, 0], "gue"),
        (6080, vec![], "gue"),
        (4341, vec![0x0c, 0, 0, 1, 0, 0, 7, 0], "lisp"),
        (
            4341,
            behind(&[0x0c, 0, 0, 3, 0, 0, 7, 0], &ethernet),
            "lisp",
        ),
        (
            5247,
            behind(&[0, 0x10, 2, 0, 0, 0, 0, 0], &ethernet),
            "capwap",
        ),
        // Three words and the address of a radio; native.
        (
            5247,
            behind(
                &[0, 0x20, 3, 0x10, 0, 0, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0],
                &wireless,
            ),
            "capwap",
        ),
        (
            5247,
            behind(&[0, 0x10, 3, 0, 0, 0, 0, 0], &swapped),
            "capwap",
        ),
        // A field for signal strength, padding, the end.
        (
            37_008,
            behind(&[1, 0, 0, 1, 10, 1, 0xd0, 0, 1], &ethernet),
            "tzsp",
        ),
        (37_008, behind(&[1, 1, 0, 18, 1], &wireless), "tzsp"),
        (
            4754,
            vec![
                0x80, 0, 0x89, 0x4f, 0, 0, 0, 0, 0x0f, 0xc6, 1, 1, 0, 0, 1, 255, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
            "gre",
        ),
    ] {
        let packet = whole(101, &udp(port, &[&header[..], &inside].concat()));
        let found = (packet.key.high_port, packet.tunnels, packet.outer.kind);
        assert_eq!(found, (6, 1, kind), "{port} {header:?}");
    }
    // Control messages, keep-alive, the second of several fragments, an encrypted frame.
    for (port, header) in [
        (6080, vec![0x20, 1, 0, 0]),
        (5247, behind(&[0, 0x10, 2, 8, 0, 0, 0, 0], &ethernet)),
        (5247, behind(&[0, 0x10, 2, 0x80, 0, 1, 0, 8], &ethernet)),
        (5247, vec![1, 0, 0, 0]),
    ] {
        let payload = [&header[..], &inside].concat();
        let packet = whole(101, &udp(port, &payload));
        let found = (packet.key.high_port, packet.payload, packet.tunnels);
        assert_eq!(found, (port, payload.len() as u32, 0), "{port} {header:?}");
    }
}

/// Ports of tunnels, each with a possible start of its header.
const PORTS: [(u16, &[u8]); 17] = [
    (4789, &[8, 0, 0, 0, 0, 0, 1, 0]),
    (8472, &[8, 0, 0, 0, 0, 0, 1, 0]),
    (4790, &[0x0c, 0, 0, 1, 0, 0, 1, 0]),
    (6081, &[0, 0, 0x65, 0x58, 0, 0, 1, 0]),
    (6635, &[0, 1, 1, 64]),
    (2152, &[0x30, 0xff, 1, 0, 0, 0, 0, 1]),
    (3544, &[0, 1, 0, 0]),
    (1701, &[0, 2, 0, 1, 0, 1, 0x21]),
    (4754, &[0, 0, 0x65, 0x58]),
    (4341, &[0x80, 0, 0, 0, 0, 0, 0, 0]),
    (4342, &[0x80, 0, 0, 0]),
    (5072, &[0x22, 0x52, 0x11, 41]),
    (6080, &[0, 4, 0, 0]),
    (6080, &[]),
    (5247, &[0, 0x10, 2, 0, 0, 0, 0, 0]),
    (37_008, &[1, 0, 0, 1, 1]),
    (37_008, &[1, 0, 0, 18, 1, 8, 0]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// With any content, with a valid tunnel header or without, and in either direction.
    #[test]
    fn a_datagram_is_no_tunnel_by_its_port_alone(
        (port, header) in proptest::sample::select(&PORTS[..]),
        has_header in any::<bool>(),
        answers in any::<bool>(),
        content in proptest::collection::vec(any::<u8>(), 0..300),
        cut in proptest::option::of(28_usize..100),
    ) {
        let header = if has_header { header } else { &[] };
        let payload = [header, &content].concat();
        let mut bytes = udp(port, &payload);
        if answers {
            let (source, destination) = (port.to_be_bytes(), 5_u16.to_be_bytes());
            bytes[20..24].copy_from_slice(&[source, destination].concat());
        }
        bytes.truncate(cut.unwrap_or(bytes.len()).min(bytes.len()));
        let captured = bytes.len();
        let mut record = Record { wire: 28 + payload.len() as u32, ..record(&bytes) };
        record.captured = captured as u32;
        let mut packet = Packet::default();
        decode(&record, Link::find(101), &bytes, true, &mut packet);
        prop_assert_eq!(packet.outcome, Outcome::Flow);
        prop_assert_eq!((packet.key.low_port.min(packet.key.high_port), packet.key.protocol), (5, 17));
        prop_assert_eq!(packet.key.low_port.max(packet.key.high_port), port);
        prop_assert_eq!((packet.payload, packet.tunnels), (payload.len() as u32, 0));
        prop_assert_eq!((packet.vlan, packet.length_conflict, packet.others), (NO_VLAN, false, 0));
    }
}
