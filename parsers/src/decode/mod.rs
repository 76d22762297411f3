//! Decodes the captured bytes of one packet into the headers of its innermost flow.
//!
//! Layers are decoded from the outside in. The last IP packet with a complete header is the packet's flow; its ports
//! are used only if they were captured. If the content of a tunnel cannot be read, the packet belongs to the tunnel's
//! own flow.

mod checksum;
mod doubt;
mod ethernet;
pub(crate) mod fast;
mod fragment;
mod ipv6;
mod key;
pub(crate) mod lengths;
mod link;
pub(crate) mod links;
#[cfg(test)]
mod made;
mod mpls;
mod network;
pub(crate) mod notice;
mod options;
mod outcome;
mod packet;
mod ppp;
mod protocols;
mod rare_links;
pub(crate) mod rdma;
pub(crate) mod segment;
mod source_route;
mod transport;
mod tunnel;
mod udp_tunnel;
mod wireless;

pub(crate) use checksum::{filled_in, is_left, is_of_bytes, telling_bytes};
pub(crate) use fragment::Part;
pub(crate) use key::Key;
pub(crate) use options::{Sack, TcpOptions};
pub(crate) use outcome::Outcome;
pub(crate) use packet::{Checksum, NO_VLAN, Outer, Packet, ecn, flag};
pub(crate) use protocols::{FRAGMENT, ICMP, ICMP6, TCP, UDP, has_ports};

use crate::records::Record;
use doubt::Doubt;
use lengths::Frame;
use links::Link;

/// Decodes the packet of `record` in `window`, which begins with a header of `link`, into `packet`; resets every field
/// that is read afterwards. `verify`: also verifies checksums.
#[inline]
pub(crate) fn decode(
    record: &Record,
    link: Option<&Link>,
    window: &[u8],
    verify: bool,
    packet: &mut Packet,
) {
    let data = record.data as usize;
    let bytes = window
        .get(data..data + record.captured as usize)
        .unwrap_or_default();
    packet.outcome = Outcome::NotIp;
    packet.fragment = false;
    packet.later_fragment = false;
    packet.is_outgoing = false;
    packet.tunnels = 0;
    packet.vlan = NO_VLAN;
    packet.payload = 0;
    packet.tcp = false;
    (packet.rdma, packet.unread_rdma) = (None, false);
    packet.others = 0;
    (packet.frame_number, packet.is_retry) = (0, false);
    (packet.ident, packet.ttl, packet.checksum_field) = (0, 0, 0);
    packet.ecn = ecn::NOT_CAPABLE;
    (packet.link_bytes, packet.transport_at) = (0, 0);
    packet.checksum = if verify {
        Checksum::Right
    } else {
        Checksum::Unasked
    };
    packet.length_conflict = false;
    packet.segment_routed = false;
    let mut walk = Walk {
        bytes,
        at: 0,
        wire: record.wire,
        limit: None,
        frame: Frame::default(),
        doubt: None,
        packet,
    };
    walk.begin_lengths(record, link);
    if let Err(stop) = walk.packet(link) {
        walk.stop(stop);
    }
    walk.end_doubt();
    walk.end_lengths(record);
    if packet.checksum == Checksum::Wrong && packet.outcome == Outcome::Flow {
        packet.outcome = Outcome::BadChecksum;
        packet.tcp = false;
    }
}

/// Why decoding stopped before the innermost transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotIp,
    UnknownLink,
    Cut,
    Malformed,
    /// The capture's header marks the frame as erroneous.
    Damaged,
}

/// The type of the bytes at the walk's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Ethernet,
    EtherType(u16),
    Llc,
    Ppp,
    Mpls,
    /// IPv4 or IPv6, according to the version field.
    Ip,
    Ip4,
    Ip6,
    Done,
}

