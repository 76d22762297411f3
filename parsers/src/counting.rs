//! Chunks of packets to the rows that are written while reading, and to the state of all connections.

use arrow_array::RecordBatch;

use crate::chunk::Chunk;
use crate::error::Error;
use crate::memory::prefetch;
use crate::options::Options;
use crate::run::Sink;
use crate::tables::{self, Messages, Packets, Table};
use crate::track::{Connections, MessageRow, Order, States, Throughput, Told, unfinished_messages};

/// What is counted of the packets, connection by connection.
pub(crate) struct Counting {
    pub states: States,
    pub packets: Option<Packets>,
    messages: Option<Messages>,
    /// Bins of throughput that should not change any more are written early.
    pub settles: bool,
    throughput: bool,
    /// Packets so far.
    pub number: u64,
    told: Vec<Told>,
    /// Messages that ended in the chunk: several lists, each in the order of connections.
    ended: Vec<Vec<MessageRow>>,
}

impl Counting {
    pub(crate) fn new(options: &Options) -> Self {
        let wants = |table| options.tables.contains(&table);
        Self {
            states: States::new(wants(Table::Intervals), wants(Table::Messages)),
            packets: wants(Table::Packets).then(Packets::default),
            messages: wants(Table::Messages).then(Messages::default),
            settles: false,
            throughput: wants(Table::Throughput),
            number: 0,
            told: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Bins of throughput are written while reading.
    pub(crate) fn settles_throughput(&self) -> bool {
        self.settles && self.throughput
    }

    /// Bins that can be written now.
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
        order: &Order,
        settled: Option<RecordBatches>,
        sink: &dyn Sink,
    ) -> Result<(), Error> {
        for batch in settled.transpose()?.unwrap_or_default() {
            sink.batch(Table::Throughput, batch)?;
        }
        let told = self.packets.is_some().then_some(&mut self.told);
        self.states.count(chunk, order, told, &mut self.ended);
        if let Some(rows) = &mut self.packets {
            rows.add(self.number + 1, chunk, order, &self.told, |batch| {
                sink.batch(Table::Packets, batch)
            })?;
        }
        if let Some(rows) = &mut self.messages {
            let ended = by_packet(&self.ended, chunk.count());
            rows.add(ended, |batch| sink.batch(Table::Messages, batch))?;
        }
        self.ended.iter_mut().for_each(Vec::clear);
        self.number += chunk.count() as u64;
        Ok(())
    }

    /// The rows that are still held back.
    pub(crate) fn finish(
        &mut self,
        connections: &Connections,
        sink: &dyn Sink,
    ) -> Result<(), Error> {
        if let Some(rows) = &mut self.messages {
            let last = unfinished_messages(connections, &mut self.states);
            let emit = |batch| sink.batch(Table::Messages, batch);
            rows.add(last.into_iter(), emit)?;
            rows.flush(emit)?;
        }
        Ok(())
    }
}

/// No message ends with a packet.
const NONE: u32 = u32::MAX;
/// More than one does: without it the message behind is not even looked at.
const SEVERAL: u32 = 1 << 31;
/// Messages between asking for one's memory and using it.
const AHEAD: usize = 16;

/// Messages in the order of the packets that ended them, whatever the chunks: one of several threads is longer.
/// Those of one packet, which lie side by side, stay as they are.
fn by_packet(
    lists: &[Vec<MessageRow>],
    packets: usize,
) -> impl Iterator<Item = MessageRow> + Send + '_ {
    // Where in the lists, one behind the other, the messages of each packet begin.
    let any = lists.iter().any(|list| !list.is_empty());
    let mut begins = vec![NONE; if any { packets } else { 0 }];
    let mut starts = Vec::with_capacity(lists.len());
    let mut number = 0;
    for list in lists {
        starts.push(number);
        for same in list.chunk_by(|one, other| one.position == other.position) {
            let several = if same.len() > 1 { SEVERAL } else { 0 };
            begins[same[0].position as usize] = number | several;
            number += same.len() as u32;
        }
    }
    begins.retain(|&begin| begin != NONE);
    let from = move |begin: u32| {
        let begin = begin & !SEVERAL;
        let list = starts.partition_point(|&start| start <= begin) - 1;
        &lists[list][(begin - starts[list]) as usize..]
    };
    (0..begins.len()).flat_map(move |index| {
        if let Some(&begin) = begins.get(index + AHEAD) {
            prefetch(&from(begin)[0]);
        }
        let messages = from(begins[index]);
        let packet = messages[0].position;
        let more = messages[1..].iter();
        let count = if begins[index] & SEVERAL == 0 {
            1
        } else {
            1 + more.take_while(|it| it.position == packet).count()
        };
        messages[..count].iter().copied()
    })
}

pub(crate) type RecordBatches = Result<Vec<RecordBatch>, Error>;
