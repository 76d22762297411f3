//! Captures to tables: connects the stages, file by file, batch by batch.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::capture::chunk::ChunkOptions;
use crate::capture::counts::CaptureRow;
use crate::capture::file::{MOST_SORTED, first_time};
use crate::capture::merge::{FileSummary, Found, Reading, Waiting};
use crate::common::budget::{Budget, grouped};
use crate::common::error::{Damage, Error};
use crate::common::fast_ways::FastWays;
use crate::common::progress::Progress;
use crate::common::suspicion::Suspicion;
use crate::common::threads::several_threads;
use crate::decode::notice::Notice;
use crate::pipeline::counting::Counting;
use crate::pipeline::options::Options;
use crate::pipeline::stages;
use crate::sift::SiftOptions;
use crate::source::Input;
use crate::tables::{self, Sink, Table};
use crate::track::{Connections, EarlyParts, States};

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The files in the order they were read.
    pub files: Vec<FileSummary>,
    /// Packets of all files.
    pub packets: u64,
    /// Packets whose headers could not be read: of an unknown link type, cut, or malformed.
    pub undecoded: u64,
    /// Packets with a wrong checksum, where that was to be verified.
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
    // Threads of our own: their number is the caller's choice, and no other user's work waits for ours.
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
    let stream = inputs.iter().any(Input::is_stream);
    let budget = Budget::new(options.memory);
    // Rows that are handed on while reading cannot be taken back by every sink.
    let early = [Table::Packets, Table::Messages];
    let hands_on = early.iter().any(|table| options.tables.contains(table));
    let may_restart = !stream && (sink.can_restart() || !hands_on);
    let mut care = if !may_restart || options.without_fast.has(FastWays::QUICK) {
        Care::Full
    } else {
        Care::Little
    };
    let mut known = Known::default();
    let (mut pass, found) = loop {
        let mut pass = Pass::new(options, progress, &budget, &known, care);
        pass.counting.settles = !stream && (care == Care::Full || sink.can_restart());
        let Some(found) = pass.read(in_time_order(inputs)?, sink)? else {
            care = care.after(&pass.suspicion, inputs.len(), options);
            restart_all(options, sink)?;
            continue;
        };
        // Parts of a packet may come before the first one, which alone has ports: then all rows come again.
        let early = &pass.connections.fragments.early;
        let wanted = known.early.is_empty() && !early.is_empty() && !stream;
        if !wanted || !restart_all(options, sink)? {
            break (pass, found);
        }
        known.early.clone_from(early);
    };
    pass.finish(&found, sink)?;
    if !stream {
        let connections = &mut pass.connections;
        let tables = restart_wrong(connections, options, sink)?;
        if !tables.is_empty() {
            let only = Options {
                tables,
                ..options.clone()
            };
            known.turned = connections.turned.iter().copied().collect();
            let mut second = Pass::new(&only, progress, &budget, &known, care);
            if let Some(found) = second.read(again(inputs, &found)?, sink)? {
                second.finish(&found, sink)?;
            }
        }
    }
    let summary = Summary {
        files: found.files,
        packets: pass.counting.number,
        undecoded: found.captures.iter().map(CaptureRow::unreadable).sum(),
        bad_checksums: found.captures.iter().map(CaptureRow::bad_checksums).sum(),
        connections: pass.connections.len() as u64,
        damage: found.damage,
    };
    let states = pass.counting.states;
    if options.process_ends {
        std::mem::forget(states);
        sink.end()?;
    } else if several_threads() {
        rayon::join(|| sink.end(), || states.free()).0?;
    } else {
        sink.end()?;
    }
    Ok(summary)
}

/// Forgets the rows that later packets proved wrong; the tables that are to be written again. A SYN may come long
/// after packets of its connection, whose rows have the opposite direction; and time may go back to a bin that was
/// written.
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

/// Inputs that were read before, as they were then.
fn again(inputs: &[Input], found: &Found) -> Result<Vec<Waiting>, Error> {
    let mut inputs = in_time_order(inputs)?;
    for (input, &before) in inputs.iter_mut().zip(&found.stamps) {
        input.before = before;
    }
    Ok(inputs)
}

