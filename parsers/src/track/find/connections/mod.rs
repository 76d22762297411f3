//! Finds the connection of each packet, or begins it.

mod assign;

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::capture::chunk::{Chunk, ChunkOptions};
use crate::common::arena::Arena;
use crate::common::budget::{bytes, grouped};
use crate::common::fast_paths::FastPaths;
use crate::common::index::Index;
use crate::common::suspicion::Suspicion;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Key, TCP};
use crate::sift::{SiftOptions, Sifter};
use crate::track::find::connection::Connection;
use crate::track::find::fragments::{EarlyParts, Fragments, Joined};
use crate::track::find::throughput::Throughput;
use crate::track::find::tunnels::Tunnels;
use crate::track::rdma::QueuePairs;

/// No connection: the packet belongs to none.
pub(crate) const NONE: u32 = u32::MAX;
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
    /// A connection took the place of another one between the same endpoints: earlier guesses may name the old one.
    replaced: bool,
    /// Silence after which a flow that is not TCP ends.
    idle_ns: i64,
    pub fragments: Fragments,
    pub tunnels: Tunnels,
    pub queue_pairs: QueuePairs,
    /// Connections that turned out to be initiated by the other side after a chunk of theirs was handed on.
    pub turned: Vec<u32>,
    /// The same, as an earlier pass found them.
    turned_before: HashSet<u32>,
    /// Fast paths that are taken.
    guesses: bool,
    runs: bool,
    /// Raised where a SYN may begin another connection between the same endpoints.
    suspicion: Suspicion,
}

impl Connections {
    pub(crate) fn new(
        bin_ns: i64,
        idle_ns: i64,
        turned_before: HashSet<u32>,
        early: EarlyParts,
        without_fast: FastPaths,
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
            turned_before,
            guesses: !without_fast.has(FastPaths::GUESSES),
            runs: !without_fast.has(FastPaths::RUNS),
            suspicion,
        }
    }

    /// Returns a sifter with the same hashing.
    pub(crate) fn sifter(&self, options: SiftOptions) -> Sifter {
        Sifter::new(options, &self.hashing)
    }

    /// Returns an empty chunk with the same hashing.
    pub(crate) fn chunk(&self, options: ChunkOptions) -> Chunk {
        Chunk::new(self.hashing.clone(), options)
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
            // It may have begun another connection between the same endpoints.
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
        let turned = !self.turned_before.is_empty()
            && self.turned_before.contains(&(self.list.len() as u32));
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

    /// Finds the connection of a fragment. A later one goes to the connection of the first one; where that was not
    /// captured before it, to a flow of fragments between the two addresses.
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

    /// Returns the bytes that this many more packets may take at once.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        self.index.growth(more) + self.throughput.growth(more) + self.queue_pairs.growth(more)
    }

    /// Describes how many connections there are and what they take.
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

    /// Returns the connections in order of their first packet.
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