/// The number of layers is limited: a packet of nothing but tags must not take long.
const MAX_LAYERS: usize = 32;

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    wire: u32,
    /// Where the packet ends according to an enclosing header with its own length.
    limit: Option<u32>,
    /// How the lengths of frame and IP packets fit.
    frame: Frame,
    /// A tunnel that a packet inside must prove.
    doubt: Option<Doubt>,
    packet: &'a mut Packet,
}

impl Walk<'_> {
    fn packet(&mut self, link: Option<&Link>) -> Result<(), Stop> {
        let mut layer = link.ok_or(Stop::UnknownLink)?.step_over(self)?;
        for _ in 0..MAX_LAYERS {
            layer = match layer {
                Layer::Ethernet => self.ethernet()?,
                Layer::EtherType(kind) => self.ether_type(kind)?,
                Layer::Llc => self.llc()?,
                Layer::Ppp => self.ppp()?,
                Layer::Mpls => self.mpls()?,
                Layer::Ip => match self.u8(0)? >> 4 {
                    4 => Layer::Ip4,
                    6 => Layer::Ip6,
                    _ => return Err(Stop::Malformed),
                },
                Layer::Ip4 => self.ip(Self::ip4)?,
                Layer::Ip6 => self.ip(Self::ip6)?,
                Layer::Done => return Ok(()),
            };
        }
        Err(Stop::Malformed)
    }

    fn ip(&mut self, read: fn(&mut Self) -> Result<Layer, Stop>) -> Result<Layer, Stop> {
        if self.packet.outcome != Outcome::Flow {
            self.packet.link_bytes = self.at as u32;
        }
        read(self)
    }

    /// Sets the outcome; after a stop inside a tunnel the packet keeps the tunnel's flow.
    fn stop(&mut self, stop: Stop) {
        if self.packet.outcome == Outcome::Flow {
            return;
        }
        self.packet.outcome = match stop {
            Stop::NotIp => Outcome::NotIp,
            Stop::UnknownLink => Outcome::UnknownLink,
            Stop::Cut => Outcome::Cut,
            Stop::Malformed => Outcome::Malformed,
            Stop::Damaged => Outcome::BadChecksum,
        };
    }

    fn skip(&mut self, length: usize, next: Layer) -> Layer {
        self.at += length;
        next
    }

    #[inline]
    fn chunk<const N: usize>(&self, offset: usize) -> Result<&[u8; N], Stop> {
        self.bytes
            .get(self.at + offset..)
            .and_then(|rest| rest.first_chunk::<N>())
            .ok_or(Stop::Cut)
    }

    #[inline]
    fn u8(&self, offset: usize) -> Result<u8, Stop> {
        self.bytes.get(self.at + offset).copied().ok_or(Stop::Cut)
    }

    #[inline]
    fn u16(&self, offset: usize) -> Result<u16, Stop> {
        Ok(u16::from_be_bytes(*self.chunk(offset)?))
    }

    #[inline]
    fn u32(&self, offset: usize) -> Result<u32, Stop> {
        Ok(u32::from_be_bytes(*self.chunk(offset)?))
    }

    /// Returns the bytes of the frame from here on, captured or not.
    fn wire_left(&self) -> u32 {
        self.limit
            .unwrap_or(self.wire)
            .saturating_sub(self.at as u32)
    }

    /// Returns `stated`, or fewer bytes if an enclosing header limits them.
    #[inline]
    fn bounded(&self, stated: u32) -> u32 {
        match self.limit {
            None => stated,
            Some(limit) => stated.min(limit.saturating_sub(self.at as u32)),
        }
    }
}

/// Decodes a completely captured frame.
#[cfg(test)]
fn whole(link_type: u32, bytes: &[u8]) -> Packet {
    whole_verified(link_type, bytes, false)
}

/// Decodes a completely captured frame; `verify`: also verifies checksums.
#[cfg(test)]
fn whole_verified(link_type: u32, bytes: &[u8], verify: bool) -> Packet {
    let mut packet = Packet::default();
    decode(
        &made::record(bytes),
        Link::find(link_type),
        bytes,
        verify,
        &mut packet,
    );
    packet
}
