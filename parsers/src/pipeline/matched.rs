//! Turns captures of several hosts into the tables of their packets' fates and delays, and of the clocks.

use crate::common::error::Error;
use crate::common::progress::Progress;
use crate::matching::{
    ClockReading, ClockRow, FateRow, MatchOptions, MatchSummary, OneWayRow, Point, Tables,
    match_points,
};
use crate::tables::{self, Sink, Table};

/// Hands rows to a sink as batches.
struct Batches<'a>(&'a mut dyn Sink);

impl Tables for Batches<'_> {
    fn fates(&mut self, rows: &[FateRow], names: &[String]) -> Result<(), Error> {
        self.0.batch(Table::Fates, tables::fates(rows, names)?)
    }

    fn one_way(
        &mut self,
        rows: &[OneWayRow],
        fates: &[FateRow],
        names: &[String],
    ) -> Result<(), Error> {
        let batch = tables::one_way(rows, fates, names)?;
        self.0.batch(Table::OneWay, batch)
    }

    fn clocks(&mut self, rows: &[ClockRow], names: &[String]) -> Result<(), Error> {
        self.0.batch(Table::Clocks, tables::clocks(rows, names)?)
    }
}

/// Matches the captures of `points` into the tables of `sink`. `readings` are external measurements of their clocks.
///
/// # Errors
///
/// Fails if an option has no meaning, a capture cannot be read, or `sink` fails. Damage inside a capture is in the
/// summary.
pub fn match_captures(
    points: &[Point],
    readings: &[ClockReading],
    options: &MatchOptions,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<MatchSummary, Error> {
    let mut batches = Batches(sink);
    let summary = match_points(points, readings, options, &mut batches, progress)?;
    sink.end()?;
    Ok(summary)
}
