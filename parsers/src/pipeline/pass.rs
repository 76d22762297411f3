//! One reading of all files.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::capture::chunk::{Chunk, ChunkOptions};
use crate::capture::merge::{Found, Reading, Waiting};
use crate::common::budget::{Budget, grouped};
use crate::common::error::Error;
use crate::common::fast_paths::FastPaths;
use crate::common::progress::Progress;
use crate::common::suspicion::Suspicion;
use crate::common::threads::several_threads;
use crate::decode::notice::Notice;
use crate::pipeline::care::Care;
use crate::pipeline::counting::Counting;
use crate::pipeline::options::Options;
use crate::pipeline::schedule;
use crate::sift::{SiftOptions, Sifter};
use crate::tables::{self, Sink, Table};
use crate::track::{Connections, EarlyParts, States};

/// Findings of an earlier reading that came too late for its own rows.
#[derive(Default)]
pub(super) struct Earlier {
    /// Connections whose direction was reversed.
    pub turned: HashSet<u32>,
    /// Fragments that came before the first one of their packet.
    pub early: EarlyParts,
}

/// Bytes that the unfinished messages of a connection take.
const OPEN_MESSAGES: u64 = 64;

/// One reading of all files, to the last row of every table.
pub(super) struct Pass<'a> {
    options: &'a Options,
    progress: &'a Progress,
    pub connections: Connections,
    pub counting: Counting,
    budget: &'a Budget,
    care: Care,
    pub suspicion: Suspicion,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        options: &'a Options,
        progress: &'a Progress,
        budget: &'a Budget,
        earlier: &Earlier,
        care: Care,
    ) -> Self {
        let suspicion = Suspicion::default();
        Self {
            options,
            progress,
            connections: Connections::new(
                options.bin_ns,
                options.udp_timeout_ns,
                earlier.turned.clone(),
                earlier.early.clone(),
                options.without_fast,
                suspicion.clone(),
            ),
            counting: Counting::new(options, &suspicion),
            budget,
            care,
            suspicion,
        }
    }

    /// Reads all packets; returns nothing if something was noticed that this care cannot decide. Rows that depend on
    /// all packets are left to `finish`.
    pub(super) fn read(
        &mut self,
        inputs: Vec<Waiting>,
        sink: &dyn Sink,
    ) -> Result<Option<Found>, Error> {
        let is_full = self.care == Care::Full;
        let wanted = self.chunk_options();
        let window_ns = self.options.order_window_ns;
        let notice = Notice::new(
            !is_full && !self.options.keep_duplicates,
            !self.care.waits() && window_ns > 0,
        );
        let mut reading = Reading::new(
            inputs,
            &self.options.manifests,
            (
                self.options.without_fast.has(FastPaths::BLOCKS),
                (self.care == Care::Near).then_some(window_ns),
            ),
            self.progress,
            (notice, self.suspicion.clone(), !is_full),
            self.care.waits().then(|| self.sifter(wanted)),
        );
        schedule::pass(
            &mut reading,
            wanted,
            &mut self.connections,
            &mut self.counting,
            sink,
            self.progress,
            self.budget,
        )?;
        let found = reading.finish();
        if !is_full && self.suspicion.is_raised() {
            return Ok(None);
        }
        self.check_end()?;
        Ok(Some(found))
    }

    /// Returns what chunks keep of packets for the tables that are wanted.
    fn chunk_options(&self) -> ChunkOptions {
        ChunkOptions {
            with_places: self.counting.packets.is_some(),
            verify: self.options.verify_checksums,
            without_fast_frames: self.options.without_fast.has(FastPaths::FRAMES),
            with_owners: false,
            with_identities: false,
            by_network: self.options.by_network,
            with_rdma: self.options.tables.contains(&Table::Rdma),
        }
    }

    /// Returns the sifter, and the chunk from which it takes packets.
    fn sifter(&self, wanted: ChunkOptions) -> (Sifter, Chunk) {
        let is_full = self.care == Care::Full;
        let sifter = self.connections.sifter(SiftOptions {
            window_ns: self.options.order_window_ns,
            window_packets: self.options.order_window_packets,
            keep_duplicates: self.options.keep_duplicates,
            only_order: !is_full,
        });
        let chunk = self.connections.chunk(ChunkOptions {
            with_places: true,
            with_owners: true,
            with_identities: is_full,
            // RDMA headers distinguish copies from retransmissions, whatever tables are wanted.
            with_rdma: is_full || wanted.with_rdma,
            ..wanted
        });
        (sifter, chunk)
    }

    /// Fails if there is no memory for sorting the last rows.
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

    /// Makes the rows that depend on all packets.
    pub(super) fn finish(&mut self, found: &Found, sink: &dyn Sink) -> Result<(), Error> {
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
