//! Packets of connections to their counts, connection after connection, so that each one's state is looked up
//! once for all its packets of a chunk; on several threads, because no two connections share a state.

use super::connections::{Connections, NONE};
use super::direction::Direction;
use super::messages::{Ended, MessageRow};
use crate::chunk::Chunk;
use crate::decode::Sack;
use crate::memory::prefetch;
use crate::segment::Segment;
use crate::threads::several_threads;

/// Fewer packets than this are not worth another thread.
const WORTH_SPLITTING: usize = 2048;
/// Connections between asking for one's memory and using it.
const AHEAD: usize = 4;

/// Packets of one connection that are counted before their TCP state is followed: two short loops wait less
/// for memory than one long one.
const BLOCK: usize = 64;

/// State of one connection: what each endpoint sent, the key's lower endpoint first.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub sides: [Option<Box<Direction>>; 2],
}

/// What counting tells of one packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub gap_ns: Option<i64>,
    pub window_bytes: Option<i64>,
}

/// Consecutive packets of [`Order::positions`] that belong to one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub connection: u32,
    pub from: u32,
    pub to: u32,
    /// The initiator is the key's higher endpoint.
    pub forward_from_high: bool,
}

impl Group {
    fn new(connection: u32, from: u32, to: u32) -> Self {
        Self {
            connection,
            from,
            to,
            forward_from_high: false,
        }
    }
}

/// The packets of a chunk by connection, and in their order inside each.
#[derive(Debug, Default)]
pub(crate) struct Order {
    pub numbers: Vec<u32>,
    pub positions: Vec<u32>,
    spare: Vec<u32>,
    pub groups: Vec<Group>,
    /// Connections that there were when the chunk was read.
    connections: usize,
}

/// Bits sorted by in one pass.
const DIGIT: u32 = 11;

impl Order {
    /// Finds the connections of the packets of `chunk` and sorts by them.
    pub(crate) fn make(&mut self, chunk: &mut Chunk, connections: &mut Connections) {
        connections.assign(chunk, &mut self.numbers);
        self.connections = connections.len();
        self.groups.clear();
        self.sort();
        for group in &mut self.groups {
            group.forward_from_high = connections
                .get(group.connection)
                .is_some_and(super::Connection::forward_from_high);
        }
    }

    /// Stable radix sort, least significant digit first, and the groups; packets of no connection are left out.
    fn sort(&mut self) {
        let numbers = &self.numbers;
        let bits = (usize::BITS - self.connections.leading_zeros()).max(1);
        let passes = bits.div_ceil(DIGIT);
        let width = bits.div_ceil(passes);
        let mask = (1 << width) - 1;
        let mut starts = [0_u32; 1 << DIGIT];
        for &number in numbers.iter().filter(|&&number| number != NONE) {
            starts[number as usize & mask] += 1;
        }
        let total = counts_to_starts(&mut starts);
        self.positions.resize(total as usize, 0);
        for (packet, &number) in (0..).zip(numbers) {
            if number != NONE {
                let start = &mut starts[number as usize & mask];
                self.positions[*start as usize] = packet;
                *start += 1;
            }
        }
        if passes == 1 {
            // Where a connection's packets end is known.
            let mut from = 0;
            for (connection, &to) in (0..).zip(&starts[..self.connections]) {
                if to > from {
                    self.groups.push(Group::new(connection, from, to));
                    from = to;
                }
            }
            return;
        }
        for pass in 1..passes {
            let digit = |packet: u32| (numbers[packet as usize] >> (pass * width)) as usize & mask;
            let mut starts = [0_u32; 1 << DIGIT];
            for &packet in &self.positions {
                starts[digit(packet)] += 1;
            }
            counts_to_starts(&mut starts);
            self.spare.resize(self.positions.len(), 0);
            for &packet in &self.positions {
                let start = &mut starts[digit(packet)];
                self.spare[*start as usize] = packet;
                *start += 1;
            }
            std::mem::swap(&mut self.positions, &mut self.spare);
        }
        for (position, &packet) in (0..).zip(&self.positions) {
            let connection = self.numbers[packet as usize];
            match self.groups.last_mut() {
                Some(group) if group.connection == connection => group.to = position + 1,
                _ => self
                    .groups
                    .push(Group::new(connection, position, position + 1)),
            }
        }
    }
}

/// Counts to the sums of those before each; their sum.
fn counts_to_starts(counts: &mut [u32; 1 << DIGIT]) -> u32 {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
    sum
}

/// All states, by number of the connection.
#[derive(Debug, Default)]
pub(crate) struct States {
    list: Vec<State>,
    count_gaps: bool,
    find_messages: bool,
}

/// What all connections of a chunk are counted from.
#[derive(Clone, Copy)]
struct Work<'a> {
    segments: &'a [Segment],
    sacks: &'a [[Sack; 4]],
    positions: &'a [u32],
    count_gaps: bool,
    find_messages: bool,
}

impl States {
    pub(crate) fn new(count_gaps: bool, find_messages: bool) -> Self {
        Self {
            list: Vec::new(),
            count_gaps,
            find_messages,
        }
    }

    pub(crate) fn get(&self, connection: u32) -> Option<&State> {
        self.list.get(connection as usize)
    }

    pub(crate) fn get_mut(&mut self, connection: u32) -> Option<&mut State> {
        self.list.get_mut(connection as usize)
    }

