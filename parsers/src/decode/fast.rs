//! The fast path to a segment for the most frequent kind of packet.

use foldhash::fast::RandomState;

use crate::decode::lengths::LONGEST_TRAILER;
use crate::decode::notice::Notice;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Key, NO_VLAN, TCP, flag};
use crate::records::Record;

/// Bits of the IPv4 header, RFC 791 3.1: more fragments follow, or this is not the first.
const FRAGMENTED: u16 = 0x3fff;
/// Remembered connections: enough that most connections of a busy moment have slots of their own.
const SLOTS: usize = 64;
/// Bytes before the IP header.
const IN_FRONT: u32 = 14;
/// Not a pair of endpoints: those take 96 bits.
const NOBODY: u128 = u128::MAX;

/// Connections of the latest [`plain`] packets; most packets that follow belong to them.
#[derive(Debug)]
pub(crate) struct Recent {
    /// If the previous packet was plain: the part of its headers that others of its side share, ...
    before: Option<Common>,
    /// ... its direction and its slot.
    from_high: bool,
    slot: u8,
    /// The lower and the higher endpoint.
    slots: [u128; SLOTS],
}

/// The header fields that do not change from packet to packet, as they are in the file.
#[derive(Debug, Clone, Copy, Default)]
struct Common {
    /// Ethernet type, version and length, DSCP.
    kind: [u8; 4],
    /// Fragment bits, TTL, protocol.
    whole: [u8; 4],
    /// Addresses and ports.
    ends: [u8; 12],
}

impl Common {
    #[inline]
    fn take(head: &[u8; 54]) -> Self {
        let mut common = Self::default();
        common.kind.copy_from_slice(&head[12..16]);
        common.whole.copy_from_slice(&head[20..24]);
        common.ends.copy_from_slice(&head[26..38]);
        common
    }

    #[inline]
    fn is_of(self, head: &[u8; 54]) -> bool {
        head[26..38] == self.ends && head[12..16] == self.kind && head[20..24] == self.whole
    }
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self {
            before: None,
            from_high: false,
            slot: 0,
            slots: [NOBODY; SLOTS],
        }
    }

    /// Notes that a packet was not plain.
    #[inline]
    pub(crate) fn interrupted(&mut self) {
        self.before = None;
    }

    /// Forgets the latest packet's connection, so that its next packet gets a complete owner.
    #[inline]
    pub(crate) fn forget_latest(&mut self) {
        self.before = None;
        self.slots[usize::from(self.slot)] = NOBODY;
    }

    /// Forgets the connection of `key`: a packet may have begun another one between these endpoints.
    pub(crate) fn forget(&mut self, key: &Key) {
        if key.v6 {
            return;
        }
        let low = endpoint(key.low as u32, key.low_port);
        let high = endpoint(key.high as u32, key.high_port);
        let slot = slot(low, high);
        if self.slots[slot] == both(low, high) {
            self.slots[slot] = NOBODY;
        }
    }
}

/// Returns the slot of a connection; connections that collide only take longer.
#[inline]
fn slot(low: u64, high: u64) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 divided by the golden ratio: spreads neighbours
    ((low ^ high.rotate_left(32)).wrapping_mul(FACTOR) >> 58) as usize % SLOTS
}

#[inline]
fn both(low: u64, high: u64) -> u128 {
    u128::from(low) << 48 | u128::from(high)
}

