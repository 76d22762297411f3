//! Captures of several hosts to the table of their packets' fates.

use crate::common::error::Error;
use crate::common::progress::Progress;
use crate::matching::{MatchOptions, MatchSummary, Point, match_points};
use crate::tables::{self, Sink, Table};

/// Matches the captures of `points` into the tables of `sink`.
///
/// # Errors
///
/// An option has no meaning, a capture cannot be read, or `sink` fails. Damage inside a capture is in the summary.
pub fn match_captures(
    points: &[Point],
    options: &MatchOptions,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<MatchSummary, Error> {
    let mut emit =
        |rows: &[_], names: &[String]| sink.batch(Table::Fates, tables::fates(rows, names)?);
    let summary = match_points(points, options, &mut emit, progress)?;
    sink.end()?;
    Ok(summary)
}
