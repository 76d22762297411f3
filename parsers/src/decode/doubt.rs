//! Whether a datagram to the port of a tunnel is one: a port alone proves nothing, any application may use it.
//!
//! The packet inside has to fit: an IP header of its version whose length is what the datagram has room for, or whose
//! checksum is right. Where an `EtherType` in front of it names IP, padding may follow the packet, and its end may be cut.
//! Everything else is a datagram of its own.

use super::mpls::sums_up;
use super::{Layer, Packet, Stop, Walk};

/// Bytes that may follow an IP packet in a frame inside: padding to 64 bytes.
const PADDING: u32 = 64;

/// What a datagram is until the packet inside proves that it is a tunnel.
pub(super) struct Doubt {
    /// The packet without the tunnel.
    before: Packet,
    /// Where the datagram ends in the frame.
    end: u32,
    /// An `EtherType` says that IP follows.
    is_named: bool,
}

impl Walk<'_> {
    /// From here on `end`, where the datagram ends, has to be that of a packet inside.
    pub(super) fn begin_doubt(&mut self, end: u32) {
        self.doubt = Some(Doubt {
            before: self.packet.clone(),
            end,
            is_named: false,
        });
    }

    /// Takes back a tunnel that is none.
    #[inline]
    pub(super) fn end_doubt(&mut self) {
        if self.doubt.is_some() {
            self.take_back();
        }
    }

    #[cold]
    fn take_back(&mut self) {
        if let Some(doubt) = self.doubt.take() {
            *self.packet = doubt.before;
        }
    }

    /// A header names IP by its `EtherType`.
    #[inline]
    pub(super) fn name_ip(&mut self) {
        if let Some(doubt) = &mut self.doubt {
            doubt.is_named = true;
        }
    }

    /// Here begins what is no IP. It is the content of a tunnel where it is what Ethernet carries beside IP: ARP for
    /// Ethernet and IP, spanning tree, LLDP.
    #[cold]
    pub(super) fn not_ip(&mut self, layer: Layer) -> Stop {
        let is_known = match layer {
            Layer::EtherType(0x0806) => self.u32(0) == Ok(0x0001_0800),
            Layer::EtherType(0x88cc) => self.u16(0).is_ok_and(|first| first >> 8 == 2),
            Layer::Llc => self.chunk(0) == Ok(&[0x42, 0x42, 3]),
            _ => false,
        };
        if is_known {
            self.doubt = None;
        }
        Stop::NotIp
    }

    /// Looks whether the IPv4 packet with `header`, which begins here, can be that of a tunnel.
    #[inline]
    pub(super) fn settle_ip4(&mut self, header: &[u8; 20]) -> Result<(), Stop> {
        let Some(doubt) = &self.doubt else {
            return Ok(());
        };
        let length = usize::from(header[0] & 15) * 4;
        let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
        if total != 0 && (total as usize) < length {
            return Err(Stop::Malformed);
        }
        let whole = self.bytes.get(self.at..self.at + length);
        let is_right = whole.is_some_and(sums_up);
        let is_left = header[10..12] == [0, 0];
        let fits = match doubt.end.checked_sub(self.at as u32) {
            None => false,
            Some(room) if total == room => true,
            Some(room) if total != 0 && total < room && room - total <= PADDING => {
                is_right || doubt.is_named
            }
            Some(_) => is_right || is_left && doubt.is_named && total != 0,
        };
        self.settle(fits)
    }

    /// The same of IPv6.
    #[inline]
    pub(super) fn settle_ip6(&mut self, header: &[u8; 40]) -> Result<(), Stop> {
        let Some(doubt) = &self.doubt else {
            return Ok(());
        };
        let total = 40 + u32::from(u16::from_be_bytes([header[4], header[5]]));
        // Hop-by-hop options, what hosts send most, extension headers, routing, and nothing.
        let is_usual = matches!(
            header[6],
            0 | 4
                | 6
                | 17
                | 33
                | 41
                | 43
                | 44
                | 46
                | 47
                | 50
                | 51
                | 58
                | 59
                | 60
                | 88
                | 89
                | 97
                | 103
                | 112
                | 115
                | 132
                | 135
                | 136
                | 137
                | 139
                | 140
                | 143
        );
        // Teredo's own addresses, RFC 4380 2.6: trailers may follow the packet.
        let is_teredo = |at: usize| header[at..at + 4] == [0x20, 1, 0, 0];
        let fits = match doubt.end.checked_sub(self.at as u32) {
            None => false,
            Some(room) if total == room => true,
            Some(room) if total < room && (is_teredo(8) || is_teredo(24)) => true,
            Some(room) if total > 40 && total < room => doubt.is_named && room - total <= PADDING,
            Some(_) => doubt.is_named,
        };
        self.settle(fits && is_usual)
    }

    #[cold]
    fn settle(&mut self, fits: bool) -> Result<(), Stop> {
        if !fits {
            return Err(Stop::Malformed);
        }
        self.doubt = None;
        Ok(())
    }
}
