//! Captures to tables: connects the stages, file by file, batch by batch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::RecordBatch;

use crate::error::{Damage, Error};
use crate::reading::{Batch, Reading, first_time};
use crate::source::Input;
use crate::tables::{self, Packets, Table};
use crate::track::{Assignment, Tracker};

/// What to count and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Length of a throughput bin in nanoseconds.
    pub bin_ns: i64,
    /// Silence in nanoseconds after which a flow that is not TCP ends.
    pub udp_timeout_ns: i64,
    /// The tables that are wanted.
    pub tables: Vec<Table>,
    /// What the manifests say about files, by the file's name.
    pub manifests: HashMap<String, Manifest>,
    /// Threads that share the work; the tables do not depend on it. More than two are not used yet.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bin_ns: 10_000_000,
            udp_timeout_ns: 60_000_000_000,
            tables: vec![
                Table::Captures,
                Table::Flows,
                Table::Intervals,
                Table::Throughput,
            ],
            manifests: HashMap::new(),
            threads: 1,
        }
    }
}

impl Options {
    /// Fails where an option has no meaning.
    pub fn check(&self) -> Result<(), Error> {
        if self.bin_ns <= 0 {
            return Err(Error::Option {
                option: "bin",
                found: format!("{} ns", self.bin_ns),
                expected: "a time above 0, such as 10ms",
            });
        }
        if self.udp_timeout_ns <= 0 {
            return Err(Error::Option {
                option: "udp-timeout",
                found: format!("{} ns", self.udp_timeout_ns),
                expected: "a time above 0, such as 60s",
            });
        }
        Ok(())
    }
}

/// What the capture agent's manifest says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manifest {
    /// Packets the kernel dropped.
    pub dropped_kernel: Option<u64>,
    /// Packets the interface dropped.
    pub dropped_interface: Option<u64>,
}

/// Receives the tables.
pub trait Sink {
    /// Takes the next rows of `table`.
    fn batch(&mut self, table: Table, batch: RecordBatch) -> Result<(), Error>;

    /// Forgets the rows of `table` received so far, because they come again; whether it can.
    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let _ = table;
        Ok(false)
    }
}

/// Seen from another thread: how far the work is; and a request to stop.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Bytes of the inputs, as stored, that were read.
    pub read: Arc<AtomicU64>,
    /// Packets counted.
    pub packets: Arc<AtomicU64>,
    /// Set to make the work end with [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

/// What was read of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// Its name.
    pub file: String,
    /// Packets read.
    pub packets: u64,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The files in the order they were read.
    pub files: Vec<FileSummary>,
    /// Packets of all files.
    pub packets: u64,
    /// Connections of all files.
    pub connections: u64,
    /// Where reading stopped before the end of a file.
    pub damage: Vec<Damage>,
}

/// Reads `inputs` as one capture, in the order of their first packets, into the tables of `sink`.
pub fn run(
    inputs: &[Input],
    options: &Options,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<Summary, Error> {
    options.check()?;
    let inputs = in_time_order(inputs)?;
    let mut counting = Counting::new(options, progress, &[]);
    let mut summary = pass(&inputs, options, &mut counting, sink, progress)?;
    // A SYN may come after packets of its connection. Their rows said the opposite direction: the rows
    // come again, with what is known now.
    if counting.packets.is_some()
        && !counting.tracker.turned.is_empty()
        && !inputs.iter().any(|input| matches!(input, Input::Stdin))
        && sink.restart(Table::Packets)?
    {
        let only = Options {
            tables: vec![Table::Packets],
            ..options.clone()
        };
        let mut again = Counting::new(&only, progress, &counting.tracker.turned);
        pass(&inputs, &only, &mut again, sink, progress)?;
    }
    summary.packets = counting.number;
    summary.connections = counting.tracker.connections() as u64;
    Ok(summary)
}

/// Batches on their way between the reading and the counting thread.
const ON_THE_WAY: usize = 8;

/// One reading of all files, to the last row of every table.
fn pass(
    inputs: &[Input],
    options: &Options,
    counting: &mut Counting<'_>,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<Summary, Error> {
    let mut reading = Reading::new(&options.manifests, progress);
    if options.threads < 2 {
        reading.read_all(inputs, &mut |batch| {
            counting.count(&batch, sink)?;
            Ok(batch)
        })?;
    } else {
        reading = in_parallel(inputs, reading, counting, sink)?;
    }
    counting.finish(&reading, options, sink)?;
    Ok(Summary {
        files: reading.files,
        damage: reading.damage,
        ..Summary::default()
    })
}

/// One thread reads and decodes, this one counts. Batches stay in order, so the tables are the same.
fn in_parallel<'a>(
    inputs: &[Input],
    mut reading: Reading<'a>,
    counting: &mut Counting<'_>,
    sink: &mut dyn Sink,
) -> Result<Reading<'a>, Error> {
    let (full, filled) = sync_channel::<Batch>(ON_THE_WAY);
    let (empty, emptied) = sync_channel::<Batch>(ON_THE_WAY + 2);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let outcome = reading.read_all(inputs, &mut |batch| {
                full.send(batch).map_err(|_| Error::Stopped)?;
                Ok(emptied.try_recv().unwrap_or_default())
            });
            outcome.map(|()| reading)
        });
        let mut counted = Ok(());
        for batch in &filled {
            counted = counting.count(&batch, sink);
            if counted.is_err() {
                break;
            }
            let _ = empty.try_send(batch);
        }
        // The reader, if it still runs, finds nobody who takes its batches.
        drop(filled);
        let read = reader
            .join()
            .map_err(|_| Error::Table("the reading thread ended early".to_owned()))?;
        counted.and(read)
    })
}

