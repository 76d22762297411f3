//! What a packet and its copies have in common, and what identifies where each was seen.
//!
//! A copy may have been captured with fewer bytes: another snap length, or a longer header in front of it. So the
//! headers identify the content of a packet, with the checksum that stands for the bytes after them.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::{FoldHasher, RandomState};

use crate::decode::links::{ETHERNET, LINUX_SLL2};
use crate::decode::{Packet, TCP, UDP, filled_in, flag, is_left, is_of_bytes, telling_bytes};

/// Bytes of a link header that name where a packet was seen: addresses, tags, interface.
const LONGEST_LINK: usize = 64;
/// Those of them before tags and tunnels.
const ETHERNET_ADDRESSES: usize = 12;
const LINUX_SLL2_ADDRESSES: usize = 20;
/// The tag of seamless redundancy (HSR, IEC 62439-3 5.7), and the length of the path after it: the two copies of a
/// frame differ only in the path.
const HSR: [u8; 2] = [0x89, 0x2f];
const PATH: usize = 2;
/// Bytes of a TCP header: up to its acknowledgement number, before its checksum, and at most.
const ACKNOWLEDGED: usize = 12;
const CHECKSUM_AT: usize = 16;
const LONGEST_TCP: u32 = 60;
/// Bytes after the header of a datagram that distinguish it from others where no checksum does.
const PEEKED: usize = 24;

/// The captured part of a TCP segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Captured {
    /// All of it, with a checksum of its bytes.
    Whole,
    /// Its header, but not all of its payload; or the interface adds the checksum; or it is not TCP.
    #[default]
    Header,
    /// Not all of its header.
    Numbers,
    /// Less than its acknowledgement number, of a segment that is short enough to be an acknowledgement and has no
    /// identification: all such segments of one receiver look alike.
    Ports,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Hash of what no router and no interface changes: addresses, ports, identification, lengths, transport header,
    /// and where it adds something the checksum that a receiver sees.
    pub content: u64,
    /// The content of a copy that was cut if this one was not, or the reverse: only an uncut checksum can be verified.
    pub cut_content: u64,
    /// The captured part of a TCP segment.
    pub captured: Captured,
    /// Hash of the bytes after the header; 0 where not all of them were captured.
    pub payload: u64,
    /// Hash of where it was seen: interface, link header, tunnel, TTL.
    pub point: u64,
    /// Hash of the part of it that is equal for all packets of a flow at one place: tunnels and tags may number them.
    pub way: u32,
    /// IPv4 identification; 0 where there is none.
    pub ident: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Interface of the file, or of the host where the link header names it.
    pub interface: u32,
    /// Hash of the tags between the addresses of Ethernet and the IP packet; 0 where there are none.
    pub tags: u32,
    /// Length of the headers in front of the IP packet.
    pub link_bytes: u16,
    /// Transmitter and sequence control of the 802.11 frame, 0 for other links; and its retry bit.
    pub frame_number: u64,
    pub is_retry: bool,
}

impl Identity {
    /// Identifies `packet`, whose captured `bytes` begin with a header of `link_type`.
    pub(crate) fn new(
        packet: &Packet,
        bytes: &[u8],
        (link_type, interface): (u32, u32),
        hashing: &RandomState,
    ) -> Self {
        let (content, cut_content, payload) = contents(packet, bytes, hashing);
        let behind = bytes
            .get(packet.transport_at as usize..)
            .unwrap_or_default();
        let header = 20 + usize::from(packet.options.bytes);
        let captured = match behind.len() {
            bytes if bytes < ACKNOWLEDGED && may_be_acknowledgement(packet) => Captured::Ports,
            _ if !packet.tcp => Captured::Header,
            bytes if bytes < header => Captured::Numbers,
            bytes if bytes < header + packet.payload as usize => Captured::Header,
            _ if is_left(packet) => Captured::Header,
            _ => Captured::Whole,
        };
        let mut hasher = hashing.build_hasher();
        hasher.write_u32(interface);
        hasher.write_u8(packet.ttl);
        if packet.is_inside() {
            hasher.write_u64(packet.outer.key.hash(hashing));
            hasher.write_u32(packet.outer.id.unwrap_or_default());
        }
        let addresses = match link_type {
            ETHERNET => ETHERNET_ADDRESSES,
            LINUX_SLL2 => LINUX_SLL2_ADDRESSES,
            _ => 0,
        };
        let mut way = hasher.clone();
        way.write_u32(packet.link_bytes);
        way.write(bytes.get(..addresses).unwrap_or_default());
        // Headers of other link types contain fields that differ from frame to frame, such as numbers and times.
        if matches!(link_type, ETHERNET | LINUX_SLL2) {
            let link = (packet.link_bytes as usize).min(LONGEST_LINK);
            hasher.write(bytes.get(..link).unwrap_or_default());
        }
        let link = packet.link_bytes as usize;
        // Linux "cooked" capture, version 2: the interface follows the protocol and two reserved bytes.
        let named = bytes.get(4..).and_then(|rest| rest.first_chunk());
        let interface = match named {
            Some(&named) if link_type == LINUX_SLL2 => interface ^ u32::from_be_bytes(named),
            _ => interface,
        };
        let tags = bytes
            .get(12..link)
            .filter(|tags| link_type == ETHERNET && tags.len() > 2)
            .map(|tags| {
                if tags.starts_with(&HSR) {
                    &tags[HSR.len() + PATH..]
                } else {
                    tags
                }
            });
        Self {
            content,
            cut_content,
            captured,
            payload,
            point: hasher.finish(),
            way: way.finish() as u32,
            ident: packet.ident,
            ttl: packet.ttl,
            interface,
            tags: tags.map_or(0, |tags| hashing.hash_one(tags) as u32 | 1),
            link_bytes: packet.link_bytes as u16,
            frame_number: packet.frame_number,
            is_retry: packet.is_retry,
        }
    }

