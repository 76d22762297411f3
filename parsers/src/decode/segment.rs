//! The fields of a decoded packet that the later stages need.

use foldhash::fast::RandomState;

#[cfg(doc)]
use crate::decode::ecn;
use crate::decode::{Key, Outcome, Packet, Part, flag};
use crate::records::Record;

/// How a packet belongs to its flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OwnerKind {
    /// The packet belongs to no flow.
    #[default]
    None,
    Whole,
    /// Whole, but its receiver does not accept it.
    Refused,
    /// Whole, without SYN, and in the connection of the last packet with the same slot: key and hash are not written.
    Again,
    /// The same, without RST, and from the side that sent the previous packet.
    Run,
    FirstFragment,
    /// The ports are in another packet.
    LaterFragment,
}

/// Marks that no slot is used.
pub(crate) const NO_SLOT: u8 = u8::MAX;

/// The connection and direction that a packet belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner {
    pub key: Key,
    pub vlan: u16,
    pub kind: OwnerKind,
    /// The slot that remembers the connection for [`OwnerKind::Again`] and [`OwnerKind::Run`]; [`NO_SLOT`] if none
    /// does.
    pub slot: u8,
    /// Hash of the key; for a fragment, the hash that identifies its packet.
    pub hash: u64,
    /// The place of a fragment in its packet.
    pub part: Part,
}

impl Owner {
    pub(crate) fn new(packet: &Packet, hashing: &RandomState) -> Self {
        Self {
            key: packet.key,
            vlan: packet.vlan,
            kind: if packet.outcome != Outcome::Flow {
                OwnerKind::None
            } else if packet.later_fragment {
                OwnerKind::LaterFragment
            } else if packet.fragment {
                OwnerKind::FirstFragment
            } else {
                OwnerKind::Whole
            },
            slot: NO_SLOT,
            hash: if packet.fragment {
                packet.datagram
            } else {
                packet.key.hash(hashing)
            },
            part: packet.part,
        }
    }
}

/// The fields of a packet that are counted. TCP fields are valid if [`Segment::tcp`] is true. Two segments fit into a
/// cache line, because accesses are scattered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(crate) struct Segment {
    pub time: i64,
    pub wire: u32,
    /// Length of the IP packet, [`ELSEWHERE`], [`UNTIMED`], [`OUTGOING`], and above them the ECN bits.
    ip: u32,
    pub payload: u32,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// The 12 flag bits of the header, and the four constants below.
    bits: u16,
}

/// Position of the ECN bits above the length of the packet, which stays below half a gigabyte.
const ECN: u32 = 30;
/// The file states that the capturing host sent it.
const OUTGOING: u32 = 1 << 29;
/// The file states no time for it: the time is that of another packet.
const UNTIMED: u32 = 1 << 28;
/// It was first seen at a different place than the other packets of its connection.
const ELSEWHERE: u32 = 1 << 27;
const FLAGS: u16 = 0xfff;
const TCP: u16 = 1 << 15;
const FROM_HIGH: u16 = 1 << 14;
/// The options have [`STAMPED_BYTES`] bytes and no value that is counted: timestamps.
const STAMPED: u16 = 1 << 13;
/// Other options: they are in the chunk's list.
const LISTED: u16 = 1 << 12;
/// The usual length of timestamps, RFC 7323 A.
const STAMPED_BYTES: u8 = 12;

impl Segment {
    #[inline]
    pub(crate) fn new(record: &Record, packet: &Packet) -> Self {
        let mut segment = Self {
            time: record.time,
            wire: packet.wire,
            payload: packet.payload,
            bits: if packet.from_high { FROM_HIGH } else { 0 },
            ..Self::default()
        };
        segment.set_ip(packet.ip_bytes, packet.ecn);
        segment.ip |= if record.is_timed { 0 } else { UNTIMED };
        segment.set_outgoing(record.is_outgoing || packet.is_outgoing);
        if packet.tcp {
            segment.seq = packet.seq;
            segment.ack = packet.ack;
            segment.window = packet.window;
            segment.bits |= TCP | packet.tcp_flags & FLAGS;
            segment.bits |= match packet.options.bytes {
                // Leaves it to the general path, which handles such times.
                _ if !record.is_timed => LISTED,
                0 => 0,
                STAMPED_BYTES if !packet.options.tell() => STAMPED,
                _ => LISTED,
            };
        }
        segment
    }

    /// Returns a TCP segment with timestamps or no options; the caller sets numbers, window and lengths.
    #[inline]
    pub(crate) fn plain(time: i64, flags: u16, from_high: bool, stamped: bool) -> Self {
        let from_high = if from_high { FROM_HIGH } else { 0 };
        Self {
            time,
            bits: flags | TCP | from_high | if stamped { STAMPED } else { 0 },
            ..Self::default()
        }
    }