/// What is counted of the packets, in their order.
struct Counting<'a> {
    progress: &'a Progress,
    tracker: Tracker,
    packets: Option<Packets>,
    /// Packets so far.
    number: u64,
    told: Vec<Assignment>,
}

impl<'a> Counting<'a> {
    fn new(options: &Options, progress: &'a Progress, turned: &[u32]) -> Self {
        let wants = |table| options.tables.contains(&table);
        Self {
            progress,
            tracker: Tracker::new(
                options.bin_ns,
                options.udp_timeout_ns,
                wants(Table::Intervals),
                turned.iter().copied().collect(),
            ),
            packets: wants(Table::Packets).then(Packets::new),
            number: 0,
            told: Vec::new(),
        }
    }

    fn count(&mut self, batch: &Batch, sink: &mut dyn Sink) -> Result<(), Error> {
        let packets = batch.packets();
        let first = self.number + 1;
        self.number += packets.len() as u64;
        self.progress.packets.store(self.number, Ordering::Relaxed);
        let Some(rows) = &mut self.packets else {
            self.tracker.process(packets, None);
            return Ok(());
        };
        self.told.clear();
        self.tracker.process(packets, Some(&mut self.told));
        rows.add(first, packets, &self.told, &mut |batch| {
            sink.batch(Table::Packets, batch)
        })
    }

    fn finish(
        &mut self,
        reading: &Reading<'_>,
        options: &Options,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        if let Some(packets) = &mut self.packets {
            packets.flush(&mut |batch| sink.batch(Table::Packets, batch))?;
        }
        for &table in &options.tables {
            let mut emit = |batch| sink.batch(table, batch);
            match table {
                Table::Captures => emit(tables::captures(&reading.captures)?)?,
                Table::Flows => tables::flows(&self.tracker, emit)?,
                Table::Intervals => tables::intervals(&self.tracker, emit)?,
                Table::Throughput => tables::throughput(&mut self.tracker.throughput, emit)?,
                Table::Packets => {}
            }
        }
        Ok(())
    }
}

/// Looks whether every file can be opened and is a capture; the standard input is not touched.
pub fn check(inputs: &[Input]) -> Result<(), Error> {
    for input in inputs.iter().filter(|input| !matches!(input, Input::Stdin)) {
        first_time(input)?;
    }
    Ok(())
}

/// Several files are one capture: rotated files may be given in any order.
fn in_time_order(inputs: &[Input]) -> Result<Vec<Input>, Error> {
    let mut inputs = inputs.to_vec();
    if inputs.len() < 2 || inputs.iter().any(|input| matches!(input, Input::Stdin)) {
        return Ok(inputs);
    }
    let times = inputs
        .iter()
        .map(first_time)
        .collect::<Result<Vec<_>, _>>()?;
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| times[index]);
    let sorted = order
        .into_iter()
        .map(|index| inputs[index].clone())
        .collect();
    inputs = sorted;
    Ok(inputs)
}
