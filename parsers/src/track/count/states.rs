//! Counts the packets of connections, connection after connection, so that each one's state is looked up once for all
//! its packets of a chunk; on several threads, because no two connections share a state.

use std::slice::{Iter, IterMut};

use rayon::prelude::*;

use super::direction::Direction;
use super::partition::{Share, shares};
use super::state::{ConnectionState, PacketFacts};
use crate::capture::chunk::{Chunk, ListedOptions};
use crate::common::arena::Arena;
use crate::common::fast_paths::FastPaths;
use crate::common::memory::prefetch;
use crate::common::suspicion::Suspicion;
use crate::common::threads::several_threads;
use crate::decode::TcpOptions;
use crate::decode::segment::Segment;
use crate::track::find::grouping::{Group, Grouping};
use crate::track::tcp::Tcp;
use crate::track::tcp::messages::ended::{Ended, EndedRows};

/// Fewer packets than this are not worth another thread.
const WORTH_SPLITTING: usize = 2048;
/// Parts of a chunk for each thread: a thread that ends early takes another part.
const PARTS: usize = 8;
/// Connections between the prefetch of what one's state points to and its use: the state itself is fetched twice as
/// early, the next level of memory half as early.
const AHEAD: usize = 4;
/// Packets between the prefetch of one and its count, of any connection.
const SEGMENTS_AHEAD: usize = 64;

/// Packets of one connection that are counted before their TCP state is followed: two short loops wait less
/// for memory than one long one.
const BLOCK: usize = 64;

/// All states, by number of the connection.
#[derive(Debug)]
pub(crate) struct States {
    list: Arena<ConnectionState>,
    count_gaps: bool,
    find_messages: bool,
    without_fast: FastPaths,
    /// Raised where a receiver may not accept a segment.
    suspicion: Suspicion,
}

/// What all connections of a chunk are counted from.
#[derive(Clone, Copy)]
struct Work<'a> {
    chunk: &'a Chunk,
    segments: &'a [Segment],
    options: &'a [ListedOptions],
    positions: &'a [u32],
    count_gaps: bool,
    find_messages: bool,
    without_fast: FastPaths,
    suspicion: &'a Suspicion,
}

impl States {
    pub(crate) fn new(
        count_gaps: bool,
        find_messages: bool,
        without_fast: FastPaths,
        suspicion: Suspicion,
    ) -> Self {
        Self {
            list: Arena::new(),
            count_gaps,
            find_messages,
            without_fast,
            suspicion,
        }
    }

    /// Returns the bytes that the states of this many connections take, without what each allocates itself.
    pub(crate) fn bytes_of(connections: usize) -> u64 {
        (connections * size_of::<ConnectionState>()) as u64
    }

    /// Frees the states on several threads: with many connections that takes a while.
    pub(crate) fn free(self) {
        self.list.into_parts().into_par_iter().for_each(|part| {
            part.into_par_iter()
                .with_min_len(WORTH_SPLITTING)
                .for_each(drop);
        });
    }

    pub(crate) fn get(&self, connection: u32) -> Option<&ConnectionState> {
        self.list.get(connection)
    }

    /// Prefetches connections after `connection`, for a loop over all of them.
    #[inline]
    pub(crate) fn look_ahead(&self, connection: u32) {
        if let Some(state) = self.list.get(connection.saturating_add(2 * AHEAD as u32)) {
            prefetch(state);
        }
        if let Some(state) = self.list.get(connection.saturating_add(AHEAD as u32)) {
            state.look_ahead();
        }
    }

    /// Counts the packets of `chunk`. `facts`, where wanted, get one entry for each position of `grouping`, and the
    /// lists of `messages` get those that ended, in the order of connections.
    pub(crate) fn count(
        &mut self,
        chunk: &Chunk,
        grouping: &Grouping,
        facts: Option<&mut Vec<PacketFacts>>,
        messages: &mut Vec<EndedRows>,
    ) {
        self.list.lengthen(grouping.connections);
        let work = Work {
            chunk,
            segments: chunk.segments(),
            options: &chunk.listed.options,
            positions: &grouping.positions,
            count_gaps: self.count_gaps,
            find_messages: self.find_messages,
            without_fast: self.without_fast,
            suspicion: &self.suspicion,
        };
        let facts = match facts {
            None => &mut [][..],
            Some(facts) => {
                facts.clear();
                facts.resize(grouping.positions.len(), PacketFacts::default());
                facts.as_mut_slice()
            }
        };
        let parts = if several_threads() {
            (grouping.positions.len() / WORTH_SPLITTING)
                .clamp(1, PARTS * rayon::current_num_threads())
        } else {
            1
        };
        let packets = grouping.positions.len().div_ceil(parts) as u32;
        let shares = shares(&mut self.list, &grouping.groups, facts, packets);
        if messages.len() < shares.len() {
            messages.resize_with(shares.len(), EndedRows::default);
        }
        if several_threads() {
            let shares = shares.into_par_iter().zip(messages);
            // One share at a time: a thread that comes late still finds some.
            let shares = shares.with_max_len(1);
            shares.for_each(|(share, messages)| work.count(share, messages));
        } else {
            for (share, messages) in shares.into_iter().zip(messages) {
                work.count(share, messages);
            }
        }
    }
}