    /// Sets the length of the IP packet, and its ECN bits.
    #[inline]
    pub(crate) fn set_ip(&mut self, bytes: u32, ecn: u8) {
        self.ip = bytes.min(ELSEWHERE - 1) | u32::from(ecn) << ECN;
    }

    #[inline]
    pub(crate) fn ip_bytes(&self) -> u32 {
        self.ip & (ELSEWHERE - 1)
    }

    /// Notes whether the file states that the capturing host sent it.
    #[inline]
    pub(crate) fn set_outgoing(&mut self, is_outgoing: bool) {
        self.ip |= if is_outgoing { OUTGOING } else { 0 };
    }

    #[inline]
    pub(crate) fn is_outgoing(&self) -> bool {
        self.ip & OUTGOING != 0
    }

    /// Returns whether the file states its time, and the time is comparable with those of the other packets of its
    /// connection.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.ip & (UNTIMED | ELSEWHERE) == 0
    }

    /// Returns whether it was first seen at a different place than the other packets of its connection.
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.ip & ELSEWHERE != 0
    }

    /// Marks a TCP segment as first seen at a different place.
    pub(crate) fn set_elsewhere(&mut self) {
        self.ip |= ELSEWHERE;
        // Leaves it to the general path, which handles such times.
        self.bits |= LISTED;
    }

    /// Returns one of the values of [`ecn`].
    #[inline]
    pub(crate) fn ecn(&self) -> u8 {
        (self.ip >> ECN) as u8
    }

    /// Returns whether it has ECN bits or flags, or is marked as outgoing.
    #[inline]
    pub(crate) fn tells_of_marks(&self) -> bool {
        // Only TCP segments have these flags set.
        self.ip >> OUTGOING.trailing_zeros()
            | u32::from(self.bits & (flag::ECE | flag::CWR | flag::AE))
            != 0
    }

    #[inline]
    pub(crate) fn tcp(&self) -> bool {
        self.bits & TCP != 0
    }

    /// Returns whether its TCP options are in the chunk's list.
    #[inline]
    pub(crate) fn lists_options(&self) -> bool {
        self.bits & LISTED != 0
    }

    /// Returns the length of TCP options that are not listed.
    #[inline]
    pub(crate) fn options_bytes(&self) -> u8 {
        if self.bits & STAMPED != 0 {
            STAMPED_BYTES
        } else {
            0
        }
    }

    /// Returns whether it is TCP with ACK, and without SYN, FIN, RST and listed options.
    #[inline]
    pub(crate) fn only_acknowledges(&self) -> bool {
        const LOOKED_AT: u16 = TCP | LISTED | flag::ACK | flag::SYN | flag::FIN | flag::RST;
        self.bits & LOOKED_AT == TCP | flag::ACK
    }

    /// Returns whether it is TCP that begins at `seq` and has the payload length, flags, acknowledgement and window of
    /// `before`, the last segment of the same side.
    #[inline]
    pub(crate) fn goes_on(&self, before: &Self, seq: u32) -> bool {
        self.seq == seq
            && self.is_like(before)
            && self.ack == before.ack
            && self.window == before.window
    }

    /// Returns whether payload length and flags are those of `before`.
    #[inline]
    pub(crate) fn is_like(&self, before: &Self) -> bool {
        self.payload == before.payload && self.bits == before.bits
    }

    /// Returns whether the source is the key's higher endpoint.
    #[inline]
    pub(crate) fn is_from_high(&self) -> bool {
        self.bits & FROM_HIGH != 0
    }

    /// Gives a later fragment the direction of the first one; unless that is TCP, its payload is already counted.
    /// Without ports the two endpoints of a host that talks to itself cannot be distinguished.
    pub(crate) fn join_fragment(&mut self, tcp: bool, from_high: bool) {
        if !tcp {
            self.payload = 0;
        }
        self.set_from_high(from_high);
    }

    pub(crate) fn set_from_high(&mut self, from_high: bool) {
        self.bits = self.bits & !FROM_HIGH | if from_high { FROM_HIGH } else { 0 };
    }

    /// Returns the header's 12 flag bits.
    #[inline]
    pub(crate) fn flags(&self) -> u16 {
        self.bits & FLAGS
    }

    #[inline]
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.bits & flags != 0
    }

    /// Returns the acknowledgement number, if the packet has one.
    pub(crate) fn acknowledgement(&self) -> Option<u32> {
        (self.tcp() && self.has(flag::ACK)).then_some(self.ack)
    }
}

/// Returns the nanoseconds between two times of a capture; wraps around if they are more than 292 years apart.
#[inline]
pub(crate) fn since(later: i64, earlier: i64) -> i64 {
    later.wrapping_sub(earlier)
}
