//! Packets for several entries.

use flowsweep_parsers_fuzz::tcp::{header, ip};

/// Returns a TCP segment over IPv4 or IPv6.
pub fn segment(v6: bool, side: usize, flags: u8, seq: u32) -> Vec<u8> {
    ip(
        v6,
        side,
        &[header(side, seq, 1, flags, 500, &[]), vec![0; 4]].concat(),
        0,
    )
}

/// Returns an IPv4 packet of any protocol.
pub fn ip4(protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut packet = ip(false, 0, content, 0);
    packet[9] = protocol;
    packet
}

pub fn udp(port: u16, content: &[u8]) -> Vec<u8> {
    let length = (8 + content.len() as u16).to_be_bytes();
    let ports = [0x30, 0x39, (port >> 8) as u8, port as u8];
    ip4(17, &[&ports[..], &length, &[0, 0], content].concat())
}

pub fn ethernet(kind: u16, content: &[u8]) -> Vec<u8> {
    [
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
        &kind.to_be_bytes()[..],
        content,
    ]
    .concat()
}