/// Decodes the most frequent packet without walking over its layers: Ethernet, IPv4 without options and fragments, TCP
/// with no options but timestamps. The result is that of [`crate::decode::decode`], in a third of its time; for a
/// remembered connection only the fields that change are read.
#[inline]
pub(crate) fn plain(
    record: &Record,
    window: &[u8],
    hashing: &RandomState,
    recent: &mut Recent,
    notice: &mut Notice,
    (owner, segment): (&mut Owner, &mut Segment),
) -> bool {
    let begin = record.data as usize;
    let Some(bytes) = window.get(begin..begin + record.captured as usize) else {
        return false;
    };
    let Some(head) = bytes.first_chunk::<54>() else {
        return false;
    };
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let same = recent.before.is_some_and(|before| before.is_of(head));
    let usual = same
        || half(12) == 0x0800 && head[14] == 0x45 && half(20) & FRAGMENTED == 0 && head[23] == 6;
    let options = match head[46] >> 4 {
        5 => 0,
        8 if bytes.len() >= 66 && bytes[54..58] == [1, 1, 8, 10] => 12,
        _ => return false,
    };
    let ip_bytes = u32::from(half(16));
    // Contradictory lengths and long trailers are left to the general path.
    if record.wire.wrapping_sub(IN_FRONT + ip_bytes) > LONGEST_TRAILER
        || record.captured > record.wire
    {
        return false;
    }
    if !usual || ip_bytes < 40 + options {
        return false;
    }
    let flags = half(46) & 0xfff;
    notice.frame(head, record.time);
    let mut again = same;
    if !same {
        let (source, destination) = (endpoint(word(26), half(34)), endpoint(word(30), half(36)));
        let (low, high) = (source.min(destination), source.max(destination));
        let slot = slot(low, high);
        recent.before = Some(Common::take(head));
        recent.from_high = source > destination;
        recent.slot = slot as u8;
        again = recent.slots[slot] == both(low, high);
        recent.slots[slot] = both(low, high);
    }
    if again && flags & flag::SYN == 0 {
        let run = same && flags & flag::RST == 0;
        owner.kind = if run {
            OwnerKind::Run
        } else {
            OwnerKind::Again
        };
        owner.slot = recent.slot;
    } else {
        whole(head, recent, hashing, owner);
    }
    *segment = Segment::plain(record.time, flags, recent.from_high, options > 0);
    segment.wire = record.wire;
    segment.set_ip(ip_bytes, head[15] & 3);
    segment.payload = ip_bytes - 40 - options;
    segment.seq = word(38);
    segment.ack = word(42);
    segment.window = half(48);
    true
}

/// Returns whether a host sends a [`plain`] packet to itself.
pub(crate) fn is_local(frame: &[u8]) -> bool {
    let Some(ends) = frame.get(26..34).and_then(<[u8]>::first_chunk::<8>) else {
        return false;
    };
    let ends = u64::from_be_bytes(*ends);
    let end = |address: u64| (address.into(), 0);
    Key::new(end(ends >> 32), end(ends & 0xffff_ffff), TCP, false)
        .0
        .is_local()
}

#[inline]
fn endpoint(address: u32, port: u16) -> u64 {
    u64::from(address) << 16 | u64::from(port)
}

