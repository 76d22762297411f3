//! Turns captures into tables: connects the stages, file by file, batch by batch.

use crate::capture::counts::CaptureRow;
use crate::capture::file::first_time;
use crate::capture::merge::{FileSummary, Found, Waiting};
use crate::common::budget::Budget;
use crate::common::error::{Damage, Error};
use crate::common::fast_paths::FastPaths;
use crate::common::progress::Progress;
use crate::common::threads::several_threads;
use crate::pipeline::care::Care;
use crate::pipeline::options::Options;
use crate::pipeline::pass::{Earlier, Pass};
use crate::source::Input;
use crate::tables::{Sink, Table};
use crate::track::{Connections, States};

/// Files and packets of a run, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The files in the order they were read.
    pub files: Vec<FileSummary>,
    /// Packets of all files.
    pub packets: u64,
    /// Packets whose headers could not be read: of an unknown link type, cut, or malformed.
    pub undecoded: u64,
    /// Packets with a wrong checksum, if checksums were verified.
    pub bad_checksums: u64,
    /// Connections of all files.
    pub connections: u64,
    /// Where reading stopped before the end of a file.
    pub damage: Vec<Damage>,
}

/// Reads `inputs` as one capture, in the order of their packets, into the tables of `sink`.
pub fn run(
    inputs: &[Input],
    options: &Options,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<Summary, Error> {
    options.check()?;
    if options.threads < 2 {
        return run_here(inputs, options, sink, progress);
    }
    // A pool of its own: the caller chooses the number of threads, and no other user's work waits for ours.
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|error| Error::io("cannot start threads", std::io::Error::other(error)))?;
    threads.install(|| run_here(inputs, options, sink, progress))
}

fn run_here(
    inputs: &[Input],
    options: &Options,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<Summary, Error> {
    let budget = Budget::new(options.memory);
    let mut reader = Reader::new(inputs, options, progress, &budget, sink);
    let (mut pass, found) = reader.read(sink)?;
    pass.finish(&found, sink)?;
    reader.correct(&pass.connections, &found, sink)?;
    let summary = Summary {
        files: found.files,
        packets: pass.counting.number,
        undecoded: found.captures.iter().map(CaptureRow::unreadable).sum(),
        bad_checksums: found.captures.iter().map(CaptureRow::bad_checksums).sum(),
        connections: pass.connections.len() as u64,
        damage: found.damage,
    };
    end(pass.counting.states, options, sink)?;
    Ok(summary)
}

/// Ends the tables, and frees the states in parallel.
fn end(states: States, options: &Options, sink: &mut dyn Sink) -> Result<(), Error> {
    if options.process_ends {
        std::mem::forget(states);
    } else if several_threads() {
        return rayon::join(|| sink.end(), || states.free()).0;
    }
    sink.end()
}

/// Reads the inputs as often as necessary.
struct Reader<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    progress: &'a Progress,
    budget: &'a Budget,
    is_stream: bool,
    care: Care,
    earlier: Earlier,
}

impl<'a> Reader<'a> {
    fn new(
        inputs: &'a [Input],
        options: &'a Options,
        progress: &'a Progress,
        budget: &'a Budget,
        sink: &dyn Sink,
    ) -> Self {
        let is_stream = inputs.iter().any(Input::is_stream);
        // Not every sink can take back rows that it received while reading.
        let early = [Table::Packets, Table::Messages];
        let hands_on = early.iter().any(|table| options.tables.contains(table));
        let may_restart = !is_stream && (sink.can_restart() || !hands_on);
        let care = if !may_restart || options.without_fast.has(FastPaths::QUICK) {
            Care::Full
        } else {
            Care::Little
        };
        Self {
            inputs,
            options,
            progress,
            budget,
            is_stream,
            care,
            earlier: Earlier::default(),
        }
    }

