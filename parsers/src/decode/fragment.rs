//! IP fragments: the packet that each is a part of, and its place in that packet.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::network::Ip;
use super::protocols::{FRAGMENT, TCP};
use super::{Layer, Walk};

/// Which part of a packet a fragment is: RFC 791 3.2, RFC 8200 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Part {
    /// The offset in units of 8 bytes, and the flags below.
    place: u16,
    /// Its length.
    length: u16,
}

const OFFSET: u16 = 0x1fff;
/// Flag: another part follows.
const MORE: u16 = 0x8000;
/// Flag: its own header names TCP.
const OF_TCP: u16 = 0x4000;

impl Part {
    fn new(offset: usize, length: u32, more: bool, protocol: u8) -> Self {
        let mut place = (offset / 8) as u16 & OFFSET;
        place |= if more { MORE } else { 0 };
        place |= if protocol == TCP { OF_TCP } else { 0 };
        Self {
            place,
            length: length.min(u32::from(u16::MAX)) as u16,
        }
    }

    /// Returns the range of bytes of the packet that this part contains.
    pub(crate) fn range(self) -> (u32, u32) {
        let begin = u32::from(self.place & OFFSET) * 8;
        (begin, begin + u32::from(self.length))
    }

    pub(crate) fn more(self) -> bool {
        self.place & MORE != 0
    }

    pub(crate) fn says_tcp(self) -> bool {
        self.place & OF_TCP != 0
    }
}

impl Walk<'_> {
    /// Notes that this IP packet is a part of another, from `offset` on. An inner fragment replaces an outer one.
    #[cold]
    pub(super) fn fragment(
        &mut self,
        ip: &Ip,
        identification: u32,
        protocol: u8,
        (offset, more): (usize, bool),
    ) {
        // The key is not secret: a sender that can choose the hashed fields can send such fragments anyway.
        let mut hasher = FixedState::default().build_hasher();
        hasher.write_u128(ip.source);
        hasher.write_u128(ip.destination);
        // With IPv6 only the next header of the first part is valid, RFC 8200 4.5.
        let stated_protocol = if ip.v6 { 0 } else { u64::from(protocol) };
        hasher.write_u64(stated_protocol << 32 | u64::from(identification));
        self.packet.fragment = true;
        self.cannot_verify();
        self.packet.datagram = hasher.finish();
        self.packet.part = Part::new(offset, ip.payload, more, protocol);
    }

    /// Assigns a fragment that begins `offset` bytes after the first one to the first one's flow. UDP payload was
    /// counted there, by the length in the UDP header; of a TCP segment the payload in this fragment is counted here.
    #[cold]
    pub(super) fn later_fragment(&mut self, ip: &Ip, offset: usize) -> Layer {
        self.flow(ip, FRAGMENT, 0, 0);
        let header = self.rest_of_tcp_header(offset);
        let packet = &mut *self.packet;
        // If an outer tunnel keeps its flow, the packet is not a later fragment.
        packet.later_fragment = packet.key.protocol == FRAGMENT;
        if packet.later_fragment {
            packet.payload = ip.payload.saturating_sub(header);
        }
        Layer::Done
    }

    /// Returns how many bytes of a TCP header a fragment begins with: scanners send first fragments of 8 bytes. If the
    /// header's length is in the first fragment, options are counted as payload.
    fn rest_of_tcp_header(&self, offset: usize) -> u32 {
        let length = 12_usize
            .checked_sub(offset)
            .and_then(|behind| self.bytes.get(self.at + behind))
            .map_or(20, |byte| usize::from(byte >> 4) * 4);
        length.max(20).saturating_sub(offset) as u32
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Packet, whole};

    /// Returns the part from `from` to `to` of a TCP segment with 12 bytes of options.
    fn part(from: u8, to: u8) -> Packet {
        let mut segment = vec![0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x80, 0x10, 1, 2];
        segment.resize(132, 1);
        let length = 20 + to - from;
        let mut bytes = vec![0x45, 0, 0, length, 0, 9, 0x20, from / 8, 64, 6, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(&segment[usize::from(from)..usize::from(to)]);
        whole(101, &bytes)
    }

    #[test]
    fn parts_of_a_tcp_header_in_later_fragments_are_no_payload() {
        for (from, payload) in [(8, 76), (16, 96), (32, 100)] {
            let later = part(from, from + 100);
            assert!(later.later_fragment && later.part.more() && later.part.says_tcp());
            assert_eq!(later.payload, payload, "{from}");
            assert_eq!(later.part.range(), (from.into(), u32::from(from) + 100));
        }
    }
}