/// Writes the owner of a packet whose connection must be looked up. It is written in place: a copy would read it in
/// wider pieces than it was written in, and stall until all of them are stored.
#[inline(never)]
fn whole(head: &[u8; 54], recent: &Recent, hashing: &RandomState, owner: &mut Owner) {
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let [low, high] = if recent.from_high {
        [(30, 36), (26, 34)]
    } else {
        [(26, 34), (30, 36)]
    };
    let key = &mut owner.key;
    *key = Key {
        low: u128::from(word(low.0)),
        high: u128::from(word(high.0)),
        low_port: half(low.1),
        high_port: half(high.1),
        protocol: 6,
        v6: false,
        life: 0,
        network: 0,
    };
    owner.hash = key.hash(hashing);
    owner.vlan = NO_VLAN;
    owner.kind = OwnerKind::Whole;
    owner.slot = recent.slot;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::links::{ETHERNET, Link};
    use crate::decode::{Outcome, Packet, decode};

    /// Generates changes between frames: the other direction, another port, a SYN, another length of the TCP header,
    /// and for one frame only another byte of the headers before the addresses.
    fn change() -> impl Strategy<Value = (bool, u8, bool, bool, Option<usize>)> {
        (
            any::<bool>(),
            prop_oneof![2 => Just(0_u8), 1 => any::<u8>()],
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
            prop::option::weighted(0.2, 12_usize..26),
        )
    }

    #[test]
    fn nothing_is_like_the_packet_before_the_first() {
        for byte in 0..=u8::MAX {
            let mut frame = [byte; 54];
            frame[16..18].copy_from_slice(&[0, 40]);
            frame[46] = 0x50;
            let record = Record::whole(54, 0);
            let slot = (&mut Owner::default(), &mut Segment::default());
            assert!(!plain(
                &record,
                &frame,
                &RandomState::default(),
                &mut Recent::new(),
                &mut Notice::new(true, false),
                slot
            ));
        }
    }

    proptest! {
        #[test]
        fn the_short_way_decodes_as_the_long_one(
            mut frame in prop::collection::vec(any::<u8>(), 54..90),
            length in 30_u16..120,
            wire in prop_oneof![2 => Just(None), 1 => any::<u32>().prop_map(Some), 1 => (0..300_u32).prop_map(Some)],
            offset in prop::sample::select(vec![0x50_u8, 0x80, 0x40, 0x60]),
            stamps in any::<bool>(),
            changes in prop::collection::vec(change(), 1..200),
        ) {
            frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            frame[16..18].copy_from_slice(&length.to_be_bytes());
            (frame[20], frame[21], frame[23]) = (0, 0, 6);
            if stamps && frame.len() >= 58 {
                frame[54..58].copy_from_slice(&[1, 1, 8, 10]);
            }
            let captured = frame.len() as u32;
            let wire = wire.unwrap_or(captured.max(14 + u32::from(length)));
            let record = Record { time: 7, is_timed: true, is_outgoing: false, wire, captured, interface: 0, at: 0, data: 0 };
            let (mut owner, mut segment) = (Owner::default(), Segment::default());
            let hashing = RandomState::default();
            let mut recent = Recent::new();
            let mut notice = Notice::new(true, false);
            // For each slot the key of its connection, and the number of earlier SYNs of that key.
            let mut slots = [None; 256];
            let mut syns = std::collections::HashMap::new();
            // Connection and direction of the previous packet, if it was plain.
            let mut before = None;
            let mut spoilt_before = false;
            for (turn, other, syn, odd, spoilt) in changes {
                if turn {
                    let (source, destination) = frame[26..34].split_at_mut(4);
                    source.swap_with_slice(destination);
                    frame.swap(34, 36);
                    frame.swap(35, 37);
                }
                frame[35] ^= other;
                frame[47] = frame[47] & !2 | u8::from(syn) << 1;
                frame[46] = frame[46] & 15 | if odd { 0x60 } else { offset };
                let mut frame = frame.clone();
                if let Some(at) = spoilt {
                    frame[at] ^= 0x11;
                }
                let mut packet = Packet::default();
                decode(&record, Link::find(ETHERNET), &frame, false, &mut packet);
                let key = format!("{:?}", packet.key);
                let begins = packet.tcp && syn;
                *syns.entry(key.clone()).or_insert(0) += u32::from(begins);
                let connection = (packet.key, syns[&key]);
                let slot = (&mut owner, &mut segment);
                if !plain(&record, &frame, &hashing, &mut recent, &mut notice, slot) {
                    recent.interrupted();
                    before = None;
                    if begins {
                        recent.forget(&packet.key);
                    }
                    continue;
                }
                let this = Some((connection, packet.from_high));
                if matches!(owner.kind, OwnerKind::Again | OwnerKind::Run) {
                    prop_assert!(!syn);
                    prop_assert_eq!(slots[usize::from(owner.slot)], Some(connection));
                    let reset = packet.tcp_flags & flag::RST != 0;
                    // A header with another DSCP or TTL does not match the previous one.
                    prop_assert!(owner.kind == OwnerKind::Again || this == before && !reset);
                    prop_assert!(owner.kind == OwnerKind::Run || spoilt.is_some() || spoilt_before || this != before || reset);
                } else {
                    prop_assert_eq!(owner.kind, OwnerKind::Whole);
                    prop_assert_eq!(owner.key, packet.key);
                    prop_assert_eq!(owner.hash, packet.key.hash(&hashing));
                    slots[usize::from(owner.slot)] = Some(connection);
                }
                before = this;
                spoilt_before = spoilt.is_some();
                prop_assert_eq!(Segment::new(&record, &packet), segment);
                prop_assert!(packet.outcome == Outcome::Flow && !packet.fragment && !packet.length_conflict);
                prop_assert!(packet.tunnels == 0 && packet.vlan == NO_VLAN && !packet.offloaded);
            }
        }
    }
}
