//! Turns chunks of packets into the rows that are written while reading, and into the state of all connections.

use arrow_array::RecordBatch;

use crate::capture::chunk::Chunk;
use crate::common::error::Error;
use crate::common::suspicion::Suspicion;
use crate::pipeline::options::Options;
use crate::tables::{self, Messages, Packets, Sink, Table};
use crate::track::{EndedRows, Grouping, PacketFacts, States, Throughput, by_packet};

/// What is counted of the packets, connection by connection.
pub(crate) struct Counting {
    pub states: States,
    pub packets: Option<Packets>,
    pub messages: Option<Messages>,
    /// Whether bins of throughput that should not change any more are written early.
    pub settles: bool,
    throughput: bool,
    /// Packets so far.
    pub number: u64,
    facts: Vec<PacketFacts>,
    /// Messages that ended in the chunk: several lists, each in the order of connections.
    ended: Vec<EndedRows>,
}

impl Counting {
    pub(crate) fn new(options: &Options, suspicion: &Suspicion) -> Self {
        let wants = |table| options.tables.contains(&table);
        Self {
            states: States::new(
                wants(Table::Intervals),
                wants(Table::Messages),
                options.without_fast,
                suspicion.clone(),
            ),
            packets: wants(Table::Packets).then(Packets::default),
            messages: wants(Table::Messages).then(Messages::default),
            settles: false,
            throughput: wants(Table::Throughput),
            number: 0,
            facts: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Returns whether bins of throughput are written while reading.
    pub(crate) fn settles_throughput(&self) -> bool {
        self.settles && self.throughput
    }

    /// Returns the bins that can be written now.
    pub(crate) fn settle(throughput: &mut Throughput) -> Option<RecordBatches> {
        let bins = throughput.settle()?;
        let mut batches = Vec::new();
        let outcome = tables::throughput(&bins, throughput, |batch| {
            batches.push(batch);
            Ok(())
        });
        Some(outcome.map(|()| batches))
    }

    pub(crate) fn count(
        &mut self,
        chunk: &Chunk,
        grouping: &Grouping,
        settled: Option<RecordBatches>,
        sink: &dyn Sink,
    ) -> Result<(), Error> {
        for batch in settled.transpose()?.unwrap_or_default() {
            sink.batch(Table::Throughput, batch)?;
        }
        let facts = self.packets.is_some().then_some(&mut self.facts);
        self.states.count(chunk, grouping, facts, &mut self.ended);
        if let Some(rows) = &mut self.packets {
            rows.add(self.number + 1, chunk, grouping, &self.facts, |batch| {
                sink.batch(Table::Packets, batch)
            })?;
        }
        if let Some(rows) = &mut self.messages {
            let ended = by_packet(&self.ended, chunk.count());
            rows.add(ended, |batch| sink.batch(Table::Messages, batch))?;
        }
        self.ended.iter_mut().for_each(EndedRows::clear);
        self.number += chunk.count() as u64;
        Ok(())
    }
}

pub(crate) type RecordBatches = Result<Vec<RecordBatch>, Error>;
