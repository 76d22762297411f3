//! Turns numbers from headers into the text of the tables: addresses and protocols.

use std::borrow::Cow;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::decode::FRAGMENT;

/// Each byte in decimal followed by a dot, and the number of these characters.
const OCTETS: [([u8; 4], usize); 256] = {
    let mut all = [([b'.'; 4], 0); 256];
    let mut octet = 0;
    while octet < 256 {
        let (text, length) = &mut all[octet];
        let mut unit = 100;
        while unit > 0 {
            if octet >= unit || unit == 1 {
                text[*length] = b'0' + (octet / unit % 10) as u8;
                *length += 1;
            }
            unit /= 10;
        }
        *length += 1;
        octet += 1;
    }
    all
};

/// Writes an address as text, IPv6 in the form of RFC 5952.
pub(crate) fn write_address(out: &mut Vec<u8>, value: u128, v6: bool) {
    if v6 {
        let _ = write!(out, "{}", Ipv6Addr::from(value));
        return;
    }
    let mut text = [0; 16];
    let mut length = 0;
    for octet in (value as u32).to_be_bytes() {
        let (digits, more) = OCTETS[usize::from(octet)];
        text[length..length + 4].copy_from_slice(&digits);
        length += more;
    }
    out.extend_from_slice(&text[..length - 1]);
}

/// Returns an address as text.
pub(crate) fn address(value: u128, v6: bool) -> String {
    if v6 {
        Ipv6Addr::from(value).to_string()
    } else {
        Ipv4Addr::from(value as u32).to_string()
    }
}

/// Returns the name of an IP protocol number; `ip-N` if it is not listed here.
pub fn protocol(number: u8) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        0 => "hopopt",
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmpv6",
        59 => "none",
        88 => "eigrp",
        89 => "ospf",
        97 => "etherip",
        103 => "pim",
        108 => "ipcomp",
        112 => "vrrp",
        115 => "l2tp",
        132 => "sctp",
        135 => "mobility",
        136 => "udplite",
        137 => "mpls",
        FRAGMENT => "fragment",
        other => return Cow::Owned(format!("ip-{other}")),
    })
}
