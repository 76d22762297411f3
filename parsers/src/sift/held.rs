//! A packet that waits to be judged.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use crate::decode::links::{ETHERNET, LINUX_SLL2};
use crate::decode::rdma::Rdma;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Outer, Packet, TCP, TcpOptions, UDP, flag, is_of_bytes};
use crate::records::RecordPlace;

/// Numbers so near to those seen belong to the same side whatever windows say: a capture may have lost packets.
pub(crate) const NEAR: i64 = 1 << 20;
/// Bytes of a link header that name where a packet was seen: addresses, tags, interface.
const LONGEST_LINK: usize = 64;

/// What a packet and its copies have in common, and what tells where it was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Hash of what no router and no interface changes: addresses, ports, identification, lengths, transport header, payload.
    pub content: u64,
    /// The content of a copy whose checksum was left to the interface, where it cannot be verified: bytes are missing.
    pub uncut: u64,
    /// Hash of where it was seen: interface, link header, tunnel, TTL.
    pub point: u64,
    /// IPv4 identification; 0 where there is none.
    pub ident: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Interface of the file, or of the host where the link header names it.
    pub interface: u32,
    /// Hash of the tags between the addresses of Ethernet and the IP packet; 0 where there are none.
    pub tags: u32,
    /// Length of the headers before the IP packet.
    pub link_bytes: u16,
}

impl Identity {
    /// Of `packet`, whose captured `bytes` begin with a header of `link_type`.
    pub(crate) fn new(
        packet: &Packet,
        bytes: &[u8],
        (link_type, interface): (u32, u32),
        hashing: &RandomState,
    ) -> Self {
        let mut hasher = hashing.build_hasher();
        hasher.write_u64(packet.key.hash(hashing));
        if packet.fragment {
            let (begin, end) = packet.part.range();
            hasher.write_u64(packet.datagram);
            hasher.write_u64(u64::from(begin) << 32 | u64::from(end));
        }
        let sizes = u64::from(packet.ip_bytes) << 32 | u64::from(packet.payload);
        hasher.write_u64(sizes);
        let fields = u64::from(packet.from_high) << 32 | u64::from(packet.ident);
        hasher.write_u64(fields);
        let transport = bytes
            .get(packet.transport_at as usize..)
            .unwrap_or_default();
        // Not the padding behind a short packet: that may differ.
        let transport = &transport[..transport.len().min(packet.ip_bytes as usize)];
        let transport = without_cut_payload(packet, transport);
        write_transport(&mut hasher, packet, transport);
        let uncut = hasher.clone().finish();
        let is_of_bytes = is_of_bytes(packet, transport);
        if is_of_bytes != Some(true) {
            hasher.write_u16(packet.checksum_field);
        }
        let content = hasher.finish();

        let mut hasher = hashing.build_hasher();
        hasher.write_u32(interface);
        hasher.write_u8(packet.ttl);
        if packet.is_inside() {
            hasher.write_u64(packet.outer.key.hash(hashing));
            hasher.write_u32(packet.outer.id.unwrap_or_default());
        }
        // Headers of other link types hold what differs from frame to frame, such as numbers and times.
        if matches!(link_type, ETHERNET | LINUX_SLL2) {
            let link = (packet.link_bytes as usize).min(LONGEST_LINK);
            hasher.write(bytes.get(..link).unwrap_or_default());
        }
        let link = packet.link_bytes as usize;
        // Linux "cooked" capture, version 2: the interface stands behind the protocol and two bytes reserved.
        let named = bytes.get(4..).and_then(|rest| rest.first_chunk());
        let interface = match named {
            Some(&named) if link_type == LINUX_SLL2 => interface ^ u32::from_be_bytes(named),
            _ => interface,
        };
        let tags = bytes
            .get(12..link)
            .filter(|tags| link_type == ETHERNET && tags.len() > 2);
        Self {
            content,
            uncut: if is_of_bytes.is_none() {
                uncut
            } else {
                content
            },
            point: hasher.finish(),
            ident: packet.ident,
            ttl: packet.ttl,
            interface,
            tags: tags.map_or(0, |tags| hashing.hash_one(tags) as u32 | 1),
            link_bytes: packet.link_bytes as u16,
        }
    }

    /// Its content as one of those that `is_known`, where a copy of it is.
    pub(crate) fn among(&self, is_known: impl Fn(u64) -> bool) -> u64 {
        if self.uncut != self.content && !is_known(self.content) && is_known(self.uncut) {
            self.uncut
        } else {
            self.content
        }
    }

