//! One packet as seen by one capture point, with the fields that its other sightings share.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use crate::decode::{ICMP, ICMP6, Outcome, Packet, UDP, flag};

/// Bytes of the content that distinguish datagrams without identification.
const PREFIX: usize = 16;
/// Length of a UDP header; an interface may fill in its checksum after the sender's capture.
const UDP_HEADER: usize = 8;
/// Two pads, then the timestamps of RFC 7323: the usual layout.
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
/// Length of these options.
const STAMPS: usize = 12;
/// Length of a TCP header without options.
const TCP_HEADER: usize = 20;

/// The part of a packet that is needed to recognise it, but is cut off by a short snap length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// The timestamp of a TCP segment, if it has one.
    Stamp,
    /// The first bytes of a datagram's content.
    Prefix,
}

/// How packets are recognised.
#[derive(Debug, Default)]
pub(crate) struct Recognition {
    pub hashing: RandomState,
    /// A capture lacks the timestamps of its TCP segments: segments with the same numbers may be the same.
    pub is_without_stamps: bool,
    /// A capture lacks the first bytes of its datagrams, of IPv4 and of IPv6: datagrams of equal length may be the
    /// same.
    pub is_without_prefixes: [bool; 2],
}

/// Sequence numbers of a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Numbers {
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    /// How many sequence numbers it occupies: payload, SYN and FIN.
    pub length: u32,
}

impl Numbers {
    /// Returns the number after its last.
    pub(crate) fn end(self) -> u32 {
        self.seq.wrapping_add(self.length)
    }

    pub(crate) fn has(self, bits: u16) -> bool {
        self.flags & bits != 0
    }
}

/// One packet at one capture point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sighting {
    /// By the clock of the point.
    pub time: i64,
    /// Place in the capture, from 1.
    pub number: u64,
    /// Hash of the fields that neither a router nor a network interface changes.
    pub key: u64,
    /// Hash of what distinguishes packets with the same key, if captured: the first bytes of the payload, or
    /// timestamps.
    pub prefix: Option<u32>,
    /// Hash of connection and direction; the hash of the opposite direction differs by [`Self::OPPOSITE`].
    pub direction: u64,
    pub source: u128,
    pub destination: u128,
    pub source_port: u16,
    pub destination_port: u16,
    pub protocol: u8,
    pub v6: bool,
    pub ident: u16,
    pub ip_bytes: u32,
    pub payload: u32,
    pub is_fragment: bool,
    /// The sequence numbers of a TCP segment.
    pub tcp: Option<Numbers>,
    /// Its timestamp, RFC 7323, if the options have the usual layout.
    pub tsval: Option<u32>,
    /// The part that was cut off, if it is needed to recognise the packet.
    pub lacks: Option<Lacking>,
}

impl Sighting {
    /// Difference between the hashes of the two directions of a connection.
    const OPPOSITE: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Returns the sighting of `packet`, whose captured bytes are `bytes`; none if it is not a readable IP packet.
    pub(crate) fn new(
        (time, number): (i64, u64),
        packet: &Packet,
        bytes: &[u8],
        recognition: &Recognition,
    ) -> Option<Self> {
        if packet.outcome != Outcome::Flow {
            return None;
        }
        let transport = bytes
            .get(packet.transport_at as usize..)
            .unwrap_or_default();
        let key = &packet.key;
        let hashing = &recognition.hashing;
        let connection = key.hash(hashing);
        let ends = ((key.low, key.low_port), (key.high, key.high_port));
        let (source, destination) = if packet.from_high {
            (ends.1, ends.0)
        } else {
            ends
        };
        let tcp = packet.tcp.then(|| Numbers {
            seq: packet.seq,
            ack: packet.ack,
            flags: packet.tcp_flags,
            length: packet.payload
                + u32::from(packet.tcp_flags & flag::SYN != 0)
                + u32::from(packet.tcp_flags & flag::FIN != 0),
        });
        let mut hasher = hashing.build_hasher();
        hasher.write_u64(connection);
        hasher.write_u64(
            u64::from(packet.ident) << 40
                | u64::from(packet.from_high) << 32
                | u64::from(packet.ip_bytes),
        );
        if packet.fragment {
            let (begin, end) = packet.part.range();
            hasher.write_u64(packet.datagram);
            hasher.write_u64(u64::from(begin) << 32 | u64::from(end));
        }
        let mut prefix = (tcp.is_none() && !packet.later_fragment)
            .then(|| prefix(transport, packet, hashing))
            .flatten();
        let is_datagram = matches!(key.protocol, UDP | ICMP | ICMP6) && !packet.later_fragment;
        if is_datagram && !recognition.is_without_prefixes[usize::from(key.v6)] {
            hasher.write_u32(prefix.unwrap_or_default());
        }
        let mut tsval = None;
        if let Some(tcp) = tcp {
            hasher.write_u64(u64::from(tcp.seq) << 32 | u64::from(tcp.ack));
            hasher.write_u32(u32::from(tcp.flags) << 16 | u32::from(packet.window));
            // A retransmission has a new timestamp, even if its host gives it no new identification.
            if let Some(stamps) = transport.get(TCP_HEADER..TCP_HEADER + STAMPS)
                && stamps.starts_with(&TIMESTAMPS)
            {
                if recognition.is_without_stamps {
                    prefix = Some(hashing.hash_one(stamps) as u32);
                } else {
                    hasher.write(&stamps[4..]);
                }
                tsval = Some(u32::from_be_bytes([
                    stamps[4], stamps[5], stamps[6], stamps[7],
                ]));
            }
        }
        let has_room = tcp.is_some() && usize::from(packet.options.bytes) >= STAMPS;
        let lacks = if has_room && transport.len() < TCP_HEADER + STAMPS {
            Some(Lacking::Stamp)
        } else {
            (is_datagram && prefix.is_none()).then_some(Lacking::Prefix)
        };
        Some(Self {
            time,
            number,
            key: hasher.finish(),
            prefix,
            direction: connection ^ if packet.from_high { Self::OPPOSITE } else { 0 },
            source: source.0,
            destination: destination.0,
            source_port: source.1,
            destination_port: destination.1,
            protocol: key.protocol,
            v6: key.v6,
            ident: packet.ident,
            ip_bytes: packet.ip_bytes,
            payload: packet.payload,
            is_fragment: packet.fragment,
            tcp,
            tsval,
            lacks,
        })
    }

    /// Returns the hash of its connection in the opposite direction.
    pub(crate) fn opposite(&self) -> u64 {
        self.direction ^ Self::OPPOSITE
    }

    /// Returns whether it is a TCP segment with payload.
    pub(crate) fn is_data(&self) -> bool {
        self.tcp.is_some() && self.payload > 0
    }

    /// Returns whether it may be the same packet as `other`, whose key is the same.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        match (self.prefix, other.prefix) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        }
    }
}

/// Returns a hash of the first bytes of a datagram's content; none if not all of them were captured.
fn prefix(transport: &[u8], packet: &Packet, hashing: &RandomState) -> Option<u32> {
    let (header, carried) = match packet.key.protocol {
        UDP => (UDP_HEADER, packet.payload as usize),
        // Excludes the padding of a short frame, which only one of the captures has.
        ICMP | ICMP6 => {
            let message = packet.ip_bytes.saturating_sub(packet.key.ip_header());
            (0, message as usize)
        }
        _ => (0, PREFIX),
    };
    let bytes = transport.get(header..header + carried.min(PREFIX))?;
    Some(hashing.hash_one(bytes) as u32)
}