/// Forgets the rows that came before the end of the input; whether that could be done.
fn restart_all(options: &Options, sink: &mut dyn Sink) -> Result<bool, Error> {
    for table in [Table::Packets, Table::Messages, Table::Throughput] {
        if options.tables.contains(&table) && !sink.restart(table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How carefully a capture is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Packets count as they come; the reading ends where something odd is noticed.
    Little,
    /// Those of one file are put in the order of their times where they lie a little out of it; it ends where something else
    /// is noticed.
    Near,
    /// Packets are put in the order of their times; it ends where something else is noticed.
    Order,
    /// Packets are sifted.
    Full,
}

impl Care {
    /// With which all is read again where `suspicion` ended a reading.
    fn after(self, suspicion: &Suspicion, files: usize, options: &Options) -> Self {
        if !suspicion.is_of_order() || options.without_fast.has(FastWays::ORDER) {
            return Self::Full;
        }
        match self {
            // Of several files the window decides which of equally early packets comes first.
            Self::Little if files == 1 && options.order_window_packets >= MOST_SORTED => Self::Near,
            Self::Little | Self::Near => Self::Order,
            Self::Order | Self::Full => Self::Full,
        }
    }

    /// Packets go through the window of the sifter.
    fn waits(self) -> bool {
        matches!(self, Self::Order | Self::Full)
    }
}

/// Findings of an earlier reading that came too late for its own rows.
#[derive(Default)]
struct Known {
    /// Connections whose direction turned.
    turned: HashSet<u32>,
    /// Fragments before the first of their packet.
    early: EarlyParts,
}

/// Bytes that the messages which a connection is still sending take.
const OPEN_MESSAGES: u64 = 64;

/// One reading of all files, to the last row of every table.
struct Pass<'a> {
    options: &'a Options,
    progress: &'a Progress,
    connections: Connections,
    counting: Counting,
    budget: &'a Budget,
    care: Care,
    suspicion: Suspicion,
}

impl<'a> Pass<'a> {
    fn new(
        options: &'a Options,
        progress: &'a Progress,
        budget: &'a Budget,
        known: &Known,
        care: Care,
    ) -> Self {
        let suspicion = Suspicion::default();
        Self {
            options,
            progress,
            connections: Connections::new(
                options.bin_ns,
                options.udp_timeout_ns,
                known.turned.clone(),
                known.early.clone(),
                options.without_fast,
                suspicion.clone(),
            ),
            counting: Counting::new(options, &suspicion),
            budget,
            care,
            suspicion,
        }
    }

    /// Reads all packets; nothing where something was noticed that this care cannot decide. Rows that are made of all packets are
    /// still to be made.
    fn read(&mut self, inputs: Vec<Waiting>, sink: &dyn Sink) -> Result<Option<Found>, Error> {
        let options = self.options;
        let without = options.without_fast;
        let (connections, counting) = (&mut self.connections, &mut self.counting);
        let (progress, budget) = (self.progress, self.budget);
        let wanted = ChunkOptions {
            with_places: counting.packets.is_some(),
            verify: options.verify_checksums,
            without_fast_frames: without.has(FastWays::FRAMES),
            with_owners: false,
            with_identities: false,
            by_network: options.by_network,
            with_rdma: options.tables.contains(&Table::Rdma),
        };
        let is_full = self.care == Care::Full;
        let sifter = self.care.waits().then(|| {
            let options = SiftOptions {
                window_ns: options.order_window_ns,
                window_packets: options.order_window_packets,
                keep_duplicates: options.keep_duplicates,
                only_order: !is_full,
            };
            let chunk = connections.chunk(ChunkOptions {
                with_places: true,
                with_owners: true,
                with_identities: is_full,
                // They distinguish copies from packets that were sent again, whatever tables are wanted.
                with_rdma: is_full || wanted.with_rdma,
                ..wanted
            });
            (connections.sifter(options), chunk)
        });
        let notice = Notice::new(
            !is_full && !options.keep_duplicates,
            !self.care.waits() && options.order_window_ns > 0,
        );
        let mut reading = Reading::new(
            inputs,
            &options.manifests,
            (
                without.has(FastWays::BLOCKS),
                (self.care == Care::Near).then_some(options.order_window_ns),
            ),
            progress,
            (notice, self.suspicion.clone(), !is_full),
            sifter,
        );
        stages::pass(
            &mut reading,
            wanted,
            connections,
            counting,
            sink,
            progress,
            budget,
        )?;
        let found = reading.finish();
        if !is_full && self.suspicion.is_raised() {
            return Ok(None);
        }
        self.check_end()?;
        Ok(Some(found))
    }

    /// Fails where there is no room for putting the last rows in order.
    fn check_end(&self) -> Result<(), Error> {
        let connections = self.connections.len();
        let open = self.counting.messages.is_some();
        let messages = if open {
            connections as u64 * OPEN_MESSAGES
        } else {
            0
        };
        let more = messages + self.connections.throughput.bytes() / 2;
        self.budget.check(more).map_err(|lack| {
            let place = format!(
                "the end of the input, after packet {}",
                grouped(self.counting.number)
            );
            let states = States::bytes_of(connections);
            lack.error(place, &self.connections.describe(states))
        })
    }

    /// Makes the rows that are made of all packets.
    fn finish(&mut self, found: &Found, sink: &dyn Sink) -> Result<(), Error> {
        let bins = self.connections.throughput.finish();
        let messages = self.counting.messages.take();
        let (connections, states) = (&self.connections, &self.counting.states);
        let progress = self.progress;
        let emit_to = |table, batch| {
            progress.go_on()?;
            sink.batch(table, batch)
        };
        let messages = || {
            let emit = |batch| emit_to(Table::Messages, batch);
            messages.map_or(Ok(()), |rows| rows.finish(connections, states, emit))
        };
        let rest = |&table: &Table| {
            let emit = |batch| emit_to(table, batch);
            match table {
                Table::Captures => emit(tables::captures(
                    &found.captures,
                    self.options.verify_checksums,
                )?),
                Table::Flows => tables::flows(connections, states, emit),
                Table::Intervals => tables::intervals(connections, states, emit),
                Table::Throughput => tables::throughput(&bins, &connections.throughput, emit),
                Table::Rdma => tables::rdma(&connections.queue_pairs, emit),
                Table::Packets | Table::Messages | Table::Fates | Table::Clocks | Table::OneWay => {
                    Ok(())
                }
            }
        };
        if several_threads() {
            let tables = || self.options.tables.par_iter().try_for_each(rest);
            let (tables, messages) = rayon::join(tables, messages);
            tables.and(messages)
        } else {
            messages()?;
            self.options.tables.iter().try_for_each(rest)
        }
    }
}

/// Looks whether every file can be opened and is a capture; what can be read only once is not touched.
pub fn check(inputs: &[Input]) -> Result<(), Error> {
    for input in inputs.iter().filter(|input| !input.is_stream()) {
        first_time(input)?;
    }
    Ok(())
}

/// Several files are one capture: they may be given in any order. A single one is not looked at twice.
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
