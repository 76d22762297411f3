//! One decoded packet, from which tables and the states of connections are made.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::fragment::Part;
use super::key::Key;
use super::options::TcpOptions;
use super::outcome::Outcome;
use super::protocols::TCP;
use super::rdma::Rdma;

/// Whether the IP and transport checksums of a packet are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Checksum {
    /// Verification was not requested.
    #[default]
    Unasked,
    /// Each is right, or the sender did not compute one.
    Right,
    /// One cannot be verified: bytes are missing, the interface was to fill it in, or it is of another kind.
    Unverified,
    /// One is wrong.
    Wrong,
}

/// The outermost tunnel around a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Outer {
    pub kind: &'static str,
    /// Network identifier of VXLAN and Geneve, key of GRE, tunnel endpoint identifier of GTP-U, if there is one.
    pub id: Option<u32>,
    /// The tunnel's own flow, and whether the higher endpoint of that flow sent the packet.
    pub key: Key,
    pub from_high: bool,
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
    /// Any fragment, including the first; `datagram` is valid.
    pub fragment: bool,
    /// A fragment after the first: it has no ports.
    pub later_fragment: bool,
    /// Identifies the fragmented packet: a hash of its addresses and identification, and with IPv4 of its protocol.
    pub datagram: u64,
    /// The place of this fragment in that packet.
    pub part: Part,
    /// Offload: the length field of the innermost IP header is 0 without a jumbogram option, or is that of one segment
    /// of many.
    pub offloaded: bool,
    /// Length of the frame on the wire, with link header, without FCS: as the record states it or, if that is
    /// impossible, as the IP header or the captured bytes show it.
    pub wire: u32,
    /// The lengths that the record and the headers state contradict each other.
    pub length_conflict: bool,
    /// The link header states that the capturing host sent it.
    pub is_outgoing: bool,
    pub checksum: Checksum,
    /// Number of tunnel headers around the innermost packet.
    pub tunnels: u8,
    /// The outermost tunnel; valid if there is one.
    pub outer: Outer,
    /// A segment routing header, RFC 8754, was skipped.
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
    /// Offset of the header after that of the flow's IP packet.
    pub transport_at: u32,
    /// IPv4 identification of the flow's IP packet; 0 for IPv6.
    pub ident: u16,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// Its congestion marks: [`ecn`].
    pub ecn: u8,
    /// The checksum field of its transport header (TCP, UDP, ICMP and similar); 0 if it was not captured.
    pub checksum_field: u16,
    /// The decoded RDMA headers; none if the packet is not RDMA.
    pub rdma: Option<Rdma>,
    /// It was sent to the RDMA port, but its header cannot be read.
    pub unread_rdma: bool,
    /// Further packets in the same frame (A-MSDU), which are not read.
    pub others: u16,
    /// Transmitter and sequence control of its IEEE 802.11 frame; 0 if there is none.
    pub frame_number: u64,
    /// That frame has the retry bit: it was sent again because it was not acknowledged.
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
    /// Returns whether its flow is inside a tunnel: false if the tunnel does not carry IP.
    pub(crate) fn is_inside(&self) -> bool {
        self.tunnels > 0 && self.key != self.outer.key
    }

    /// Returns a number for its network: that of its VLAN, or inside a tunnel a hash of the tunnel; 0 for neither.
    pub(crate) fn network(&self) -> u32 {
        let vlan = u32::from(self.vlan.wrapping_add(1));
        if !self.is_inside() {
            return vlan;
        }
        let outer = (self.outer.kind, self.outer.id, vlan);
        // The key is not secret: a sender that can choose the hashed fields can send in that network anyway.
        FixedState::default().hash_one(outer) as u32 | 1 << 31
    }

    /// Returns whether the packet belongs to a TCP connection, but its header is cut after the ports or contradicts
    /// itself.
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
