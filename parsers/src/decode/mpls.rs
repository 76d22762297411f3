//! MPLS labels, and the detection of what follows the last one: no header names it.
//!
//! What follows decides. An IP packet begins with its version. A pseudowire of Ethernet begins with a control word
//! whose first digit is 0 (RFC 4448 4.6) or, without one, with the receiver's address, whose first digit is arbitrary
//! (RFC 4928 3, RFC 8469).

use super::{Layer, Stop, Walk};

/// Bytes that may follow an IP packet: padding.
const PADDING: u32 = 64;
/// Most tags after the addresses that are skipped.
const TAGS: usize = 4;
/// A channel associated with a pseudowire may carry IP, RFC 4385 6.
const CHANNELS: [(u16, Layer); 2] = [(0x0021, Layer::Ip4), (0x0057, Layer::Ip6)];

impl Walk<'_> {
    /// Skips MPLS labels, RFC 3032. Entropy and flow labels (RFC 6790, RFC 6391) are ordinary labels here.
    pub(super) fn mpls(&mut self) -> Result<Layer, Stop> {
        loop {
            let label = self.u32(0)?;
            self.at += 4;
            if label & 0x100 != 0 {
                break;
            }
        }
        let ethernet = (0, Layer::Ethernet);
        let candidates = match self.u8(0)? >> 4 {
            4 => [(0, Layer::Ip4), ethernet],
            6 => [(0, Layer::Ip6), ethernet],
            // The first half of a control word is 0; the other half is a sequence number.
            0 if self.u16(0) == Ok(0) => [(4, Layer::Ethernet), ethernet],
            0 => [ethernet, (4, Layer::Ethernet)],
            1 => match CHANNELS
                .iter()
                .find(|(number, _)| self.u16(2) == Ok(*number))
            {
                Some(&(_, layer)) => [(4, layer), ethernet],
                None => [ethernet, ethernet],
            },
            _ => [ethernet, ethernet],
        };
        let [first, second] = candidates.map(|(skip, layer)| self.likelihood(skip, layer));
        let (skip, layer) = candidates[usize::from(second > first)];
        Ok(self.skip(skip, layer))
    }

    /// Rates the evidence for `layer` at `offset` from here.
    fn likelihood(&self, offset: usize, layer: Layer) -> u32 {
        match layer {
            Layer::Ip4 => self.likelihood_of_ip4(offset),
            Layer::Ip6 => self.likelihood_of_ip6(offset),
            _ => self.likelihood_of_ethernet(offset),
        }
    }

    /// Returns 1 if `length` bytes from `offset` on fill the frame, else 0.
    fn fills(&self, offset: usize, length: u32) -> u32 {
        let room = self.wire_left().saturating_sub(offset as u32);
        u32::from(length <= room && room - length <= PADDING)
    }

    fn likelihood_of_ip4(&self, offset: usize) -> u32 {
        let Ok(header) = self.chunk::<20>(offset) else {
            return 0;
        };
        let length = usize::from(header[0] & 15) * 4;
        if header[0] >> 4 != 4 || length < 20 {
            return 0;
        }
        let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
        let at = self.at + offset;
        let right = self.bytes.get(at..at + length).is_some_and(sums_up);
        1 + self.fills(offset, total) + if right { 3 } else { 0 }
    }

    fn likelihood_of_ip6(&self, offset: usize) -> u32 {
        let Ok(header) = self.chunk::<40>(offset) else {
            return 0;
        };
        if header[0] >> 4 != 6 {
            return 0;
        }
        let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
        let usual = matches!(
            header[6],
            0 | 4 | 6 | 17 | 41 | 43 | 44 | 47 | 50 | 51 | 58 | 60
        );
        1 + self.fills(offset, payload + 40) + u32::from(usual)
    }

    fn likelihood_of_ethernet(&self, offset: usize) -> u32 {
        // A group address is never a sender.
        if self.u8(offset + 6).is_ok_and(|byte| byte & 1 != 0) {
            return 0;
        }
        let mut at = offset + 12;
        for _ in 0..TAGS {
            let Ok(kind) = self.u16(at) else { return 0 };
            at += 2;
            return match kind {
                0x0800 => 1 + self.likelihood_of_ip4(at),
                0x86dd => 1 + self.likelihood_of_ip6(at),
                0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                    at += 2;
                    continue;
                }
                // ARP for Ethernet and IP.
                0x0806 if self.u32(at) == Ok(0x0001_0800) => 4,
                0x8847 | 0x8848 | 0x8863 | 0x8864 | 0x88cc | 0x88e5 | 0x8902 => 1,
                // The length field of LLC.
                length if length < 0x600 => 2 * self.fills(at, length.into()),
                _ => 0,
            };
        }
        0
    }
}

/// Returns whether the checksum of an IPv4 header is right, RFC 1071.
pub(super) fn sums_up(header: &[u8]) -> bool {
    let words = header.chunks_exact(2);
    let words = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::decode::made::decoded;
    use crate::decode::{Outcome, whole};

    /// A label at the end of the stack.
    const LABEL: [u8; 4] = [0, 0x3e, 0x81, 64];
    /// Returns `stack` in Ethernet.
    fn labelled(stack: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &[0x88, 0x47], stack].concat()
    }

    /// Returns an IPv4 header with a right checksum, and UDP from port 5 to port 6.
    fn ip4() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0x66, 0xce];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        packet
    }

    fn ip6() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        packet.extend([3; 32]);
        packet.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        packet
    }

    proptest! {
        /// The inner frame's addresses are arbitrary.
        #[test]
        fn a_pseudowire_leads_to_the_packet_with_and_without_a_control_word(
            receiver in any::<[u8; 6]>(),
            sender in any::<[u8; 6]>(),
            sequence in any::<u16>(),
            word in any::<bool>(),
            tag in any::<bool>(),
            v6 in any::<bool>(),
            labels in 0_usize..4,
        ) {
            let mut stack = [0, 0x10, 0, 64].repeat(labels);
            stack.extend(LABEL);
            if word {
                stack.extend([0, 0]);
                stack.extend(sequence.to_be_bytes());
            }
            stack.extend(receiver);
            stack.push(sender[0] & 0xfe);
            stack.extend(&sender[1..]);
            if tag {
                stack.extend([0x81, 0, 0, 7]);
            }
            stack.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
            stack.extend(if v6 { ip6() } else { ip4() });
            let packet = whole(1, &labelled(&stack));
            prop_assert_eq!(packet.outcome, Outcome::Flow);
            let key = packet.key;
            prop_assert_eq!((key.protocol, key.low_port.min(key.high_port), key.v6), (17, 5, v6));
        }
    }

    #[test]
    fn ip_under_labels_is_ip() {
        for packet in [ip4(), ip6()] {
            let found = whole(1, &labelled(&[&LABEL[..], &packet].concat()));
            assert_eq!((found.key.protocol, found.key.low_port), (17, 5));
        }
        // A checksum left to the interface.
        assert_eq!(decoded(1, &labelled(&LABEL)).key.protocol, 17);
        let channel = [&LABEL[..], &[0x10, 0, 0, 0x21], &ip4()].concat();
        assert_eq!(whole(1, &labelled(&channel)).key.protocol, 17);
        let detection = [&LABEL[..], &[0x10, 0, 0, 7], &[0x20; 24]].concat();
        assert_eq!(whole(1, &labelled(&detection)).outcome, Outcome::NotIp);
    }
}
