//! Writes the gap counts of every direction to the table `intervals`.

use std::sync::{Arc, LazyLock};

use arrow_array::{Int64Array, RecordBatch, UInt16Array};

use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Int64, Text},
    columns,
};
use super::dictionary::{DIRECTIONS, ValueList, numbered, numbered_column};
use super::{BATCH_ROWS, Table};
use crate::common::error::Error;
use crate::track::{Connections, States, bucket, bucket_bounds, sides};

/// Passes all counts to `emit` in batches, by connection, forward first, then by bucket.
pub(crate) fn intervals(
    connections: &Connections,
    states: &States,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut sides = sides(connections, states);
    let mut rows: Vec<GapRow> = Vec::with_capacity(2 * BATCH_ROWS);
    let mut gone = 0;
    let batches = std::iter::from_fn(|| {
        rows.drain(..gone);
        while rows.len() < BATCH_ROWS
            && let Some(side) = sides.next()
        {
            side.own.gaps.each(|bucket, count| {
                rows.push(GapRow {
                    connection: side.number,
                    backward: side.backward,
                    bucket,
                    count,
                });
            });
        }
        gone = rows.len().min(BATCH_ROWS);
        (gone > 0).then(|| batch(&rows[..gone]))
    });
    arrays::hand_over(batches, emit)
}

struct GapRow {
    connection: u32,
    backward: bool,
    bucket: u16,
    count: i64,
}

static LOW: ValueList = LazyLock::new(|| Arc::new(bounds(|(low, _)| low)));
static HIGH: ValueList = LazyLock::new(|| Arc::new(bounds(|(_, high)| high)));

/// Returns one edge of every bucket.
fn bounds(edge: impl Fn((i64, i64)) -> i64) -> Int64Array {
    let buckets = 0..=bucket(i64::MAX as u64);
    Int64Array::from_iter_values(buckets.map(|bucket| edge(bucket_bounds(bucket))))
}

/// Rows of a batch.
struct GapRows<'a> {
    rows: &'a [GapRow],
    /// The bucket of each row: both of its edges have the same numbers.
    numbers: UInt16Array,
}

impl<'a> GapRows<'a> {
    fn each(&self) -> std::slice::Iter<'a, GapRow> {
        self.rows.iter()
    }

    /// Makes a column of one edge of each bucket.
    fn buckets(&self, edges: &'static ValueList) -> Making<'a> {
        numbered_column(edges, self.numbers.clone())
    }
}

columns! {
    <'a> rows: &GapRows<'a>;
    Column::new("connection", Int64, "", "Number of the connection, as in flows.", "")
        => arrays::int64(rows.each().map(|row| i64::from(row.connection)));
    Column::new("direction", Text, "", "forward or backward, as in flows.", "").in_dictionary()
        => numbered(&DIRECTIONS, None, rows.each().map(|row| row.backward.into()));
    Column::new("bucket_low_ns", Int64, "ns", "Shortest gap in the bucket.", "").in_dictionary()
        => rows.buckets(&LOW);
    Column::new("bucket_high_ns", Int64, "ns", "The gap behind the longest in the bucket. Buckets are the same in every table and at most 1/64 wide.", "").in_twin_dictionary()
        => rows.buckets(&HIGH);
    Column::new("count", Int64, "gaps", "Gaps between consecutive packets of the direction that fall into the bucket; gaps below 0 count as 0.", "")
        => arrays::int64(rows.each().map(|row| row.count));
}

fn batch(rows: &[GapRow]) -> Result<RecordBatch, Error> {
    let rows = GapRows {
        rows,
        numbers: UInt16Array::from_iter_values(rows.iter().map(|row| row.bucket)),
    };
    arrays::batch(Table::Intervals, rows.rows.len(), columns(&rows))
}
