//! The packets of a chunk by connection.

use super::connection::Connection;
use super::connections::{Connections, NONE};
use crate::capture::chunk::Chunk;
use crate::common::memory::prefetch;

/// Consecutive packets of [`Grouping::positions`] that belong to one connection.
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
pub(crate) struct Grouping {
    pub numbers: Vec<u32>,
    pub positions: Vec<u32>,
    spare: Vec<u32>,
    starts: Vec<u32>,
    pub groups: Vec<Group>,
    /// Connections that existed before the chunk, ...
    pub before: usize,
    /// ... and after its packets were assigned.
    pub connections: usize,
    /// Packets that came in runs.
    in_runs: usize,
}

/// Packets between the prefetch of one's place and its write.
const AHEAD: usize = 32;
/// Bits to sort by in one pass: their counters stay in the nearest cache, ...
const DIGIT: u32 = 11;
/// ... and in the next one, where this many packets share the work of adding them up.
const LARGE_DIGIT: u32 = 18;
const MANY: usize = 1 << 17;

impl Grouping {
    /// Begins with a chunk.
    pub(crate) fn begin(&mut self, connections: &Connections) {
        self.numbers.clear();
        self.groups.clear();
        self.before = connections.len();
        self.in_runs = 0;
    }

    /// Finds the connections of packets that `chunk` was given.
    pub(crate) fn find(&mut self, chunk: &mut Chunk, connections: &mut Connections) {
        self.in_runs += connections.assign(chunk, self.before as u32, &mut self.numbers);
        for packet in chunk.listed.tunnelled.drain(..) {
            let connection = self.numbers[packet.position as usize];
            if connection != NONE {
                connections
                    .tunnels
                    .note(connection, packet.from_high, packet.outer);
            }
        }
        for (position, rdma) in chunk.listed.rdma.drain(..) {
            let number = self.numbers[position as usize];
            if let Some(connection) = connections.get(number) {
                let segment = &chunk.segments[position as usize];
                let owner = (number, connection.key());
                connections.queue_pairs.take(&rdma, segment, owner);
            }
        }
        self.connections = connections.len();
    }

    /// Sorts the packets by their connections.
    pub(crate) fn end(&mut self, connections: &Connections) {
        self.sort(self.in_runs > self.numbers.len() / 2);
        for group in &mut self.groups {
            group.forward_from_high = connections
                .get(group.connection)
                .is_some_and(Connection::forward_from_high);
        }
    }

    /// Sorts the packets by the number of their connection, and makes the groups; packets of no connection are left
    /// out. A stable radix sort, least significant digit first.
    fn sort(&mut self, by_run: bool) {
        let digits = Digits::new(self.connections, self.numbers.len());
        if by_run {
            self.sort_runs(digits);
        } else {
            self.sort_packets(digits);
        }
        if digits.passes == 1 {
            self.group_by_starts();
            return;
        }
        for pass in 1..digits.passes {
            self.sort_positions(digits, pass);
        }
        self.group_by_numbers();
    }

    /// Makes the first pass, packet by packet.
    #[inline]
    fn sort_packets(&mut self, digits: Digits) {
        let (numbers, starts) = (&self.numbers, &mut self.starts);
        digits.clear(starts);
        for &number in numbers.iter().filter(|&&number| number != NONE) {
            starts[digits.first(number)] += 1;
        }
        self.positions.resize(counts_to_starts(starts) as usize, 0);
        for (packet, &number) in (0..).zip(numbers) {
            if let Some(&later) = numbers.get(packet as usize + AHEAD)
                && let Some(&start) = starts.get(digits.first(later))
                && let Some(position) = self.positions.get(start as usize)
            {
                prefetch(position);
            }
            if number != NONE {
                let start = &mut starts[digits.first(number)];
                self.positions[*start as usize] = packet;
                *start += 1;
            }
        }
    }

    /// Makes the first pass, run by run.
    #[inline]
    fn sort_runs(&mut self, digits: Digits) {
        let (numbers, starts) = (&self.numbers, &mut self.starts);
        let runs = || numbers.chunk_by(|one, next| one == next);
        digits.clear(starts);
        for run in runs().filter(|run| run[0] != NONE) {
            starts[digits.first(run[0])] += run.len() as u32;
        }
        self.positions.resize(counts_to_starts(starts) as usize, 0);
        let mut packet = 0;
        for run in runs() {
            let next = packet + run.len() as u32;
            if run[0] != NONE {
                let start = &mut starts[digits.first(run[0])];
                let end = *start + run.len() as u32;
                let positions = &mut self.positions[*start as usize..end as usize];
                positions
                    .iter_mut()
                    .zip(packet..next)
                    .for_each(|(it, packet)| *it = packet);
                *start = end;
            }
            packet = next;
        }
    }

    /// Makes a later pass.
    #[inline]
    fn sort_positions(&mut self, digits: Digits, pass: u32) {
        let (numbers, starts) = (&self.numbers, &mut self.starts);
        let digit = |packet: u32| digits.at(numbers[packet as usize], pass);
        starts.fill(0);
        for &packet in &self.positions {
            starts[digit(packet)] += 1;
        }
        counts_to_starts(starts);
        self.spare.resize(self.positions.len(), 0);
        for &packet in &self.positions {
            let start = &mut starts[digit(packet)];
            self.spare[*start as usize] = packet;
            *start += 1;
        }
        std::mem::swap(&mut self.positions, &mut self.spare);
    }

    /// Makes the groups after a single pass, which left in `starts` where the packets of each connection end.
    #[inline]
    fn group_by_starts(&mut self) {
        let mut from = 0;
        for (connection, &to) in (0..).zip(&self.starts[..self.connections]) {
            if to > from {
                self.groups.push(Group::new(connection, from, to));
                from = to;
            }
        }
    }

    /// Makes the groups from the numbers of the sorted packets.
    #[inline]
    fn group_by_numbers(&mut self) {
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

/// The digits of connection numbers to sort by, one for each pass.
#[derive(Clone, Copy)]
struct Digits {
    passes: u32,
    /// Bits of each.
    width: u32,
    mask: usize,
}

impl Digits {
    /// Returns the digits by which `packets` of `connections` are sorted.
    fn new(connections: usize, packets: usize) -> Self {
        let bits = (usize::BITS - connections.leading_zeros()).max(1);
        let most = if packets < MANY { DIGIT } else { LARGE_DIGIT };
        let passes = bits.div_ceil(most);
        let width = bits.div_ceil(passes);
        Self {
            passes,
            width,
            mask: (1 << width) - 1,
        }
    }

    /// Makes a counter of 0 for each value of a digit.
    fn clear(self, counters: &mut Vec<u32>) {
        counters.clear();
        counters.resize(self.mask + 1, 0);
    }

    #[inline]
    fn first(self, number: u32) -> usize {
        number as usize & self.mask
    }

    #[inline]
    fn at(self, number: u32, pass: u32) -> usize {
        (number >> (pass * self.width)) as usize & self.mask
    }
}

/// Replaces each count by the sum of those before it; returns the sum of all.
pub(crate) fn counts_to_starts(counts: &mut [u32]) -> u32 {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
    sum
}
