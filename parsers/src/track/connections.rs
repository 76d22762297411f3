//! Packets to connections: who talks with whom, where one connection ends and the next begins, who initiated.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::arena::Arena;
use super::index::Index;
use super::throughput::Throughput;
use crate::chunk::Chunk;
use crate::decode::{Key, flag};
use crate::memory::prefetch;
use crate::segment::{Owner, Part, Segment, since};

/// No connection: the packet belongs to none.
pub(crate) const NONE: u32 = u32::MAX;
/// Packets between one step of asking for memory and the next.
const AHEAD: usize = 16;
/// Connections that stay in the cache while a chunk is read.
const CACHED: u32 = 1024;
/// How long a fragment may come after the first one of its packet, RFC 8200 4.5.
const REASSEMBLY_NS: i64 = 60_000_000_000;
/// First fragments that are remembered at most.
const MOST_FRAGMENTED: usize = 1 << 16;

/// One connection: the packets of one key from one initial sequence number, or without a long pause. Fills one
/// cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Connection {
    low: u128,
    high: u128,
    /// Time of the latest packet, for the idle timeout.
    latest: i64,
    /// Initial sequence number of each side, or the number before the first octet seen.
    bases: [u32; 2],
    /// Where each side's bytes are counted over time; [`NONE`] before its first packet.
    lanes: [u32; 2],
    low_port: u16,
    high_port: u16,
    /// Outermost VLAN id of the first packet.
    pub vlan: u16,
    protocol: u8,
    bits: u8,
}

const V6: u8 = 1;
/// The first packet came from the higher endpoint.
const FIRST_HIGH: u8 = 2;
/// A SYN or SYN-ACK told who initiated, ...
const TOLD: u8 = 4;
/// ... and it was the higher endpoint.
const TOLD_HIGH: u8 = 8;
/// A SYN, with or without ACK, was captured.
const SYN: u8 = 16;
const RESET: u8 = 32;
/// `bases[0]` holds; shifted by one: `bases[1]`.
const BASE: u8 = 64;

impl Connection {
    pub(crate) fn key(&self) -> Key {
        Key {
            low: self.low,
            high: self.high,
            low_port: self.low_port,
            high_port: self.high_port,
            protocol: self.protocol,
            v6: self.has(V6),
        }
    }

    #[inline]
    fn is(&self, key: &Key) -> bool {
        self.key() == *key
    }

    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// Whether the initiator is the key's higher endpoint.
    pub(crate) fn forward_from_high(&self) -> bool {
        self.has(if self.has(TOLD) {
            TOLD_HIGH
        } else {
            FIRST_HIGH
        })
    }

    /// A SYN, with or without ACK, was captured.
    pub(crate) fn syn_seen(&self) -> bool {
        self.has(SYN)
    }

    /// A RST was captured.
    pub(crate) fn reset(&self) -> bool {
        self.has(RESET)
    }

    /// Whether `segment` begins another connection between these endpoints: a SYN with another initial
    /// sequence number, or the end of a long silence where there are none.
    #[inline]
    fn ended_before(&self, segment: &Segment, idle_ns: i64) -> bool {
        if segment.tcp() {
            if segment.flags() & (flag::SYN | flag::ACK) != flag::SYN {
                return false;
            }
            let side = usize::from(segment.is_from_high());
            return self.has(BASE << side) && self.bases[side] != segment.seq;
        }
        self.protocol != 6 && since(segment.time, self.latest) > idle_ns
    }

    /// Keeps what `segment` says; whether that turned the direction.
    #[inline]
    fn note(&mut self, segment: &Segment) -> bool {
        self.latest = self.latest.max(segment.time);
        if !segment.tcp() {
            return false;
        }
        let side = usize::from(segment.is_from_high());
        if !self.has(BASE << side) {
            self.bits |= BASE << side;
            self.bases[side] = segment.seq.wrapping_sub(u32::from(!segment.has(flag::SYN)));
        }
        if !segment.has(flag::SYN | flag::RST) {
            return false;
        }
        let forward = self.forward_from_high();
        self.note_ends(segment);
        forward != self.forward_from_high()
    }