    /// Reads all packets; again if something odd was noticed, or if fragments came before the first one of their
    /// packet.
    fn read(&mut self, sink: &mut dyn Sink) -> Result<(Pass<'a>, Found), Error> {
        loop {
            let (earlier, care) = (&self.earlier, self.care);
            let mut pass = Pass::new(self.options, self.progress, self.budget, earlier, care);
            pass.counting.settles = !self.is_stream && (care == Care::Full || sink.can_restart());
            let Some(found) = pass.read(in_time_order(self.inputs)?, sink)? else {
                self.care = care.after(&pass.suspicion, self.inputs.len(), self.options);
                restart_all(self.options, sink)?;
                continue;
            };
            // Fragments may come before the first one, which alone contains ports: then all rows are made again.
            let early = &pass.connections.fragments.early;
            let is_wanted = self.earlier.early.is_empty() && !early.is_empty() && !self.is_stream;
            if !is_wanted || !restart_all(self.options, sink)? {
                return Ok((pass, found));
            }
            self.earlier.early.clone_from(early);
        }
    }

    /// Rewrites the tables whose rows later packets proved wrong.
    fn correct(
        &mut self,
        connections: &Connections,
        found: &Found,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        if self.is_stream {
            return Ok(());
        }
        let tables = restart_wrong(connections, self.options, sink)?;
        if tables.is_empty() {
            return Ok(());
        }
        let options = Options {
            tables,
            ..self.options.clone()
        };
        self.earlier.turned = connections.turned.iter().copied().collect();
        let (earlier, care) = (&self.earlier, self.care);
        let mut pass = Pass::new(&options, self.progress, self.budget, earlier, care);
        if let Some(found) = pass.read(again(self.inputs, found)?, sink)? {
            pass.finish(&found, sink)?;
        }
        Ok(())
    }
}

/// Discards the rows that later packets proved wrong; returns the tables that must be written again. A SYN may come
/// long after packets of its connection, whose rows then have the opposite direction; and time may go back to a bin
/// that is already written.
fn restart_wrong(
    connections: &Connections,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Vec<Table>, Error> {
    let mut wrong = Vec::new();
    if !connections.turned.is_empty() {
        wrong.extend([Table::Packets, Table::Messages]);
    }
    if connections.throughput.reopened {
        wrong.push(Table::Throughput);
    }
    let mut tables = Vec::new();
    for table in wrong {
        if options.tables.contains(&table) && sink.restart(table)? {
            tables.push(table);
        }
    }
    Ok(tables)
}

/// Returns the inputs with the stamps of their first reading.
fn again(inputs: &[Input], found: &Found) -> Result<Vec<Waiting>, Error> {
    let mut inputs = in_time_order(inputs)?;
    for (input, &before) in inputs.iter_mut().zip(&found.stamps) {
        input.before = before;
    }
    Ok(inputs)
}

/// Discards the rows written before the end of the input; returns whether that was possible.
fn restart_all(options: &Options, sink: &mut dyn Sink) -> Result<bool, Error> {
    for table in [Table::Packets, Table::Messages, Table::Throughput] {
        if options.tables.contains(&table) && !sink.restart(table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks that every file can be opened and is a capture; inputs that can be read only once are not touched.
pub fn check(inputs: &[Input]) -> Result<(), Error> {
    for input in inputs.iter().filter(|input| !input.is_stream()) {
        first_time(input)?;
    }
    Ok(())
}

/// Sorts inputs by their first packets: several files are one capture and may be given in any order. A single one is
/// not opened twice.
fn in_time_order(inputs: &[Input]) -> Result<Vec<Waiting>, Error> {
    let alone = inputs.len() < 2 || inputs.iter().any(Input::is_stream);
    let mut waiting = Vec::with_capacity(inputs.len());
    for input in inputs {
        waiting.push(Waiting {
            input: input.clone(),
            first_time: if alone { None } else { first_time(input)? },
            before: None,
        });
    }
    waiting.sort_by_key(|file| file.first_time);
    Ok(waiting)
}