impl Work<'_> {
    fn count(self, share: Share, messages: &mut EndedRows) {
        let Share {
            states,
            first,
            groups,
            mut facts,
        } = share;
        for (index, group) in groups.iter().enumerate() {
            if let Some(next) = groups.get(index + 2 * AHEAD) {
                prefetch(&states[(next.connection - first) as usize]);
            }
            if let Some(next) = groups.get(index + AHEAD) {
                states[(next.connection - first) as usize].look_ahead();
            }
            if let Some(next) = groups.get(index + AHEAD / 2) {
                states[(next.connection - first) as usize].look_further();
            }
            let state = &mut states[(group.connection - first) as usize];
            let positions = &self.positions[group.from as usize..group.to as usize];
            let mut coming = self.positions[group.from as usize..]
                .iter()
                .skip(SEGMENTS_AHEAD);
            for block in positions.chunks(BLOCK) {
                let places = block.len().min(facts.len());
                let (now, later) = std::mem::take(&mut facts).split_at_mut(places);
                facts = later;
                self.count_packets(state, block, &mut coming, now);
                self.follow(state, block, now, group, messages);
            }
        }
    }

    /// Counts what packets of any protocol have.
    #[inline]
    fn count_packets<'p>(
        self,
        state: &mut ConnectionState,
        block: &[u32],
        coming: &mut impl Iterator<Item = &'p u32>,
        facts: &mut [PacketFacts],
    ) {
        let mut facts = facts.iter_mut();
        for &position in block {
            if let Some(&later) = coming.next() {
                prefetch(&self.segments[later as usize]);
            }
            let segment = &self.segments[position as usize];
            let own = state.sides[usize::from(segment.is_from_high())]
                .get_or_insert_with(Direction::unheard);
            let gap_ns = own.count(segment, self.count_gaps);
            if let Some(facts) = facts.next() {
                facts.gap_ns = gap_ns;
            }
        }
    }

    /// Follows the state of TCP over a block of packets of one connection.
    #[inline]
    fn follow(
        self,
        state: &mut ConnectionState,
        block: &[u32],
        facts: &mut [PacketFacts],
        group: &Group,
        messages: &mut EndedRows,
    ) {
        let mut facts = facts.iter_mut();
        let [low, high] = &mut state.sides;
        let mut ended = Ended {
            connection: group.connection,
            position: 0,
            backward: false,
            rows: self.find_messages.then_some(messages),
        };
        let mut packets = block.iter();
        while let Some(&position) = packets.next() {
            let facts_of_packet = facts.next();
            let segment = &self.segments[position as usize];
            let (own, peer) = if segment.is_from_high() {
                (&mut *high, &mut *low)
            } else {
                (&mut *low, &mut *high)
            };
            let Some(own) = own else { continue };
            if !segment.tcp() {
                own.tcp.take_unread();
                continue;
            }
            ended.position = position;
            ended.backward = segment.is_from_high() != group.forward_from_high;
            if let Some(facts) = facts_of_packet {
                let peer = peer.as_ref().map(|peer| &peer.tcp);
                facts.window_bytes = own.tcp.window_bytes(segment, peer);
            }
            if !self.without_fast.has(FastPaths::SEGMENTS)
                && let Some(peer) = peer
                && own.tcp.goes_on(&mut peer.tcp, segment, &mut ended)
            {
                let sides = (&mut own.tcp, &mut peer.tcp);
                self.follow_burst(sides, segment, &mut packets, &mut facts);
                continue;
            }
            self.follow_any(&mut own.tcp, peer, position, &mut ended);
        }
    }

    /// Takes in the packets after `segment` that are like it, all at once.
    #[inline]
    fn follow_burst(
        self,
        (own, peer): (&mut Tcp, &mut Tcp),
        segment: &Segment,
        packets: &mut Iter<'_, u32>,
        facts: &mut IterMut<'_, PacketFacts>,
    ) {
        let following = packets.as_slice();
        // For a single packet this does not pay off.
        if !self.without_fast.has(FastPaths::BURSTS)
            && segment.payload > 0
            && let &[next, later, ..] = following
            && [next, later]
                .iter()
                .all(|&it| self.segments[it as usize].is_like(segment))
        {
            let count = own.take_burst(peer, segment, self.segments, following);
            *packets = following[count..].iter();
            let window_bytes = own.window_bytes(segment, Some(peer));
            facts
                .take(count)
                .for_each(|facts| facts.window_bytes = window_bytes);
        }
    }

    /// Takes in the packet at `position`, whatever it is.
    #[inline]
    fn follow_any(
        self,
        own: &mut Tcp,
        peer: &mut Option<Direction>,
        position: u32,
        ended: &mut Ended<'_>,
    ) {
        if let Some(refusal) = self.chunk.refusal(position) {
            own.refuse(refusal);
            return;
        }
        let segment = &self.segments[position as usize];
        if peer.is_none() && segment.acknowledgement().is_some() {
            // The data that it acknowledges may come after it.
            *peer = Some(Direction::unheard());
        }
        let peer = peer.as_mut().map(|peer| &mut peer.tcp);
        let silent = TcpOptions::silent(segment.options_bytes());
        let options = self.listed(position, segment).unwrap_or(&silent);
        if own.may_be_refused(peer.as_deref(), segment) {
            self.suspicion.raise();
        }
        own.take(peer, segment, options, ended);
    }

    /// Returns the TCP options of `segment`, which is at `position`, where they are listed.
    fn listed(&self, position: u32, segment: &Segment) -> Option<&TcpOptions> {
        if !segment.lists_options() {
            return None;
        }
        let index = self
            .options
            .binary_search_by_key(&position, |it| it.position);
        Some(&self.options[index.ok()?].options)
    }
}
