//! Internet checksums, RFC 1071, of IPv4 headers, TCP, UDP and ICMP: verified only on request.

use super::network::Ip;
use super::protocols::{ESP, FRAGMENT, ICMP, ICMP6, SCTP, TCP, UDP};
use super::{Checksum, Packet, Walk};

/// The sum of bytes that include a right checksum.
const RIGHT: u16 = 0xffff;

/// Adds up the 16-bit words of `bytes` without folding the sum. The words are in memory order: the sum of swapped words
/// is the swapped sum (RFC 1071 2).
fn words(bytes: &[u8]) -> u64 {
    let whole = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..whole.remainder().len()].copy_from_slice(whole.remainder());
    let word = |four: &[u8]| u64::from(u32::from_ne_bytes([four[0], four[1], four[2], four[3]]));
    word(&last) + whole.map(word).sum::<u64>()
}

/// Adds the carries.
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn sum(bytes: &[u8]) -> u64 {
    u64::from(u16::from_be(folded(words(bytes))))
}

/// Returns the sum of the pseudo-header without the length, RFC 9293 3.1 and RFC 8200 8.1.
fn ends(ip: &Ip, protocol: u8) -> u64 {
    let addresses = [ip.source, ip.destination];
    let halves = addresses.map(|address| sum(&address.to_be_bytes()));
    halves[0] + halves[1] + u64::from(protocol)
}

/// Returns the sums of the pseudo-header of `packet`, without the length and with it, and that length; none if the
/// protocol has no such checksum or if the packet is a fragment.
fn sums_before(packet: &Packet) -> Option<(u64, u64, u32)> {
    let header = match packet.key.protocol {
        TCP if packet.tcp => 20 + u32::from(packet.options.bytes),
        UDP => 8,
        _ => return None,
    };
    let length = header + packet.payload;
    let addresses = [packet.key.low, packet.key.high];
    let [low, high] = addresses.map(|address| sum(&address.to_be_bytes()));
    let ends = low + high + u64::from(packet.key.protocol);
    let whole = ends + u64::from(length);
    (!packet.fragment).then_some((ends, whole, length))
}

/// Returns whether the checksum of `packet` was left to the interface: it is the sum of the pseudo-header, or 0.
pub(crate) fn is_left(packet: &Packet) -> bool {
    sums_before(packet).is_some_and(|(ends, whole, _)| {
        [0, folded(ends), folded(whole)].contains(&packet.checksum_field)
    })
}

/// Returns the checksum that the receiver of `packet` sees: the stated one, or the one that the interface fills in.
/// `transport` begins with the transport header. None if the interface fills it in and not all bytes were captured.
pub(crate) fn filled_in(packet: &Packet, transport: &[u8]) -> Option<u16> {
    if !is_left(packet) {
        return Some(packet.checksum_field);
    }
    let (_, whole, length) = sums_before(packet)?;
    let bytes = transport.get(..length as usize)?;
    // The sum of all words except the checksum itself.
    let without = whole + sum(bytes) + u64::from(!packet.checksum_field);
    match RIGHT - folded(without) {
        // RFC 768: 0 means that there is no checksum.
        0 if packet.key.protocol == UDP => RIGHT,
        checksum => checksum,
    }
    .into()
}

/// Returns whether the checksum of `packet` adds nothing to the bytes it covers: it was left to the interface, or it is
/// right. None if not all these bytes were captured.
pub(crate) fn is_of_bytes(packet: &Packet, transport: &[u8]) -> Option<bool> {
    let Some((_, whole, length)) = sums_before(packet) else {
        return Some(false);
    };
    if is_left(packet) {
        return Some(true);
    }
    let bytes = transport.get(..length as usize)?;
    Some(folded(whole + sum(bytes)) == RIGHT)
}

/// Returns the length of the part of `transport` that distinguishes `packet` from others, as far as it was captured: a
/// header with numbers, or with a checksum of what follows.
pub(crate) fn telling_bytes(packet: &Packet, transport: &[u8]) -> usize {
    let length = match packet.key.protocol {
        // Fragments differ by their place in a packet.
        FRAGMENT => 0,
        TCP if packet.tcp => 20 + packet.options.bytes as usize,
        UDP | ICMP | ICMP6 | ESP => 8,
        // RFC 9260 3.1: the checksum comes last in the header; it, too, may be left to the interface.
        SCTP if transport.get(8..12) != Some(&[0; 4]) => 12,
        TCP | SCTP => usize::MAX,
        _ => 24,
    };
    length.min(transport.len())
}

