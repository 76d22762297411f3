//! Packets to connections: finds the one of each packet, or begins it.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::arena::Arena;
use super::connection::Connection;
use super::index::Index;
use super::throughput::Throughput;
use crate::chunk::Chunk;
use crate::decode::Key;
use crate::memory::prefetch;
use crate::segment::{Owner, Part, Segment};

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

    /// Writes the connection of each packet of `chunk`, or [`NONE`], to `numbers`; how many came in runs.
    pub(crate) fn assign(&mut self, chunk: &mut Chunk, numbers: &mut Vec<u32>) -> usize {
        let before = self.list.len() as u32;
        let out_of_cache = before > CACHED;
        let (owners, segments) = chunk.columns();
        numbers.resize(owners.len(), NONE);
        let (mut position, mut ahead, mut in_runs) = (0, 0, 0);
        while let (Some(owner), Some(segment)) = (owners.get(position), segments.get_mut(position))
        {
            if out_of_cache {
                (ahead..=position).for_each(|position| self.look_ahead(owners, position));
                ahead = position + 1;
            }
            let number = if owner.part == Part::None {
                NONE
            } else {
                self.number(owner, segment, before)
            };
            numbers[position] = number;
            position += 1;
            let run = owners[position..]
                .iter()
                .take_while(|owner| owner.part == Part::Run);
            let run = position..position + run.count();
            // One alone is soon taken in.
            if run.len() > 1
                && let Some(connection) = self.list.get_mut(number)
            {
                position = run.end;
                in_runs += run.len();
                numbers[run.clone()].fill(number);
                connection.take_run(&segments[run], &mut self.throughput);
            }
        }
        in_runs
    }

    /// Asks for the memory that packets behind `position` will use.
    #[inline]
    fn look_ahead(&self, owners: &[Owner], position: usize) {
        if let Some(owner) = owners.get(position + 2 * AHEAD)
            && !matches!(owner.part, Part::Again | Part::Run)
        {
            self.index.prefetch(owner.hash);
        }
        if let Some(owner) = owners.get(position + AHEAD)
            && !matches!(owner.part, Part::Again | Part::Run)
            && let Some(number) = self.index.guess(owner.hash)
            && let Some(connection) = self.list.get(number)
        {
            prefetch(connection);
        }
    }

    #[inline]
    fn number(&mut self, owner: &Owner, segment: &mut Segment, before: u32) -> u32 {
        let number = if matches!(owner.part, Part::Again | Part::Run) {
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
        let connection = Connection::new(key, vlan, segment, turned);
        let number = self.list.push(connection);
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
