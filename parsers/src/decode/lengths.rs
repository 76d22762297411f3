//! Compares the lengths that a record and the headers of its packet state.
//!
//! If they contradict each other: a frame is at least as long as its captured bytes. Beyond them the record's length is
//! used up to the end of the outermost IP packet and what may follow it. UDP ends with its IP packet. The stated length
//! of an IP packet that is longer than its frame, or than the packet around it, is used: a tool that cuts packets for a
//! mirror or a trace does not change their headers.

use super::links::Link;
use super::network::Ip;
use super::{Outcome, Walk};
use crate::records::{MAX_LARGE_RECORD, Record};

/// Most bytes that may follow an IP packet in its frame: padding to 64 bytes, and trailers of switches and packet
/// brokers.
pub(super) const LONGEST_TRAILER: u32 = 128;
/// The longest frame without a length in its IP header: IPv6 passes up to 512 KiB to an interface (BIG TCP of Linux).
const LONGEST_UNTOLD: u32 = 1 << 20;
/// The longest frame of other protocols: offloading merges none of them.
const LONGEST_OTHER: u32 = 1 << 16;

/// How the frame and its IP packets fit into each other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    /// Where the innermost IP packet so far ends in the frame; none before the first.
    end: Option<u32>,
    /// Bytes after the outermost IP packet, if there are more than may follow it.
    excess: u32,
    /// The record states a length that no frame has: that of the outermost IP packet is used.
    is_wire_unknown: bool,
}