    /// Counts the packets of `chunk`. `told`, where wanted, is given one entry for each position of `order`;
    /// `messages` those that ended.
    pub(crate) fn count(
        &mut self,
        chunk: &Chunk,
        order: &Order,
        told: Option<&mut Vec<Told>>,
        messages: &mut Vec<MessageRow>,
    ) {
        if self.list.len() < order.connections {
            self.list.resize_with(order.connections, State::default);
        }
        let work = Work {
            segments: chunk.segments(),
            sacks: &chunk.sacks,
            positions: &order.positions,
            count_gaps: self.count_gaps,
            find_messages: self.find_messages,
        };
        let told = match told {
            None => &mut [][..],
            Some(told) => {
                told.clear();
                told.resize(order.positions.len(), Told::default());
                told.as_mut_slice()
            }
        };
        work.count(&mut self.list, 0, &order.groups, told, messages);
    }
}

impl Work<'_> {
    /// Counts `groups`, ascending by connection, of which `states` begins with number `first`.
    fn count(
        self,
        states: &mut [State],
        first: u32,
        groups: &[Group],
        told: &mut [Told],
        messages: &mut Vec<MessageRow>,
    ) {
        let (Some(begin), Some(end)) = (groups.first(), groups.last()) else {
            return;
        };
        let packets = (end.to - begin.from) as usize;
        if !several_threads() || groups.len() == 1 || packets < WORTH_SPLITTING {
            return self.count_in_order(states, first, groups, told, messages);
        }
        let half = begin.from + packets as u32 / 2;
        let middle = groups
            .partition_point(|group| group.to <= half)
            .clamp(1, groups.len() - 1);
        let (left, right) = groups.split_at(middle);
        let boundary = right[0].connection;
        let (left_states, right_states) = states.split_at_mut((boundary - first) as usize);
        let told_before = ((right[0].from - begin.from) as usize).min(told.len());
        let (left_told, right_told) = told.split_at_mut(told_before);
        let mut later = Vec::new();
        rayon::join(
            || self.count(left_states, first, left, left_told, messages),
            || self.count(right_states, boundary, right, right_told, &mut later),
        );
        messages.append(&mut later);
    }

    fn count_in_order(
        self,
        states: &mut [State],
        first: u32,
        groups: &[Group],
        mut told: &mut [Told],
        messages: &mut Vec<MessageRow>,
    ) {
        for (index, group) in groups.iter().enumerate() {
            if let Some(next) = groups.get(index + 2 * AHEAD) {
                self.look_ahead(&states[(next.connection - first) as usize], next);
            }
            if let Some(next) = groups.get(index + AHEAD) {
                let state = &states[(next.connection - first) as usize];
                for direction in state.sides.iter().flatten() {
                    direction.look_ahead();
                }
            }
            let state = &mut states[(group.connection - first) as usize];
            let positions = &self.positions[group.from as usize..group.to as usize];
            for block in positions.chunks(BLOCK) {
                let places = block.len().min(told.len());
                let (now, later) = std::mem::take(&mut told).split_at_mut(places);
                told = later;
                self.count_packets(state, block, now);
                self.follow(state, block, now, group, messages);
            }
        }
    }

    /// What is counted of any protocol.
    #[inline]
    fn count_packets(self, state: &mut State, block: &[u32], told: &mut [Told]) {
        let mut told = told.iter_mut();
        for (index, &position) in block.iter().enumerate() {
            if let Some(&next) = block.get(index + AHEAD) {
                prefetch(&self.segments[next as usize]);
            }
            let segment = &self.segments[position as usize];
            let own = state.sides[usize::from(segment.is_from_high())]
                .get_or_insert_with(|| Box::new(Direction::unheard()));
            let gap_ns = own.count(segment, self.count_gaps);
            if let Some(told) = told.next() {
                told.gap_ns = gap_ns;
            }
        }
    }

    /// What is counted of TCP.
    #[inline]
    fn follow(
        self,
        state: &mut State,
        block: &[u32],
        told: &mut [Told],
        group: &Group,
        messages: &mut Vec<MessageRow>,
    ) {
        let mut told = told.iter_mut();
        let [low, high] = &mut state.sides;
        let mut ended = Ended {
            connection: group.connection,
            position: 0,
            backward: false,
            rows: self.find_messages.then_some(messages),
        };
        for &position in block {
            let told = told.next();
            let segment = &self.segments[position as usize];
            if !segment.tcp() {
                continue;
            }
            let (own, peer) = if segment.is_from_high() {
                (&mut *high, &mut *low)
            } else {
                (&mut *low, &mut *high)
            };
            let Some(own) = own else { continue };
            ended.position = position;
            ended.backward = segment.is_from_high() != group.forward_from_high;
            if let Some(told) = told {
                let peer = peer.as_ref().map(|peer| &peer.tcp);
                told.window_bytes = own.tcp.window_bytes(segment, peer);
            }
            if let Some(peer) = peer
                && own.tcp.goes_on(&mut peer.tcp, segment, &mut ended)
            {
                continue;
            }
            if peer.is_none() && segment.acknowledgement().is_some() {
                // What it acknowledges may come behind it.
                *peer = Some(Box::new(Direction::unheard()));
            }
            let peer = peer.as_mut().map(|peer| &mut peer.tcp);
            let sacks = &self.sacks[position as usize];
            own.tcp.take(peer, segment, sacks, &mut ended);
        }
    }

    /// Asks for the memory of a connection that comes soon.
    #[inline]
    fn look_ahead(&self, state: &State, group: &Group) {
        for direction in state.sides.iter().flatten() {
            prefetch(&**direction);
        }
        for &position in &self.positions[group.from as usize..group.to.min(group.from + 4) as usize]
        {
            prefetch(&self.segments[position as usize]);
        }
    }
}
