//! Finds the connection of each packet, or begins it.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::connection::Connection;
use super::fragments::{EarlyParts, Fragments, Joined};
use super::throughput::Throughput;
use super::tunnels::Tunnels;
use crate::capture::chunk::{Chunk, ChunkOptions};
use crate::common::arena::Arena;
use crate::common::budget::{bytes, grouped};
use crate::common::fast_ways::FastWays;
use crate::common::index::Index;
use crate::common::memory::prefetch;
use crate::common::suspicion::Suspicion;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Key, TCP};
use crate::sift::{SiftOptions, Sifter};
use crate::track::rdma::QueuePairs;

/// No connection: the packet belongs to none.
pub(crate) const NONE: u32 = u32::MAX;
/// Packets whose connections are guessed together.
const AHEAD: usize = 16;
/// Connections that stay in the cache while a chunk is read.
const CACHED: usize = 1024;
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
    /// A connection took the place of another one between the same endpoints: what was guessed before may be that one.
    replaced: bool,
    /// Silence after which a flow that is not TCP ends.
    idle_ns: i64,
    pub fragments: Fragments,
    pub tunnels: Tunnels,
    pub queue_pairs: QueuePairs,
    /// Connections that turned out to be initiated by the other side after a chunk of theirs was handed on.
    pub turned: Vec<u32>,
    /// The same, known from an earlier pass.
    known: HashSet<u32>,
    /// Fast ways that are taken.
    guesses: bool,
    runs: bool,
    /// Raised where a SYN may begin another connection between the same endpoints.
    suspicion: Suspicion,
}

impl Connections {
    pub(crate) fn new(
        bin_ns: i64,
        idle_ns: i64,
        known: HashSet<u32>,
        early: EarlyParts,
        without_fast: FastWays,
        suspicion: Suspicion,
    ) -> Self {
        let hashing = RandomState::default();
        Self {
            index: Index::new(),
            list: Arena::new(),
            throughput: Throughput::new(bin_ns),
            last: NONE,
            slots: [NONE; 256],
            replaced: false,
            idle_ns,
            fragments: Fragments::new(&hashing, early),
            tunnels: Tunnels::new(&hashing),
            queue_pairs: QueuePairs::new(&hashing),
            hashing,
            turned: Vec::new(),
            known,
            guesses: !without_fast.has(FastWays::GUESSES),
            runs: !without_fast.has(FastWays::RUNS),
            suspicion,
        }
    }

    /// What packets are sifted by.
    pub(crate) fn sifter(&self, options: SiftOptions) -> Sifter {
        Sifter::new(options, &self.hashing)
    }

    /// An empty chunk whose hashes are of use here.
    pub(crate) fn chunk(&self, options: ChunkOptions) -> Chunk {
        Chunk::new(self.hashing.clone(), options)
    }

    /// Appends the connection of each packet of `chunk` that is not found yet, or [`NONE`], to `numbers`; how many
    /// came in runs. `before` connections there were before the chunk.
    pub(crate) fn assign(
        &mut self,
        chunk: &mut Chunk,
        before: u32,
        numbers: &mut Vec<u32>,
    ) -> usize {
        let guessing = self.guesses && self.list.len() > CACHED;
        let (owners, segments) = chunk.take_unfound();
        let start = numbers.len();
        numbers.resize(start + owners.len(), NONE);
        let numbers = &mut numbers[start..];
        let (mut position, mut guessed, mut in_runs) = (0, 0, 0);
        while let (Some(owner), Some(segment)) = (owners.get(position), segments.get_mut(position))
        {
            while guessing && guessed < owners.len() && guessed < position + AHEAD {
                self.guess(owners, guessed, numbers);
                guessed += AHEAD;
            }
            let guess = numbers[position];
            let known = self.list.get_mut(guess).filter(|connection| {
                connection.is(&owner.key) && !connection.ended_before(segment, self.idle_ns)
            });
            let (number, turned) = if let Some(connection) = known {
                (self.last, self.slots[usize::from(owner.slot)]) = (guess, guess);
                (
                    guess,
                    connection.take(segment, &mut self.throughput, &self.suspicion),
                )
            } else if owner.kind == OwnerKind::None {
                (NONE, false)
            } else {
                let number = self.number(owner, segment);
                let turned = self.list.get_mut(number).is_some_and(|connection| {
                    if owner.kind == OwnerKind::Refused {
                        connection.take_refused(segment, &mut self.throughput);
                        return false;
                    }
                    connection.take(segment, &mut self.throughput, &self.suspicion)
                });
                (number, turned)
            };
            if turned && number < before {
                self.turned.push(number);
            }
            numbers[position] = number;
            position += 1;
            if std::mem::take(&mut self.replaced) && position < guessed {
                let end = guessed.min(numbers.len());
                numbers[position..end].fill(NONE);
            }
            let run = owners[position..]
                .iter()
                .take_while(|owner| self.runs && owner.kind == OwnerKind::Run);
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

    /// Guesses the connections of the packets from `from` on, by their hashes alone, and asks for their memory and for
    /// what the next guesses need.
    fn guess(&self, owners: &[Owner], from: usize, numbers: &mut [u32]) {
        let packets = owners[from..].iter().zip(&mut numbers[from..]);
        for (owner, number) in packets.take(AHEAD) {
            if owner.kind == OwnerKind::Whole
                && let Some(guess) = self.index.guess(owner.hash)
                && let Some(connection) = self.list.get(guess)
            {
                *number = guess;
                prefetch(connection);
            }
        }
        for owner in owners.iter().skip(from + AHEAD).take(AHEAD) {
            if owner.kind == OwnerKind::Whole {
                self.index.prefetch(owner.hash);
            }
        }
    }

    #[inline]
    fn remember(&mut self, owner: &Owner, number: u32) -> u32 {
        self.last = number;
        self.slots[usize::from(owner.slot)] = number;
        number
    }

    #[inline]
    fn number(&mut self, owner: &Owner, segment: &mut Segment) -> u32 {
        if matches!(owner.kind, OwnerKind::Again | OwnerKind::Run) {
            self.slots[usize::from(owner.slot)]
        } else {
            self.look_up(owner, segment)
        }
    }

    #[inline(never)]
    fn look_up(&mut self, owner: &Owner, segment: &mut Segment) -> u32 {
        if matches!(
            owner.kind,
            OwnerKind::FirstFragment | OwnerKind::LaterFragment
        ) {
            // It may have begun another one between the same endpoints.
            self.last = NONE;
            return self.find_for_fragment(owner, segment);
        }
        // Packets come in bursts.
        let last = self.list.get(self.last);
        if !last.is_some_and(|it| it.is(&owner.key) && !it.ended_before(segment, self.idle_ns)) {
            self.last = self.find_or_add(&owner.key, owner.hash, owner.vlan, segment);
        }
        self.remember(owner, self.last)
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
            self.replaced = true;
        } else {
            self.index.insert(hash, number);
        }
        number
    }

    /// A later fragment goes to the connection of the first one; where that was not captured before it, to a
    /// flow of fragments between the two addresses.
    #[cold]
    fn find_for_fragment(&mut self, owner: &Owner, segment: &mut Segment) -> u32 {
        let (datagram, part) = (owner.hash, owner.part);
        if owner.kind == OwnerKind::LaterFragment {
            if let Some(joined) = self.fragments.join(datagram, part, segment) {
                return joined.connection;
            }
            if let Some(early) = self.fragments.known(datagram, segment.time) {
                segment.join_fragment(early.key.protocol == TCP, early.from_high);
                let hash = early.key.hash(&self.hashing);
                return self.find_or_add(&early.key, hash, early.vlan, segment);
            }
            if !part.says_tcp() {
                segment.payload = 0;
            }
        }
        let hash = owner.key.hash(&self.hashing);
        let connection = self.find_or_add(&owner.key, hash, owner.vlan, segment);
        if owner.kind == OwnerKind::FirstFragment {
            let from_high = segment.is_from_high();
            let joined = Joined {
                connection,
                from_high,
            };
            let first = (joined, owner.key, owner.vlan);
            self.fragments.begin((datagram, part), first, segment.time);
        }
        connection
    }

    /// Bytes that this many more packets may take at once.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        self.index.growth(more) + self.throughput.growth(more) + self.queue_pairs.growth(more)
    }