impl Walk<'_> {
    pub(super) fn verifies(&self) -> bool {
        self.packet.checksum != Checksum::Unasked
    }

    /// Notes that a checksum cannot be verified, for example because only a part of its bytes is present.
    pub(super) fn cannot_verify(&mut self) {
        if self.packet.checksum == Checksum::Right {
            self.packet.checksum = Checksum::Unverified;
        }
    }

    /// Verifies the IPv4 header of `length` bytes that begins here.
    #[cold]
    pub(super) fn verify_ip4(&mut self, length: usize) {
        let Some(header) = self.bytes.get(self.at..self.at + length) else {
            return self.cannot_verify();
        };
        // Hosts that leave the checksum to the interface write 0 for it, or a length of 0.
        let left = header[10..12] == [0, 0] || header[2..4] == [0, 0];
        self.verified(folded(sum(header)) == RIGHT, left);
    }

    /// Verifies the checksum of the header of `protocol` that begins here.
    #[cold]
    pub(super) fn verify(&mut self, protocol: u8, ip: &Ip) {
        let at = match protocol {
            TCP => 16,
            UDP => 6,
            ICMP | ICMP6 => 2,
            // Tunnels, encrypted payload and "no next header" have no checksum of their own.
            4 | 41 | 47 | 50 | 59 | 97 | 137 | 143 => return,
            _ => return self.cannot_verify(),
        };
        let length = match self.u16(4) {
            Ok(length) if protocol == UDP && length != 0 => u32::from(length),
            _ => ip.payload,
        };
        let bytes = self.bytes.get(self.at..self.at + length as usize);
        let (Some(bytes), false) = (bytes, self.packet.fragment || ip.elsewhere) else {
            return self.cannot_verify();
        };
        let Some(&[high, low]) = bytes.get(at..at + 2) else {
            return self.cannot_verify();
        };
        let field = u16::from_be_bytes([high, low]);
        if protocol == UDP && field == 0 {
            return;
        }
        let (ends, length) = match protocol {
            ICMP => (0, 0),
            _ => (ends(ip, protocol), u64::from(length)),
        };
        // The host leaves the sum of the pseudo-header for the interface to continue; if the interface also divides the
        // segment, that sum is without the length.
        let left = [0, folded(ends), folded(ends + length)].contains(&field) || ip.offloaded;
        self.verified(folded(ends + length + sum(bytes)) == RIGHT, left);
    }

    /// Notes a checksum that is `right`, `left` to the interface, or wrong.
    fn verified(&mut self, right: bool, left: bool) {
        if right {
            return;
        }
        if left {
            self.cannot_verify();
        } else {
            self.packet.checksum = Checksum::Wrong;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::{Outcome, Packet, whole, whole_verified};

    /// Computes a checksum word by word, RFC 1071 4.1.
    fn checksum(parts: &[&[u8]]) -> [u8; 2] {
        let mut sum = 0_u32;
        for part in parts {
            for word in part.chunks(2) {
                sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
                sum = (sum & 0xffff) + (sum >> 16);
            }
        }
        (!(sum as u16)).to_be_bytes()
    }

    /// Returns a packet of `protocol` with right checksums, and the offset of its checksum; IPv4 with 4 bytes of
    /// options.
    fn packet(protocol: u8, v6: bool, payload: &[u8]) -> (Vec<u8>, usize) {
        let (header, at) = match protocol {
            TCP => (
                vec![
                    0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x50, 16, 1, 2, 0, 0, 0, 0,
                ],
                16,
            ),
            UDP => (vec![0, 5, 0, 6, 0, 0, 0, 0], 6),
            _ => (vec![8, 0, 0, 0, 0, 1, 0, 2], 2),
        };
        let mut segment = [&header[..], payload].concat();
        let length = (segment.len() as u16).to_be_bytes();
        if protocol == UDP {
            segment[4..6].copy_from_slice(&length);
        }
        let mut ip;
        let ends;
        if v6 {
            ip = vec![0x60, 0, 0, 0, length[0], length[1], protocol, 64];
            ip.extend((1..=32).map(|byte| byte * 7));
            ends = ip[8..].to_vec();
        } else {
            let total = (segment.len() as u16 + 24).to_be_bytes();
            ip = vec![0x46, 0, total[0], total[1], 1, 2, 0, 0, 64, protocol, 0, 0];
            ip.extend([10, 0, 0, 1, 10, 200, 0, 2, 1, 1, 1, 0]);
            let sum = checksum(&[&ip]);
            ip[10..12].copy_from_slice(&sum);
            ends = ip[12..20].to_vec();
        }
        let before = [&ends[..], &[0, protocol], &length].concat();
        let before = if protocol == ICMP { &[][..] } else { &before };
        let sum = match checksum(&[before, &segment]) {
            [0, 0] if protocol == UDP => [0xff, 0xff],
            sum => sum,
        };
        segment[at..at + 2].copy_from_slice(&sum);
        let at = ip.len() + at;
        ip.extend(segment);
        (ip, at)
    }

    fn verified(bytes: &[u8]) -> Packet {
        whole_verified(101, bytes, true)
    }

    fn kind() -> impl Strategy<Value = (u8, bool)> {
        prop::sample::select(vec![
            (TCP, false),
            (TCP, true),
            (UDP, false),
            (UDP, true),
            (ICMP, false),
            (ICMP6, true),
        ])
    }

    proptest! {
        #[test]
        fn what_is_whole_is_right_and_what_was_changed_is_not(
            (protocol, v6) in kind(),
            payload in prop::collection::vec(any::<u8>(), 1..70),
            change in any::<prop::sample::Index>(),
            mask in 1_u8..,
        ) {
            let (bytes, at) = packet(protocol, v6, &payload);
            prop_assert_eq!(verified(&bytes).checksum, Checksum::Right);
            let cut = verified(&bytes[..bytes.len() - 1]);
            prop_assert_eq!((cut.checksum, cut.outcome), (Checksum::Unverified, Outcome::Flow));
            // Change a byte of the payload: other bytes state the length, or that there is no checksum.
            let mut changed = bytes.clone();
            let place = change.index(payload.len()) + bytes.len() - payload.len();
            changed[place] ^= mask;
            let wrong = verified(&changed);
            // One in 20,000 looks like a checksum that a host left to the interface.
            prop_assume!(wrong.checksum != Checksum::Unverified);
            prop_assert_eq!((wrong.checksum, wrong.outcome), (Checksum::Wrong, Outcome::BadChecksum));
            prop_assert!(!wrong.tcp);
            changed[at..at + 2].fill(0);
            let none = verified(&changed).checksum;
            let expected = if protocol == UDP { Checksum::Right } else { Checksum::Unverified };
            prop_assert_eq!(none, expected);
        }

        #[test]
        fn a_changed_ipv4_header_is_wrong(place in 12_usize..20, mask in 1_u8..) {
            let (mut bytes, _) = packet(TCP, false, &[1, 2, 3]);
            bytes[place] ^= mask;
            prop_assert_eq!(verified(&bytes).checksum, Checksum::Wrong);
        }
    }

    #[test]
    fn what_is_left_to_the_interface_is_neither_right_nor_wrong() {
        for v6 in [false, true] {
            let (bytes, at) = packet(TCP, v6, &[9; 100]);
            let ends = if v6 { &bytes[8..40] } else { &bytes[12..20] };
            for length in [0, 120] {
                let left = checksum(&[ends, &[0, TCP, 0, length]]).map(|byte| !byte);
                let mut bytes = bytes.clone();
                bytes[at..at + 2].copy_from_slice(&left);
                assert_eq!(verified(&bytes).checksum, Checksum::Unverified, "{length}");
            }
        }
    }

    #[test]
    fn what_is_divided_or_on_its_way_to_another_address_cannot_be_verified() {
        let (mut bytes, _) = packet(TCP, false, &[1, 2, 3]);
        bytes[6] = 0x20;
        bytes[10..12].fill(0);
        let sum = checksum(&[&bytes[..24]]);
        bytes[10..12].copy_from_slice(&sum);
        let part = verified(&bytes);
        assert_eq!((part.checksum, part.fragment), (Checksum::Unverified, true));

        let (bytes, _) = packet(UDP, true, &[1, 2, 3]);
        for (kind, header, expected) in [
            (43, [17, 0, 0, 0, 0, 0, 0, 0], Checksum::Right),
            (43, [17, 0, 0, 1, 0, 0, 0, 0], Checksum::Unverified),
            (60, [17, 0, 1, 4, 0, 0, 0, 0], Checksum::Right),
            (60, [17, 0, 201, 4, 0, 0, 0, 0], Checksum::Unverified),
        ] {
            let mut longer = [&bytes[..40], &header, &bytes[40..]].concat();
            longer[5] += 8;
            longer[6] = kind;
            assert_eq!(verified(&longer).checksum, expected, "{kind} {header:?}");
        }
    }

    #[test]
    fn nobody_asked() {
        let (mut bytes, at) = packet(TCP, false, &[1, 2, 3]);
        bytes[at] ^= 1;
        let packet = whole(101, &bytes);
        assert_eq!((packet.checksum, packet.tcp), (Checksum::Unasked, true));
    }
}