impl Walk<'_> {
    pub(super) fn conflict(&mut self) {
        self.packet.length_conflict = true;
    }

    /// Reads the lengths that `record` states.
    #[inline]
    pub(super) fn begin_lengths(&mut self, record: &Record, link: Option<&Link>) {
        let longest = if link.is_some() {
            LONGEST_UNTOLD
        } else {
            MAX_LARGE_RECORD
        };
        self.frame.is_wire_unknown = record.wire > longest.max(record.captured);
        if record.captured > record.wire || self.frame.is_wire_unknown {
            self.wire = record.captured;
            self.conflict();
        }
    }

    /// Compares an IP packet of `bytes` that begins here with the frame or the packet around it.
    #[inline]
    pub(super) fn fit(&mut self, bytes: u32) {
        let end = (self.at as u32).saturating_add(bytes);
        match self.frame.end {
            None if end > self.wire => {
                if self.frame.is_wire_unknown {
                    self.wire = end;
                }
                self.conflict();
            }
            None if self.wire - end > LONGEST_TRAILER => self.frame.excess = self.wire - end,
            // The content of a fragment continues in the next one.
            Some(around) if end > around && !self.packet.fragment => self.conflict(),
            _ => {}
        }
        self.frame.end = Some(end);
    }

    /// Returns the payload of further segments that share the headers of this one, of `payload` bytes, inside a tunnel.
    /// If an interface repeats a tunnel's headers unchanged (`GSO_PARTIAL` of Linux), they state the length of one
    /// segment, and only the frame the total; all segments have the same length.
    #[inline]
    pub(super) fn repeated(&mut self, payload: u32) -> u32 {
        let excess = self.frame.excess;
        if excess == 0
            || self.packet.tunnels == 0
            || payload == 0
            || !excess.is_multiple_of(payload)
        {
            return 0;
        }
        self.frame.excess = 0;
        excess
    }

    /// Returns the UDP payload that `ip` has room for, according to the datagram's own `length`.
    #[inline]
    pub(super) fn fit_datagram(&mut self, length: u32, ip: &Ip) -> u32 {
        match length {
            // A jumbogram (RFC 2675), or an offloaded datagram.
            0 if ip.offloaded || ip.bytes > 0xffff => return ip.payload.saturating_sub(8),
            // A fragmented datagram states the length of all its parts.
            8.. if length <= ip.payload || self.packet.fragment => {}
            _ => self.conflict(),
        }
        let room = if self.packet.fragment {
            length
        } else {
            ip.payload
        };
        length.min(room).saturating_sub(8)
    }

    /// Determines the length of the frame.
    #[inline]
    pub(super) fn end_lengths(&mut self, record: &Record) {
        let cut = record.captured < self.wire;
        if let Some(excess) = Some(self.frame.excess).filter(|&excess| cut && excess > 0) {
            self.wire = (self.wire - excess).max(record.captured);
            self.conflict();
        }
        let other = matches!(
            self.packet.outcome,
            Outcome::NotIp | Outcome::Malformed | Outcome::Cut
        );
        if other && cut && self.wire > LONGEST_OTHER && self.frame.end.is_none() {
            self.wire = record.captured;
            self.conflict();
        }
        self.packet.wire = self.wire;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::{Packet, decode};

    /// Decodes an Ethernet frame for which a record states `wire` bytes.
    fn decoded(frame: &[u8], wire: u32) -> Packet {
        let record = Record {
            time: 0,
            is_timed: true,
            is_outgoing: false,
            wire,
            captured: frame.len() as u32,
            interface: 0,
            at: 0,
            data: 0,
        };
        let mut packet = Packet::default();
        decode(&record, Link::find(1), frame, false, &mut packet);
        packet
    }

    /// Returns Ethernet, IPv4 or IPv6 with `payload` bytes of UDP whose header states `length`.
    fn frame(v6: bool, payload: u16, length: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((payload + 8).to_be_bytes());
            frame.extend([17, 64]);
            frame.extend([3; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((payload + 28).to_be_bytes());
            frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0, 5, 0, 6]);
        frame.extend(length.to_be_bytes());
        frame.resize(frame.len() + 2 + usize::from(payload), 0);
        frame
    }

    proptest! {
        #[test]
        fn no_length_makes_a_packet_longer_than_it_can_be(
            v6 in any::<bool>(),
            payload in 0_u16..1400,
            length in any::<u16>(),
            wire in any::<u32>(),
            cut in 0_usize..1500,
        ) {
            let mut frame = frame(v6, payload, length);
            let whole = frame.len() as u32;
            frame.truncate(frame.len().saturating_sub(cut).max(62));
            let packet = decoded(&frame, wire);
            let captured = frame.len() as u32;
            prop_assert!(packet.payload <= u32::from(payload));
            prop_assert!(packet.wire >= captured);
            prop_assert!(packet.wire <= whole.max(wire) && packet.wire <= whole + LONGEST_TRAILER);
            let right = (whole..=whole + LONGEST_TRAILER).contains(&wire) && wire >= captured
                && length >= 8 && length <= payload + 8;
            prop_assert_eq!(packet.length_conflict, !right);
            if right {
                prop_assert_eq!((packet.wire, packet.payload), (wire, u32::from(length) - 8));
            }
        }
    }

    #[test]
    fn frames_of_other_protocols_are_bounded_too() {
        let mut arp = vec![0; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        for (wire, expected) in [
            (60, 60),
            (9000, 9000),
            (u32::MAX, 60),
            (1 << 17, 60),
            (42, 60),
        ] {
            let packet = decoded(&arp, wire);
            assert_eq!(
                (packet.wire, packet.length_conflict),
                (expected, wire != expected)
            );
        }
    }

    #[test]
    fn a_frame_of_many_segments_in_a_tunnel_has_headers_of_one() {
        // IPv4 in IPv4 in Ethernet: 100 bytes of TCP payload according to the headers, and 900 more in the frame.
        let ip = |total: u16, protocol: u8| {
            let mut header = vec![0x45, 0];
            header.extend(total.to_be_bytes());
            header.extend([
                0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, protocol, 10, 0, 0, 9,
            ]);
            header
        };
        let mut tcp = vec![0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x50, 0x10, 1, 2];
        tcp.resize(20, 0);
        let ethernet = [&[0; 12][..], &[8, 0]].concat();
        let mut frame = [ethernet, ip(160, 4), ip(140, 6), tcp].concat();
        let packet = decoded(&frame, 14 + 160 + 900);
        assert!(packet.offloaded && !packet.length_conflict);
        assert_eq!(
            (packet.wire, packet.payload, packet.ip_bytes),
            (1074, 1000, 1040)
        );
        // Not a multiple: the record is wrong.
        let packet = decoded(&frame, 14 + 160 + 950);
        assert!(!packet.offloaded && packet.length_conflict);
        assert_eq!((packet.wire, packet.payload), (174, 100));
        // Captured bytes are always part of the frame.
        frame.resize(1124, 0);
        let packet = decoded(&frame, 1124);
        assert!(!packet.offloaded && !packet.length_conflict);
        assert_eq!((packet.wire, packet.payload), (1124, 100));
    }
}
