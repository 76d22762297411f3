//! Constructed frames for the tests of headers before a packet.

use super::{Outcome, Packet, whole};
use crate::records::Record;

/// Returns the record of a completely captured frame of `bytes`.
pub(super) fn record(bytes: &[u8]) -> Record {
    let captured = bytes.len() as u32;
    Record {
        time: 0,
        is_timed: true,
        is_outgoing: false,
        wire: captured,
        captured,
        interface: 0,
        at: 0,
        data: 0,
    }
}

/// IPv4 with UDP from port 5 to port 6.
pub(super) const IP: [u8; 28] = [
    0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8, 0, 0,
];

/// Decodes `header` followed by [`IP`] under a link type.
pub(super) fn decoded(link_type: u32, header: &[u8]) -> Packet {
    whole(link_type, &[header, &IP].concat())
}

pub(super) fn zeros_then(length: usize, rest: &[u8]) -> Vec<u8> {
    [&vec![0; length], rest].concat()
}

/// Fails if one of the headers does not lead to [`IP`].
pub(super) fn all_lead_to_the_packet(cases: impl IntoIterator<Item = (u32, Vec<u8>)>) {
    for (link_type, header) in cases {
        let packet = decoded(link_type, &header);
        assert_eq!(packet.outcome, Outcome::Flow, "link type {link_type}");
        let key = packet.key;
        assert_eq!(
            (key.protocol, key.low_port, key.high_port),
            (17, 5, 6),
            "{link_type}"
        );
    }
}