    /// Whether `other` is of the same content.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.content == other.content || self.uncut == other.content || self.content == other.uncut
    }

    /// Whether a packet alike was sent into another virtual network: as often as there are networks, as what routers
    /// announce is. A packet that was routed from one to the other has another TTL.
    pub(crate) fn is_of_other_network(&self, other: &Self) -> bool {
        let tagged = self.tags != 0 && other.tags != 0 && self.link_bytes == other.link_bytes;
        tagged && self.tags != other.tags && self.ttl == other.ttl
    }
}

/// The header alone of a TCP segment that was not captured whole: behind a longer link header less of it was. Its numbers
/// tell its payload from others.
fn without_cut_payload<'a>(packet: &Packet, transport: &'a [u8]) -> &'a [u8] {
    let header = match transport.get(12) {
        Some(offset) if packet.tcp => usize::from(offset >> 4) * 4,
        _ => return transport,
    };
    let is_whole = transport.len() >= header + packet.payload as usize;
    if is_whole {
        transport
    } else {
        &transport[..header.min(transport.len())]
    }
}

/// Writes the bytes of the `transport` header and behind it, but for what is changed on the way: the checksum, and the MSS
/// of a SYN, which routers clamp.
fn write_transport(hasher: &mut impl Hasher, packet: &Packet, transport: &[u8]) {
    let checksum = match packet.key.protocol {
        TCP => 16,
        UDP => 6,
        _ => return hasher.write(transport),
    };
    let (before, rest) = transport.split_at(transport.len().min(checksum));
    hasher.write(before);
    let rest = rest.get(2..).unwrap_or_default();
    let is_syn = packet.tcp && packet.tcp_flags & flag::SYN != 0;
    let clamped = packet.options.mss.filter(|_| is_syn).and_then(|mss| {
        let [high, low] = mss.to_be_bytes();
        let option = [2, 4, high, low];
        rest.windows(4).position(|bytes| bytes == option)
    });
    match clamped {
        Some(at) => {
            hasher.write(&rest[..at]);
            hasher.write(&rest[at + 4..]);
        }
        None => hasher.write(rest),
    }
}

/// One packet with all that later stages want of it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub owner: Owner,
    pub segment: Segment,
    pub place: RecordPlace,
    pub identity: Identity,
    /// TCP options that are listed.
    pub options: Option<Box<TcpOptions>>,
    /// The tunnel around it, and whether that was sent by its key's higher endpoint.
    pub tunnel: Option<Box<(bool, Outer)>>,
    /// Headers of RDMA.
    pub rdma: Option<Box<Rdma>>,
    /// Number in the order of the files, from 1.
    pub number: u64,
}

impl Held {
    /// Place of its sender in pairs: the key's higher endpoint second.
    pub(crate) fn side(&self) -> usize {
        usize::from(self.segment.is_from_high())
    }

    /// Whether it is a TCP segment between the endpoints of `other`.
    pub(crate) fn shares_ends(&self, other: &Self) -> bool {
        self.owner.hash == other.owner.hash
            && self.owner.key == other.owner.key
            && self.segment.tcp()
    }

    /// Number behind its last byte, SYN and FIN included.
    pub(crate) fn end(&self) -> u32 {
        let syn = u32::from(self.segment.has(flag::SYN));
        let fin = u32::from(self.segment.has(flag::FIN));
        self.segment
            .seq
            .wrapping_add(self.segment.payload + syn + fin)
    }

    /// A TCP segment that takes sequence numbers: a host that sends it again waits for an answer first.
    pub(crate) fn takes_numbers(&self) -> bool {
        self.is_tcp() && self.end() != self.segment.seq
    }

    pub(crate) fn is_tcp(&self) -> bool {
        self.owner.key.protocol == TCP && self.segment.tcp()
    }

    /// Whether a packet alike was sent again on purpose at most by its application: no acknowledgement, which hosts repeat.
    pub(crate) fn is_no_acknowledgement(&self) -> bool {
        self.owner.kind != OwnerKind::None && (!self.is_tcp() || self.takes_numbers())
    }
}

/// Why a receiver would not accept a segment, RFC 9293 3.10.7.4: it changes no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its numbers lie outside the window, or it acknowledges what was never sent (RFC 5961 5).
    OutsideWindow,
    /// A SYN in a live connection that no SYN-ACK answers, RFC 5961 4.
    StraySyn,
    /// A SYN-ACK with other numbers in a live connection.
    StraySynAck,
    /// A RST outside the window, RFC 5961 3.
    StrayRst,
}
