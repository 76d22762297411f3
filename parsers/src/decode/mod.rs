//! Captured bytes of one packet to the headers of its innermost flow.
//!
//! The layers are walked outside in. The last IP packet whose header is whole is the packet's flow, with TCP and UDP
//! only where the ports are there; a tunnel whose content cannot be read counts for the tunnel's own flow.

mod checksum;
mod doubt;
mod ethernet;
pub(crate) mod fast;
mod fragment;
mod ipv6;
pub(crate) mod lengths;
mod link;
pub(crate) mod links;
#[cfg(test)]
mod made;
mod mpls;
mod network;
pub(crate) mod notice;
mod options;
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

pub(crate) use checksum::{Checksum, filled_in, is_of_bytes, telling_bytes};
pub(crate) use fragment::Part;
pub(crate) use options::{Sack, TcpOptions};
pub(crate) use protocols::{FRAGMENT, TCP, UDP, has_ports};
pub(crate) use tunnel::Outer;

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use crate::records::Record;
use doubt::Doubt;
use lengths::Frame;
use links::Link;
use rdma::Rdma;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Outcome {
    /// It belongs to a flow.
    Flow,
    /// Its link header names something else than IP: ARP, LLDP, spanning tree.
    #[default]
    NotIp,
    /// Its link type is not known.
    UnknownLink,
    /// The captured bytes end inside a header that is needed.
    Cut,
    /// A header contradicts itself.
    Malformed,
    /// A checksum is wrong, or the capture marks the frame as damaged: its receiver discards it.
    BadChecksum,
}

/// Two endpoints and a protocol, the lower endpoint first, so that both directions have one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Key {
    /// Address of the lower endpoint; an IPv4 address in the low 32 bits.
    pub low: u128,
    /// Address of the higher endpoint.
    pub high: u128,
    /// Port of the lower endpoint; 0 where the protocol has none.
    pub low_port: u16,
    /// Port of the higher endpoint.
    pub high_port: u16,
    /// IP protocol number, or [`FRAGMENT`].
    pub protocol: u8,
    /// IP version 6.
    pub v6: bool,
    /// Which of several TCP connections, one after the other or side by side, that have all of the above in common.
    pub life: u32,
    /// The VLAN or virtual network that tells equal addresses apart, where the caller asks for that; else 0.
    pub network: u32,
}

impl Key {
    /// The key of a packet from `source` to `destination`, each an address and a port, and whether it is from the higher.
    #[inline]
    pub(crate) fn new(
        source: (u128, u16),
        destination: (u128, u16),
        protocol: u8,
        v6: bool,
    ) -> (Self, bool) {
        let from_high = source > destination;
        let (low, high) = if from_high {
            (destination, source)
        } else {
            (source, destination)
        };
        let key = Self {
            low: low.0,
            high: high.0,
            low_port: low.1,
            high_port: high.1,
            protocol,
            v6,
            life: 0,
            network: 0,
        };
        (key, from_high)
    }

    /// Length of an IP header without options.
    pub(crate) fn ip_header(&self) -> u32 {
        if self.v6 { 40 } else { 20 }
    }

