//! The three stages of a chunk: reading it, finding the connections of its packets, counting them.

use std::sync::atomic::Ordering;

use crate::capture::chunk::Chunk;
use crate::capture::merge::Reading;
use crate::capture::sizes::{LARGEST, SMALLEST, Sizes};
use crate::common::budget::{Budget, grouped};
use crate::common::error::Error;
use crate::common::progress::Progress;
use crate::common::threads::several_threads;
use crate::pipeline::counting::{Counting, RecordBatches};
use crate::tables::Sink;
use crate::track::{Connections, Grouping, States};

/// A chunk in progress, and what is known about it so far.
pub(super) struct Portion {
    chunk: Chunk,
    grouping: Grouping,
    /// Bins of throughput to write before its rows.
    settled: Option<RecordBatches>,
    /// The intended number of packets.
    size: usize,
    /// Bytes that reading as many packets more may take at once.
    growth: u64,
}

impl Portion {
    pub(super) fn new(chunk: Chunk) -> Self {
        Self {
            chunk,
            grouping: Grouping::default(),
            settled: None,
            size: 0,
            growth: 0,
        }
    }

    /// Decides the size of a later chunk by this one.
    pub(super) fn decide(&self, sizes: &mut Sizes) {
        sizes.decide(self.size, self.chunk.count(), self.grouping.groups.len());
    }
}

/// The first stage.
pub(super) struct Read<'a, 'b> {
    reading: &'b mut Reading<'a>,
    number: usize,
    /// The portion ends before this packet.
    until: usize,
    pub more: bool,
}

impl<'a, 'b> Read<'a, 'b> {
    pub(super) fn new(reading: &'b mut Reading<'a>) -> Self {
        Self {
            reading,
            number: 0,
            until: 0,
            more: true,
        }
    }

    pub(super) fn begin(&mut self, portion: &mut Portion, size: usize) {
        self.until = self.number + size.min(LARGEST - self.number % LARGEST);
        portion.chunk.begin(self.until - self.number);
        portion.size = size;
    }

    /// Returns whether the portion is not full and there may be more packets.
    pub(super) fn goes_on(&self) -> bool {
        self.more && self.number < self.until
    }

    /// Reads up to `most` packets.
    pub(super) fn take(&mut self, portion: &mut Portion, most: usize) -> Result<(), Error> {
        let before = portion.chunk.count();
        let size = before + most.min(self.until - self.number);
        self.more = self.reading.fill(&mut portion.chunk, size)?;
        self.number += portion.chunk.count() - before;
        portion.growth = self.reading.growth(portion.size);
        Ok(())
    }

    /// Alternates both stages, so that the data for the second one stay in the cache.
    pub(super) fn take_and_find(
        &mut self,
        find: &mut Find<'_>,
        portion: &mut Portion,
    ) -> Result<(), Error> {
        find.begin(portion);
        while self.goes_on() {
            self.take(portion, SMALLEST)?;
            find.take(portion)?;
        }
        find.end(portion)
    }
}

/// The second stage.
pub(super) struct Find<'b> {
    connections: &'b mut Connections,
    settles: bool,
    number: usize,
    budget: &'b Budget,
    progress: &'b Progress,
    /// Packets that may be found before the next check of the memory taken.
    until_checked: usize,
}

/// Packets between two checks of the memory taken: one check takes as long as about ten packets.
const UNCHECKED: usize = 1 << 14;
/// Bytes that counting may take for a new connection in addition to its state: gaps, a sender, a message.
const BESIDE: u64 = 128;

impl<'b> Find<'b> {
    pub(super) fn new(
        connections: &'b mut Connections,
        settles: bool,
        budget: &'b Budget,
        progress: &'b Progress,
    ) -> Self {
        Self {
            connections,
            settles,
            number: 0,
            budget,
            progress,
            until_checked: 0,
        }
    }

    pub(super) fn begin(&self, portion: &mut Portion) {
        portion.grouping.begin(self.connections);
    }

    /// Finds the connections of the packets read since the last call.
    pub(super) fn take(&mut self, portion: &mut Portion) -> Result<(), Error> {
        let before = portion.grouping.numbers.len();
        let packets = portion.chunk.count() - before;
        if self.until_checked < packets {
            self.check(portion, packets.max(UNCHECKED))?;
            self.until_checked = packets.max(UNCHECKED);
        }
        self.until_checked -= packets;
        portion.grouping.find(&mut portion.chunk, self.connections);
        Ok(())
    }

    /// Fails if `packets` more packets and counting those found might exceed the memory limit.
    pub(super) fn check(&self, portion: &Portion, packets: usize) -> Result<(), Error> {
        let found = portion.grouping.numbers.len();
        let new = portion
            .grouping
            .connections
            .saturating_sub(portion.grouping.before);
        // With several threads, the new connections of another portion may not be counted yet.
        let portions = if several_threads() { 2 } else { 1 };
        let counted = portions * (States::bytes_of(new) + new as u64 * BESIDE);
        let more = counted + self.connections.growth(packets) + portion.growth;
        self.budget.check(more).map_err(|lack| {
            let place = format!(
                "packet {}, byte {} of the input",
                grouped((self.number + found + 1) as u64),
                grouped(self.progress.read.load(Ordering::Relaxed)),
            );
            let states = States::bytes_of(self.connections.len());
            lack.error(place, &self.connections.describe(states))
        })
    }

    pub(super) fn end(&mut self, portion: &mut Portion) -> Result<(), Error> {
        self.check(portion, 0)?;
        portion.grouping.end(self.connections);
        self.number += portion.chunk.count();
        portion.settled = if self.settles && self.number.is_multiple_of(LARGEST) {
            Counting::settle(&mut self.connections.throughput)
        } else {
            None
        };
        Ok(())
    }
}

/// The third stage.
pub(super) struct Count<'b> {
    pub counting: &'b mut Counting,
    pub sink: &'b dyn Sink,
    pub progress: &'b Progress,
}

impl Count<'_> {
    pub(super) fn take(&mut self, portion: &mut Portion) -> Result<(), Error> {
        let Portion {
            chunk,
            grouping,
            settled,
            ..
        } = portion;
        self.counting
            .count(chunk, grouping, settled.take(), self.sink)?;
        self.progress
            .packets
            .store(self.counting.number, Ordering::Relaxed);
        Ok(())
    }
}
