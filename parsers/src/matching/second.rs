//! The last reading, which writes the fates and delays of all packets to tables.

use super::clocks::{ClockRow, Solved};
use super::fate::FateRow;
use super::matcher::{Findings, Moment};
use super::one_way::OneWayRow;
use super::summary::Counts;
use crate::common::error::Error;

/// Rows per batch.
const BATCH_ROWS: usize = 1 << 12;

/// Writes rows, which refer to points by their index in `names`.
pub(crate) trait Tables {
    fn fates(&mut self, rows: &[FateRow], names: &[String]) -> Result<(), Error>;
    /// Writes the delays of packets whose rows are in `fates`.
    fn one_way(
        &mut self,
        rows: &[OneWayRow],
        fates: &[FateRow],
        names: &[String],
    ) -> Result<(), Error>;
    fn clocks(&mut self, rows: &[ClockRow], names: &[String]) -> Result<(), Error>;
}

/// Collects the rows of the last reading and writes them in batches.
pub(super) struct Second<'a> {
    names: &'a [String],
    clocks: &'a Solved,
    rows: Vec<FateRow>,
    delays: Vec<OneWayRow>,
    counts: Counts,
    tables: &'a mut dyn Tables,
    failure: Option<Error>,
}

impl<'a> Second<'a> {
    pub(super) fn new(names: &'a [String], clocks: &'a Solved, tables: &'a mut dyn Tables) -> Self {
        Self {
            names,
            clocks,
            rows: Vec::with_capacity(BATCH_ROWS),
            delays: Vec::with_capacity(BATCH_ROWS),
            counts: Counts::default(),
            tables,
            failure: None,
        }
    }

    /// Writes the last rows; returns the counts of all packets.
    pub(super) fn finish(mut self) -> Result<Counts, Error> {
        self.hand_over();
        self.failure.map_or(Ok(self.counts), Err)
    }

    fn hand_over(&mut self) {
        if self.failure.is_none() && !self.rows.is_empty() {
            self.failure = self.tables.fates(&self.rows, self.names).err();
        }
        if self.failure.is_none() && !self.delays.is_empty() {
            let tables = &mut self.tables;
            self.failure = tables.one_way(&self.delays, &self.rows, self.names).err();
        }
        self.rows.clear();
        self.delays.clear();
    }
}

impl Findings for Second<'_> {
    fn check(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn fate(&mut self, row: &FateRow) {
        self.counts.add(row);
        if let Some(delay) = OneWayRow::new(self.rows.len(), row, self.clocks) {
            self.counts.add_delay(&delay);
            self.delays.push(delay);
        }
        self.rows.push(*row);
        if self.rows.len() == BATCH_ROWS {
            self.hand_over();
        }
    }

    fn matched(&mut self, _path: (u16, u16), _sent: Moment, _received: Moment) {}
}
