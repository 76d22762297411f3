//! What the later stages need of a decoded packet, and the short way to it for the most frequent kind.

use foldhash::fast::RandomState;

use crate::decode::{Key, NO_VLAN, Outcome, Packet, flag};
use crate::records::Record;

/// How a packet belongs to its flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// It belongs to none: nothing else is known of its owner.
    #[default]
    None,
    Whole,
    /// Whole, without SYN, and from and to where the packet before it in the chunk is: key and hash are not written.
    Again,
    FirstFragment,
    /// The ports are in another packet.
    LaterFragment,
}

/// Whose packet it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner {
    pub key: Key,
    pub vlan: u16,
    pub part: Part,
    /// Hash of the key; of a fragment, which packet it is a part of.
    pub hash: u64,
}

impl Owner {
    pub(crate) fn new(packet: &Packet, hashing: &RandomState) -> Self {
        Self {
            key: packet.key,
            vlan: packet.vlan,
            part: if packet.outcome != Outcome::Flow {
                Part::None
            } else if packet.later_fragment {
                Part::LaterFragment
            } else if packet.fragment {
                Part::FirstFragment
            } else {
                Part::Whole
            },
            hash: if packet.fragment {
                packet.datagram
            } else {
                packet.key.hash(hashing)
            },
        }
    }
}

/// What is counted of a packet. TCP fields hold where [`Segment::tcp`] does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub time: i64,
    pub wire: u32,
    pub ip_bytes: u32,
    pub payload: u32,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// The 12 bits of the header, and [`TCP`] and [`FROM_HIGH`].
    bits: u16,
    pub mss: u16,
    /// Window shift, or [`NONE`].
    shift: u8,
    /// Length of the TCP options.
    pub options: u8,
    /// Blocks in the chunk's list of SACKs.
    pub sacks: u8,
    pub sack_permitted: bool,
    pub has_mss: bool,
}

/// More fragments follow, or this is not the first: bits of the IPv4 header, RFC 791 3.1.
const FRAGMENTED: u16 = 0x3fff;
const TCP: u16 = 1 << 15;
const FROM_HIGH: u16 = 1 << 14;
const SACK: u16 = 1 << 13;
const NONE: u8 = u8::MAX;

impl Segment {
    #[inline]
    pub(crate) fn new(record: &Record, packet: &Packet) -> Self {
        let mut segment = Self {
            time: record.time,
            wire: record.wire,
            ip_bytes: packet.ip_bytes,
            payload: packet.payload,
            bits: if packet.from_high { FROM_HIGH } else { 0 },
            ..Self::default()
        };
        if packet.tcp {
            segment.seq = packet.seq;
            segment.ack = packet.ack;
            segment.window = packet.window;
            segment.bits |= TCP | packet.tcp_flags;
            if packet.options.sack_count > 0 {
                segment.bits |= SACK;
            }
            segment.options = packet.options_bytes;
            let options = &packet.options;
            segment.mss = options.mss.unwrap_or(0);
            segment.has_mss = options.mss.is_some();
            segment.shift = options.window_scale.unwrap_or(NONE);
            segment.sack_permitted = options.sack_permitted;
            segment.sacks = options.sack_count;
        }
        segment
    }

    #[inline]
    pub(crate) fn tcp(&self) -> bool {
        self.bits & TCP != 0
    }

    /// TCP with ACK, and without SACK, SYN, FIN and RST.
    #[inline]
    pub(crate) fn only_acknowledges(&self) -> bool {
        const LOOKED_AT: u16 = TCP | SACK | flag::ACK | flag::SYN | flag::FIN | flag::RST;
        self.bits & LOOKED_AT == TCP | flag::ACK
    }

    /// The source is the key's higher endpoint.
    #[inline]
    pub(crate) fn is_from_high(&self) -> bool {
        self.bits & FROM_HIGH != 0
    }

    pub(crate) fn set_from_high(&mut self, from_high: bool) {
        self.bits = self.bits & !FROM_HIGH | if from_high { FROM_HIGH } else { 0 };
    }

    /// The header's 12 flag bits.
    #[inline]
    pub(crate) fn flags(&self) -> u16 {
        self.bits & 0xfff
    }

    #[inline]
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.bits & flags != 0
    }

    /// Window shift of the options.
    pub(crate) fn shift(&self) -> Option<u8> {
        (self.shift != NONE).then_some(self.shift)
    }

    /// Maximum segment size of the options.
    pub(crate) fn mss(&self) -> Option<u16> {
        self.has_mss.then_some(self.mss)
    }

    /// The acknowledgement number, where the packet has one.
    pub(crate) fn acknowledgement(&self) -> Option<u32> {
        (self.tcp() && self.has(flag::ACK)).then_some(self.ack)
    }
}

/// Nanoseconds between two times of a capture; wraps around where they are more than 292 years apart.
#[inline]
pub(crate) fn since(later: i64, earlier: i64) -> i64 {
    later.wrapping_sub(earlier)
}

