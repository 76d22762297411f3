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
    /// Connections that there were before the chunk, ...
    pub before: usize,
    /// ... and when it was read.
    pub connections: usize,
    /// Packets that came in runs.
    in_runs: usize,
}

/// Packets between asking for the memory of one's place and writing it.
const AHEAD: usize = 32;
/// Bits sorted by in one pass: their counters stay in the nearest cache, ...
const DIGIT: u32 = 11;
/// ... and in the next one, where so many packets share the work of adding them up.
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

    /// Sorts by them.
    pub(crate) fn end(&mut self, connections: &Connections) {
        self.sort(self.in_runs > self.numbers.len() / 2);
        for group in &mut self.groups {
            group.forward_from_high = connections
                .get(group.connection)
                .is_some_and(Connection::forward_from_high);
        }
    }

    /// Stable radix sort, least significant digit first, and the groups; packets of no connection are left out.
    fn sort(&mut self, by_run: bool) {
        let numbers = &self.numbers;
        let bits = (usize::BITS - self.connections.leading_zeros()).max(1);
        let digit = if numbers.len() < MANY {
            DIGIT
        } else {
            LARGE_DIGIT
        };
        let passes = bits.div_ceil(digit);
        let width = bits.div_ceil(passes);
        let mask = (1 << width) - 1;
        let starts = &mut self.starts;
        starts.clear();
        starts.resize(1 << width, 0);
        let runs = || numbers.chunk_by(|one, next| one == next);
        if by_run {
            for run in runs().filter(|run| run[0] != NONE) {
                starts[run[0] as usize & mask] += run.len() as u32;
            }
        } else {
            for &number in numbers.iter().filter(|&&number| number != NONE) {
                starts[number as usize & mask] += 1;
            }
        }
        let total = counts_to_starts(starts);
        self.positions.resize(total as usize, 0);
        if by_run {
            let mut packet = 0;
            for run in runs() {
                let next = packet + run.len() as u32;
                if run[0] != NONE {
                    let start = &mut starts[run[0] as usize & mask];
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
        } else {
            for (packet, &number) in (0..).zip(numbers) {
                if let Some(&later) = numbers.get(packet as usize + AHEAD)
                    && let Some(&start) = starts.get(later as usize & mask)
                    && let Some(position) = self.positions.get(start as usize)
                {
                    prefetch(position);
                }
                if number != NONE {
                    let start = &mut starts[number as usize & mask];
                    self.positions[*start as usize] = packet;
                    *start += 1;
                }
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
pub(crate) fn counts_to_starts(counts: &mut [u32]) -> u32 {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
    sum
}