    /// Takes in a packet; whether that turned the direction.
    #[inline]
    fn take(&mut self, segment: &Segment, throughput: &mut Throughput) -> bool {
        let turned = self.note(segment);
        let side = usize::from(segment.is_from_high());
        if self.lanes[side] == NONE {
            self.lanes[side] = throughput.lane(&self.key(), side);
        }
        throughput.count(self.lanes[side], segment);
        turned
    }

    fn note_ends(&mut self, segment: &Segment) {
        if segment.has(flag::RST) {
            self.bits |= RESET;
        }
        if !segment.has(flag::SYN) {
            return;
        }
        self.bits |= SYN;
        if !self.has(TOLD) {
            let answer = segment.has(flag::ACK);
            self.bits |= TOLD;
            if segment.is_from_high() != answer {
                self.bits |= TOLD_HIGH;
            }
        }
    }
}

/// The fragment that carried the ports.
#[derive(Debug, Clone, Copy)]
struct First {
    connection: u32,
    time: i64,
    from_high: bool,
}

impl First {
    fn is_recent(&self, time: i64) -> bool {
        time.abs_diff(self.time) <= REASSEMBLY_NS as u64
    }
}

/// All connections, in order of their first packet.
pub(crate) struct Connections {
    hashing: RandomState,
    index: Index,
    list: Arena<Connection>,
    pub throughput: Throughput,
    /// The connection that was looked up last, unless a fragment came since.
    last: u32,
    /// The connection of the last packet of each slot.
    slots: [u32; 256],
    /// Silence after which a flow that is not TCP ends.
    idle_ns: i64,
    /// First fragments.
    fragmented: HashMap<u64, First, RandomState>,
    /// Connections that turned out to be initiated by the other side after a chunk of theirs was handed on.
    pub turned: Vec<u32>,
    /// The same, known from an earlier pass.
    known: HashSet<u32>,
}

impl Connections {
    pub(crate) fn new(bin_ns: i64, idle_ns: i64, known: HashSet<u32>) -> Self {
        let hashing = RandomState::default();
        Self {
            index: Index::new(),
            list: Arena::new(),
            throughput: Throughput::new(bin_ns),
            last: NONE,
            slots: [NONE; 256],
            idle_ns,
            fragmented: HashMap::with_hasher(hashing.clone()),
            hashing,
            turned: Vec::new(),
            known,
        }
    }

    /// An empty chunk whose hashes are of use here.
    pub(crate) fn chunk(&self, with_places: bool) -> Chunk {
        Chunk::new(self.hashing.clone(), with_places)
    }

    /// Writes the connection of each packet of `chunk`, or [`NONE`], to `numbers`.
    pub(crate) fn assign(&mut self, chunk: &mut Chunk, numbers: &mut Vec<u32>) {
        numbers.clear();
        let before = self.list.len() as u32;
        let (owners, segments) = chunk.columns();
        let out_of_cache = before > CACHED;
        for (position, (owner, segment)) in owners.iter().zip(segments).enumerate() {
            if out_of_cache {
                self.look_ahead(owners, position);
            }
            numbers.push(if owner.part == Part::None {
                NONE
            } else {
                self.number(owner, segment, before)
            });
        }
    }

    /// Asks for the memory that packets behind `position` will use.
    #[inline]
    fn look_ahead(&self, owners: &[Owner], position: usize) {
        if let Some(owner) = owners.get(position + 2 * AHEAD)
            && owner.part != Part::Again
        {
            self.index.prefetch(owner.hash);
        }
        if let Some(owner) = owners.get(position + AHEAD)
            && owner.part != Part::Again
            && let Some(number) = self.index.first(owner.hash)
            && let Some(connection) = self.list.get(number)
        {
            prefetch(connection);
        }
    }

