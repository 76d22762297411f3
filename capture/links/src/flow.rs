//! Turns the headers of a frame into the number that chooses its member link, after the formulas of Linux's bonding
//! driver (Documentation/networking/bonding.rst, `xmit_hash_policy`); switches with LACP do similarly.

use serde::Deserialize;

/// The header fields that choose the link of a bundle for a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Policy {
    /// IP addresses and ports.
    #[default]
    #[serde(rename = "layer3+4")]
    Layer34,
    /// Ethernet and IP addresses.
    #[serde(rename = "layer2+3")]
    Layer23,
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Addresses and ports of the headers, folded: the two directions of a connection give the same numbers.
#[derive(Debug, Default)]
struct Headers {
    ethernet: u32,
    addresses: u32,
    ports: Option<u32>,
}

/// Returns the number of a frame's flow; the member is the number modulo the members.
pub fn number(frame: &[u8], policy: Policy) -> u32 {
    let headers = parse(frame).unwrap_or_default();
    let mut hash = match (policy, headers.ports) {
        (Policy::Layer34, Some(ports)) => ports ^ headers.addresses,
        (Policy::Layer34, None) if headers.addresses != 0 => headers.addresses,
        _ => headers.ethernet ^ headers.addresses,
    };
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    // Leaves out the lowest bit: clients choose ports of one parity.
    if policy == Policy::Layer34 {
        hash >> 1
    } else {
        hash
    }
}

fn parse(frame: &[u8]) -> Option<Headers> {
    let mut kind = half(frame, 12)?;
    let mut headers = Headers {
        ethernet: u32::from(*frame.get(5)? ^ *frame.get(11)?) ^ u32::from(kind),
        ..Headers::default()
    };
    let mut at = 14;
    while kind == 0x8100 || kind == 0x88a8 {
        let Some(inner) = half(frame, at + 2) else {
            return Some(headers);
        };
        kind = inner;
        at += 4;
    }
    let network = frame.get(at..).unwrap_or_default();
    if transport(kind, network, &mut headers).is_none() {
        headers.ports = None;
    }
    Some(headers)
}

/// Reads addresses and ports of an IP packet; returns `None` where it ends too early.
fn transport(kind: u16, packet: &[u8], headers: &mut Headers) -> Option<()> {
    let (protocol, ports_at) = match kind {
        ETHERTYPE_IPV4 => {
            headers.addresses = word(packet, 12)? ^ word(packet, 16)?;
            // The parts of a fragmented packet have no ports but stay together.
            let fragment = half(packet, 6)? & 0x3fff != 0;
            let protocol = if fragment { 0 } else { *packet.get(9)? };
            (protocol, usize::from(packet[0] & 0xf) * 4)
        }
        ETHERTYPE_IPV6 => {
            for at in (8..40).step_by(4) {
                headers.addresses ^= word(packet, at)?;
            }
            (*packet.get(6)?, 40)
        }
        _ => return None,
    };
    if protocol == TCP || protocol == UDP {
        // Unlike the kernel: ordered, so that both directions of a connection take the same member.
        let (source, destination) = (half(packet, ports_at)?, half(packet, ports_at + 2)?);
        let (low, high) = (source.min(destination), source.max(destination));
        headers.ports = Some(u32::from(high) << 16 | u32::from(low));
    }
    Some(())
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(source: u16, destination: u16, swapped: bool) -> Vec<u8> {
        let (mut a, mut b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        if swapped {
            std::mem::swap(&mut a, &mut b);
        }
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, TCP, 0, 0]);
        frame.extend(a);
        frame.extend(b);
        frame.extend(source.to_be_bytes());
        frame.extend(destination.to_be_bytes());
        frame.extend([0; 16]);
        frame
    }

    #[test]
    fn flow_stays_on_its_member_in_both_directions() {
        let there = number(&tcp(40_000, 5_001, false), Policy::Layer34);
        assert_eq!(there, number(&tcp(40_000, 5_001, false), Policy::Layer34));
        assert_eq!(there, number(&tcp(5_001, 40_000, true), Policy::Layer34));
    }

    #[test]
    fn ports_spread_over_the_members_and_addresses_alone_do_not() {
        let mut members = [0; 2];
        for port in (32_768..33_792).step_by(2) {
            members[(number(&tcp(port, 5_001, false), Policy::Layer34) % 2) as usize] += 1;
        }
        assert!(members.iter().all(|count| *count > 200), "{members:?}");
        assert_eq!(
            number(&tcp(1, 2, false), Policy::Layer23),
            number(&tcp(77, 99, false), Policy::Layer23)
        );
    }

    #[test]
    fn tag_does_not_change_the_flow_and_fragments_stay_together() {
        let plain = tcp(40_000, 5_001, false);
        let mut tagged = plain[..12].to_vec();
        tagged.extend([0x81, 0, 0, 5]);
        tagged.extend(&plain[12..]);
        assert_eq!(
            number(&plain, Policy::Layer34),
            number(&tagged, Policy::Layer34)
        );
        let (mut first, mut second) = (plain.clone(), plain);
        first[20] = 0x20;
        second[21] = 100;
        second[34] = 0xff;
        assert_eq!(
            number(&first, Policy::Layer34),
            number(&second, Policy::Layer34)
        );
    }

    #[test]
    fn short_and_foreign_frames_have_a_number_too() {
        for length in 0..54 {
            number(&tcp(1, 2, false)[..length], Policy::Layer34);
        }
        number(&[0xff; 60], Policy::Layer23);
    }
}
