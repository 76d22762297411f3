//! Decides whether a datagram to the port of a tunnel is a tunnel: the port proves nothing, any application may use it.
//!
//! The datagram is a tunnel if an IP packet inside fits: its header has the right version, and its length fills the
//! datagram or its checksum is right. After an `EtherType` that names IP, padding may follow the packet, and its end
//! may be cut. Every other datagram belongs to its own flow.

use super::mpls::sums_up;
use super::{Layer, Packet, Stop, Walk};

/// Bytes that may follow an IP packet in a frame inside: padding to 64 bytes.
const PADDING: u32 = 64;

/// A datagram treated as a tunnel that is not proved yet.
pub(super) struct Doubt {
    /// The packet before the tunnel header was read.
    before: Packet,
    /// Offset in the frame where the datagram ends.
    end: u32,
    /// A header of the tunnel names IP by its `EtherType`.
    is_named: bool,
}

impl Walk<'_> {
    /// Enters a tunnel that a packet inside must prove; the datagram ends at `end`.
    pub(super) fn begin_doubt(&mut self, end: u32) {
        self.doubt = Some(Doubt {
            before: self.packet.clone(),
            end,
            is_named: false,
        });
    }

    /// Leaves the tunnel if nothing has proved it: the datagram belongs to its own flow.
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

    /// Notes that a header names IP by its `EtherType`.
    #[inline]
    pub(super) fn name_ip(&mut self) {
        if let Some(doubt) = &mut self.doubt {
            doubt.is_named = true;
        }
    }

    /// Handles content other than IP: ARP, spanning tree and LLDP prove a tunnel of Ethernet, anything else does not.
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

    /// Checks the IPv4 packet that begins here against the rest of the datagram.
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

    /// Checks the IPv6 packet that begins here in the same way; it has no header checksum, so its next header must be a
    /// common one.
    #[inline]
    pub(super) fn settle_ip6(&mut self, header: &[u8; 40]) -> Result<(), Stop> {
        let Some(doubt) = &self.doubt else {
            return Ok(());
        };
        let total = 40 + u32::from(u16::from_be_bytes([header[4], header[5]]));
        // Extension headers, transport, routing and tunnel protocols, and no next header.
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
        // Trailers may follow packets from or to Teredo addresses, RFC 4380 2.6.
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