/// The packet before, as far as the next [`plain`] one may share it.
#[derive(Debug)]
pub(crate) struct Before {
    /// Addresses and ports as they are in the headers; more than 96 bits where it was not a plain one.
    ends: u128,
    from_high: bool,
}

impl Before {
    pub(crate) const NONE: Self = Self {
        ends: u128::MAX,
        from_high: false,
    };
}

/// The most frequent packet, without the walk over its layers: Ethernet, IPv4 without options, whole, TCP with
/// nothing but timestamps as options. Decodes as [`decode`] would, in a third of its time; packets of one direction
/// mostly come in bursts, and of all but the first only what differs is looked at.
#[inline]
pub(crate) fn plain(
    record: &Record,
    link_type: u32,
    window: &[u8],
    hashing: &RandomState,
    before: &mut Before,
    (owner, segment): (&mut Owner, &mut Segment),
) -> bool {
    let ends_before = std::mem::replace(&mut before.ends, u128::MAX);
    let begin = record.data as usize;
    let Some(bytes) = window.get(begin..begin + record.captured as usize) else {
        return false;
    };
    let Some(head) = bytes.first_chunk::<54>() else {
        return false;
    };
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let options = match head[46] >> 4 {
        5 => 0,
        8 if bytes.len() >= 66 && bytes[54..58] == [1, 1, 8, 10] => 12,
        _ => return false,
    };
    let ip_bytes = u32::from(half(16));
    let same = link_type == 1
        && half(12) == 0x0800
        && head[14] == 0x45
        && half(20) & FRAGMENTED == 0
        && head[23] == 6
        && ip_bytes >= 40 + options;
    if !same {
        return false;
    }
    let flags = half(46) & 0xfff;
    let addresses = u64::from(word(26)) << 32 | u64::from(word(30));
    let ends = u128::from(addresses) << 32 | u128::from(word(34));
    if ends == ends_before && flags & flag::SYN == 0 {
        owner.part = Part::Again;
    } else {
        let (source, destination) = ((word(26), half(34)), (word(30), half(36)));
        before.from_high = source > destination;
        *owner = Owner {
            key: plain_key(source, destination, before.from_high),
            vlan: NO_VLAN,
            part: Part::Whole,
            hash: 0,
        };
        owner.hash = owner.key.hash(hashing);
    }
    before.ends = ends;
    *segment = Segment {
        time: record.time,
        wire: record.wire,
        ip_bytes,
        payload: ip_bytes - 40 - options,
        seq: word(38),
        ack: word(42),
        window: half(48),
        bits: flags | TCP | if before.from_high { FROM_HIGH } else { 0 },
        shift: NONE,
        options: options as u8,
        ..Segment::default()
    };
    true
}

fn plain_key(source: (u32, u16), destination: (u32, u16), from_high: bool) -> Key {
    let (low, high) = if from_high {
        (destination, source)
    } else {
        (source, destination)
    };
    Key {
        low: u128::from(low.0),
        high: u128::from(high.0),
        low_port: low.1,
        high_port: high.1,
        protocol: 6,
        v6: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::decode;

    proptest! {
        #[test]
        fn the_short_way_decodes_as_the_long_one(
            mut frame in prop::collection::vec(any::<u8>(), 54..90),
            length in 30_u16..120,
            offset in prop::sample::select(vec![0x50_u8, 0x80, 0x40, 0x60]),
            stamps in any::<bool>(),
        ) {
            frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            frame[16..18].copy_from_slice(&length.to_be_bytes());
            (frame[20], frame[21], frame[23]) = (0, 0, 6);
            frame[46] = offset | frame[46] & 15;
            if stamps && frame.len() >= 58 {
                frame[54..58].copy_from_slice(&[1, 1, 8, 10]);
            }
            let captured = frame.len() as u32;
            let record = Record { time: 7, wire: 1500, captured, interface: 0, at: 0, data: 0 };
            let (mut owner, mut segment) = (Owner::default(), Segment::default());
            let hashing = RandomState::default();
            let mut before = Before::NONE;
            let mut key = None;
            // As it is, once more, and from another port.
            for turned in [0, 0, 1] {
                frame[35] ^= turned;
                let slot = (&mut owner, &mut segment);
                if plain(&record, 1, &frame, &hashing, &mut before, slot) {
                    let mut packet = Packet::default();
                    decode(&record, 1, &frame, &mut packet);
                    let same = key == Some(packet.key) && packet.tcp_flags & flag::SYN == 0;
                    prop_assert_eq!(owner.part, if same { Part::Again } else { Part::Whole });
                    prop_assert!(same || owner.key == packet.key);
                    key = Some(packet.key);
                    prop_assert_eq!(Segment::new(&record, &packet), segment);
                    prop_assert!(packet.outcome == Outcome::Flow && !packet.fragment);
                    prop_assert!(packet.tunnels == 0 && packet.vlan == NO_VLAN && !packet.offloaded);
                }
            }
        }
    }
}