    /// Its hash under `state`.
    #[inline]
    pub(crate) fn hash(&self, state: &impl BuildHasher) -> u64 {
        let mut hasher = state.build_hasher();
        let ports = u64::from(self.low_port) << 32
            | u64::from(self.high_port) << 16
            | u64::from(self.protocol) << 8
            | u64::from(self.v6);
        if self.v6 {
            hasher.write_u128(self.low);
            hasher.write_u128(self.high);
        } else {
            hasher.write_u64((self.low as u64) << 32 | self.high as u64);
        }
        hasher.write_u64(ports);
        if self.network != 0 {
            hasher.write_u32(self.network);
        }
        let hash = hasher.finish();
        // Spread over the upper bits, which choose the slot of a table.
        hash ^ u64::from(self.life).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// No VLAN tag.
pub(crate) const NO_VLAN: u16 = u16::MAX;

/// One decoded packet.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Packet {
    pub outcome: Outcome,
    /// The source is the key's higher endpoint.
    pub from_high: bool,
    /// Any fragment, the first one included; `datagram` holds.
    pub fragment: bool,
    /// A fragment behind the first: it carries no ports.
    pub later_fragment: bool,
    /// Which packet was fragmented: a hash of its addresses and identification, and with IPv4 of its protocol.
    pub datagram: u64,
    /// The part of that packet which this fragment is.
    pub part: Part,
    /// The innermost IP header's length field is 0 and no jumbogram, or it is that of one segment of many: offload.
    pub offloaded: bool,
    /// Length of the frame on the wire, with link header, without FCS: what the record states, or where that cannot be
    /// what the IP header or the captured bytes tell.
    pub wire: u32,
    /// Lengths that the record and the headers state contradict each other.
    pub length_conflict: bool,
    pub checksum: Checksum,
    /// How many tunnels were entered.
    pub tunnels: u8,
    /// The outermost of them; holds where there is one.
    pub outer: Outer,
    /// A header of segment routing, RFC 8754, was stepped over.
    pub segment_routed: bool,
    /// Outermost VLAN id, or [`NO_VLAN`].
    pub vlan: u16,
    pub key: Key,
    /// Length of the innermost IP packet.
    pub ip_bytes: u32,
    /// TCP or UDP payload.
    pub payload: u32,
    /// Bytes of the headers before the first IP header.
    pub link_bytes: u32,
    /// Offset of the header behind that of the flow's IP packet.
    pub transport_at: u32,
    /// IPv4 identification of the flow's IP packet; 0 for IPv6.
    pub ident: u16,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// Its congestion marks: [`ecn`].
    pub ecn: u8,
    /// The checksum that its transport header states: of TCP, UDP, ICMP and their like; 0 where none was captured.
    pub checksum_field: u16,
    /// The decoded RDMA headers; none where the packet is no RDMA.
    pub rdma: Option<Rdma>,
    /// It was sent to the port of RDMA, and has no header of it that can be read.
    pub unread_rdma: bool,
    /// Further packets in the same frame (A-MSDU), which are not read.
    pub others: u16,
    /// Transmitter and sequence control of its frame of IEEE 802.11; 0 where there is none.
    pub frame_number: u64,
    /// That frame has the retry bit: the radio sent it again because nobody acknowledged it.
    pub is_retry: bool,
    /// The TCP fields below are valid.
    pub tcp: bool,
    pub tcp_flags: u16,
    pub window: u16,
    pub seq: u32,
    pub ack: u32,
    pub options: TcpOptions,
}

impl Packet {
    /// A number of the network that it is in: its VLAN, or with the tunnel around it another one; 0 for neither.
    pub(crate) fn network(&self) -> u32 {
        let vlan = u32::from(self.vlan.wrapping_add(1));
        if !self.is_inside() {
            return vlan;
        }
        let outer = (self.outer.kind, self.outer.id, vlan);
        // No secret key: whoever can choose what is hashed here can send in that network anyway.
        FixedState::default().hash_one(outer) as u32 | 1 << 31
    }

    /// Whether the packet belongs to a TCP connection, but its header is cut behind the ports or contradicts itself.
    pub(crate) fn has_unread_tcp(&self) -> bool {
        self.outcome == Outcome::Flow && self.key.protocol == TCP && !self.tcp
    }
}

/// TCP flag bits.
pub(crate) mod flag {
    pub(crate) const FIN: u16 = 0x01;
    pub(crate) const SYN: u16 = 0x02;
    pub(crate) const RST: u16 = 0x04;
    pub(crate) const PSH: u16 = 0x08;
    pub(crate) const ACK: u16 = 0x10;
    pub(crate) const ECE: u16 = 0x40;
    pub(crate) const CWR: u16 = 0x80;
    pub(crate) const AE: u16 = 0x100;
}

/// Values of the two ECN bits of an IP header, RFC 3168 5. 1 and 2 are ECT(1) and ECT(0).
pub(crate) mod ecn {
    pub(crate) const NOT_CAPABLE: u8 = 0;
    pub(crate) const CONGESTION_EXPERIENCED: u8 = 3;
}

/// Decodes the packet of `record` in `window`, which begins with a header of `link`, into `packet`, of which every field that is read afterwards is
/// set anew. `verify`: also its checksums.
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

/// Why the walk ended before the innermost transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotIp,
    UnknownLink,
    Cut,
    Malformed,
    /// The header of the capture says that the frame came with errors.
    Damaged,
}

/// What the bytes at the walk's place are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Ethernet,
    EtherType(u16),
    Llc,
    Ppp,
    Mpls,
    /// IPv4 or IPv6, as the version field says.
    Ip,
    Ip4,
    Ip6,
    Done,
}

/// Layers are bounded: a packet made of tags alone must not take long.
const MAX_LAYERS: usize = 32;

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    wire: u32,
    /// Where an enclosing header with a length of its own says the packet ends.
    limit: Option<u32>,
    /// How the lengths of frame and IP packets fit.
    frame: Frame,
    /// A tunnel that a packet inside has to prove.
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

    /// A stop inside a tunnel leaves the packet with the tunnel's flow.
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

    /// Bytes of the frame from here on, captured or not.
    fn wire_left(&self) -> u32 {
        self.limit
            .unwrap_or(self.wire)
            .saturating_sub(self.at as u32)
    }

    /// `stated` bytes from here on, or fewer where an enclosing header says so.
    #[inline]
    fn bounded(&self, stated: u32) -> u32 {
        match self.limit {
            None => stated,
            Some(limit) => stated.min(limit.saturating_sub(self.at as u32)),
        }
    }
}

/// Decodes a frame that was captured whole.
#[cfg(test)]
fn whole(link_type: u32, bytes: &[u8]) -> Packet {
    whole_verified(link_type, bytes, false)
}

/// The same; `verify`: also its checksums.
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