    /// Prefers the content that a copy with cut options has, too: it is the only one known of such copies.
    pub(crate) fn prefer_numbers(&mut self) {
        if self.captured == Captured::Whole {
            std::mem::swap(&mut self.content, &mut self.cut_content);
        }
    }

    /// Returns the one of its two contents that `is_known`; if both or none are, the first.
    pub(crate) fn among(&self, is_known: impl Fn(u64) -> bool) -> u64 {
        if self.cut_content != self.content && !is_known(self.content) && is_known(self.cut_content)
        {
            self.cut_content
        } else {
            self.content
        }
    }

    /// Returns whether `other` has the same content.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.content == other.content
            || self.cut_content == other.content
            || self.content == other.cut_content
    }

    /// Returns whether `other`, with the same content, has another payload nevertheless: checksums are short.
    pub(crate) fn has_other_payload(&self, other: &Self) -> bool {
        let is_known = self.payload != 0 && other.payload != 0;
        is_known && self.payload != other.payload
    }

    /// Returns whether both packets came in one 802.11 frame that the radio sent twice (IEEE 802.11-2020 10.3.2.14).
    pub(crate) fn is_retry_of(&self, other: &Self) -> bool {
        self.is_retry && self.frame_number != 0 && self.frame_number == other.frame_number
    }

    /// Returns whether `other`, which looks alike, was sent into another virtual network: routers send announcements
    /// into each of them. A packet that was routed from one to the other has another TTL.
    pub(crate) fn is_of_other_network(&self, other: &Self) -> bool {
        let tagged = self.tags != 0 && other.tags != 0 && self.link_bytes == other.link_bytes;
        tagged && self.tags != other.tags && self.ttl == other.ttl
    }
}

/// Returns whether `packet`, with at most its ports known, may be a mere acknowledgement without identification.
fn may_be_acknowledgement(packet: &Packet) -> bool {
    let bytes = packet.ip_bytes.saturating_sub(packet.key.ip_header());
    packet.key.protocol == TCP && packet.ident == 0 && bytes <= LONGEST_TCP
}

/// Returns the hashes of the content of `packet`, of the content that a cut copy may have, and of its payload.
fn contents(packet: &Packet, bytes: &[u8], hashing: &RandomState) -> (u64, u64, u64) {
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
    // Leaves out the padding after a short packet, which may differ.
    let longest = packet.ip_bytes.saturating_sub(packet.key.ip_header());
    let transport = &transport[..transport.len().min(longest as usize)];
    let (header, behind) = transport.split_at(telling_bytes(packet, transport));
    let mut numbers = hasher.clone();
    numbers.write(header.get(..CHECKSUM_AT).unwrap_or_default());
    write_header(&mut hasher, packet, header);
    let payload = if bytes.len() >= packet.wire as usize {
        hashing.hash_one(behind) | 1
    } else {
        0
    };
    let with = |hasher: &FoldHasher<'_>, checksum: u16| {
        let mut hasher = hasher.clone();
        hasher.write_u16(checksum);
        hasher.finish()
    };
    if packet.tcp {
        // A cut packet may lack a part of its options; its checksum stands for them.
        let stated = with(&numbers, packet.checksum_field);
        return match is_of_bytes(packet, transport) {
            // Its numbers suffice, and a correct checksum adds nothing: routers that clamp the MSS change it.
            Some(true) => (hasher.finish(), stated, payload),
            Some(false) => (with(&hasher, packet.checksum_field), stated, payload),
            None => (stated, hasher.finish(), payload),
        };
    }
    let with = filled_in(packet, transport).map(|checksum| with(&hasher, checksum));
    if packet.key.protocol == UDP {
        hasher.write(&behind[..behind.len().min(PEEKED)]);
    }
    let without = hasher.finish();
    (with.unwrap_or(without), without, payload)
}

/// Writes the bytes of a transport `header`, except those changed on the way: the checksum, and the MSS of a SYN, which
/// routers clamp.
fn write_header(hasher: &mut impl Hasher, packet: &Packet, header: &[u8]) {
    let checksum = match packet.key.protocol {
        TCP => CHECKSUM_AT,
        UDP => 6,
        _ => return hasher.write(header),
    };
    let (before, rest) = header.split_at(header.len().min(checksum));
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