    #[inline]
    fn number(&mut self, owner: &Owner, segment: &mut Segment, before: u32) -> u32 {
        let number = if owner.part == Part::Again {
            self.slots[usize::from(owner.slot)]
        } else {
            self.look_up(owner, segment)
        };
        if let Some(connection) = self.list.get_mut(number)
            && connection.take(segment, &mut self.throughput)
            && number < before
        {
            self.turned.push(number);
        }
        number
    }

    #[inline(never)]
    fn look_up(&mut self, owner: &Owner, segment: &mut Segment) -> u32 {
        if matches!(owner.part, Part::FirstFragment | Part::LaterFragment) {
            // It may have begun another one between the same endpoints.
            self.last = NONE;
            return self.of_fragment(owner, segment);
        }
        // Packets come in bursts.
        let last = self.list.get(self.last);
        if !last.is_some_and(|it| it.is(&owner.key) && !it.ended_before(segment, self.idle_ns)) {
            self.last = self.find_or_add(&owner.key, owner.hash, owner.vlan, segment);
        }
        self.slots[usize::from(owner.slot)] = self.last;
        self.last
    }

    #[inline]
    fn find_or_add(&mut self, key: &Key, hash: u64, vlan: u16, segment: &Segment) -> u32 {
        let list = &self.list;
        let found = self
            .index
            .find(hash, |number| list.get(number).is_some_and(|it| it.is(key)));
        if let Some(number) = found
            && let Some(connection) = list.get(number)
            && !connection.ended_before(segment, self.idle_ns)
        {
            return number;
        }
        self.add(key, hash, vlan, segment, found)
    }

    fn add(&mut self, key: &Key, hash: u64, vlan: u16, segment: &Segment, old: Option<u32>) -> u32 {
        let turned = !self.known.is_empty() && self.known.contains(&(self.list.len() as u32));
        let mut bits = if key.v6 { V6 } else { 0 };
        if segment.is_from_high() != turned {
            bits |= FIRST_HIGH;
        }
        let number = self.list.push(Connection {
            low: key.low,
            high: key.high,
            latest: segment.time,
            bases: [0; 2],
            lanes: [NONE; 2],
            low_port: key.low_port,
            high_port: key.high_port,
            vlan,
            protocol: key.protocol,
            bits,
        });
        if let Some(old) = old {
            self.index.replace(hash, old, number);
        } else {
            let (list, hashing) = (&self.list, &self.hashing);
            self.index.insert(hash, number, |number| {
                list.get(number).map_or(0, |it| it.key().hash(hashing))
            });
        }
        number
    }

    /// A later fragment goes to the connection of the first one; where that was not captured before it, to a
    /// flow of fragments between the two addresses.
    #[cold]
    fn of_fragment(&mut self, owner: &Owner, segment: &mut Segment) -> u32 {
        let datagram = owner.hash;
        if owner.part == Part::LaterFragment
            && let Some(first) = self.fragmented.get(&datagram)
            && first.is_recent(segment.time)
        {
            // Without ports the two ends of a host that talks to itself cannot be told apart.
            segment.set_from_high(first.from_high);
            return first.connection;
        }
        let hash = owner.key.hash(&self.hashing);
        let number = self.find_or_add(&owner.key, hash, owner.vlan, segment);
        if owner.part == Part::FirstFragment {
            if self.fragmented.len() >= MOST_FRAGMENTED {
                self.fragmented
                    .retain(|_, first| first.is_recent(segment.time));
            }
            if self.fragmented.len() >= MOST_FRAGMENTED {
                self.fragmented.clear();
            }
            let first = First {
                connection: number,
                time: segment.time,
                from_high: segment.is_from_high(),
            };
            self.fragmented.insert(datagram, first);
        }
        number
    }

    /// Connections in order of their first packet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.list.iter()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Connection> {
        self.list.get(number)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}