    /// How many there are and what they take, in words.
    pub(crate) fn describe(&self, states: u64) -> String {
        let list = (self.list.len() * size_of::<Connection>()) as u64 + self.index.bytes();
        format!(
            "{} connections ({}, and {} of counts), {} of throughput{}",
            grouped(self.list.len() as u64),
            bytes(list),
            bytes(states),
            bytes(self.throughput.bytes()),
            self.queue_pairs.describe(),
        )
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::notice::Notice;
    use crate::records::{Interface, Record};

    /// The connections of frames, found so many at once.
    fn numbers(frames: &[[u8; 54]], at_once: usize, without: FastWays) -> Vec<u32> {
        let mut connections = Connections::new(
            1_000_000,
            60_000_000_000,
            HashSet::new(),
            EarlyParts::default(),
            without,
            Suspicion::default(),
        );
        let mut chunk = connections.chunk(ChunkOptions::default());
        let interface = Interface::with_link_type(1);
        let mut numbers = Vec::new();
        for frames in frames.chunks(at_once) {
            let records: Vec<Record> = (0..frames.len() as u32)
                .map(|number| Record {
                    time: 0,
                    is_timed: true,
                    wire: 54,
                    captured: 54,
                    interface: 0,
                    at: 0,
                    data: number * 54,
                })
                .collect();
            let interfaces = std::slice::from_ref(&interface);
            let mut notice = Notice::new(false, false);
            let frames = (frames.as_flattened(), 0);
            chunk.append(
                (&records, &[]),
                interfaces,
                frames,
                (0, &mut []),
                &mut notice,
            );
            connections.assign(&mut chunk, 0, &mut numbers);
        }
        numbers
    }

    /// A TCP segment from a port of one host to another one.
    fn frame(port: u16, seq: u8, syn: bool) -> [u8; 54] {
        let mut frame = [0; 54];
        frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 40]);
        (frame[23], frame[29], frame[33]) = (6, 1, 2);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        (frame[37], frame[41], frame[46]) = (80, seq, 0x50);
        frame[47] = if syn { 2 } else { 16 };
        frame
    }

    proptest! {
        #[test]
        fn what_was_guessed_gives_way_to_a_new_connection(
            steps in prop::collection::vec((0_u16..5, 0_u8..3, prop::bool::weighted(0.3)), 1..200),
        ) {
            // Enough connections for guessing to begin.
            let before = (0..2 * CACHED as u16).map(|port| frame(port, 0, true));
            let steps = steps.into_iter().map(|(port, seq, syn)| frame(port, seq, syn));
            let frames: Vec<_> = before.chain(steps).collect();
            let without = FastWays::GUESSES.and(FastWays::RUNS);
            let all = numbers(&frames, 2 * CACHED, without);
            for at_once in [1, 7, 2 * CACHED] {
                prop_assert_eq!(&all, &numbers(&frames, at_once, FastWays::default()));
            }
        }
    }
}
