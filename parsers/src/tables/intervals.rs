//! Gap counts of every direction to the table `intervals`.

use arrow_array::RecordBatch;

use super::columns::{
    self, Column,
    Kind::{Int64, Text},
};
use super::{BATCH_ROWS, Table, text};
use crate::error::Error;
use crate::track::{Connections, States, bucket_bounds, sides};

pub(super) const COLUMNS: &[Column] = &[
    Column::new(
        "connection",
        Int64,
        "",
        "Number of the connection, as in flows.",
        "",
    ),
    Column::new(
        "direction",
        Text,
        "",
        "forward or backward, as in flows.",
        "",
    ),
    Column::new(
        "bucket_low_ns",
        Int64,
        "ns",
        "Shortest gap in the bucket.",
        "",
    ),
    Column::new(
        "bucket_high_ns",
        Int64,
        "ns",
        "The gap behind the longest in the bucket. Buckets are the same in every table and at most 1/64 wide.",
        "",
    ),
    Column::new(
        "count",
        Int64,
        "gaps",
        "Gaps between consecutive packets of the direction that fall into the bucket; gaps below 0 count as 0.",
        "",
    ),
];

/// Hands all counts to `emit` in batches, by connection, forward first, then by bucket.
pub(crate) fn intervals(
    connections: &Connections,
    states: &States,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut sides = sides(connections, states);
    let mut rows: Vec<Row> = Vec::with_capacity(2 * BATCH_ROWS);
    let mut gone = 0;
    let batches = std::iter::from_fn(|| {
        rows.drain(..gone);
        while rows.len() < BATCH_ROWS
            && let Some(side) = sides.next()
        {
            side.own.gaps.each(|bucket, count| {
                rows.push(Row {
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
    columns::hand_over(batches, emit)
}

struct Row {
    connection: u32,
    backward: bool,
    bucket: u16,
    count: i64,
}

fn batch(rows: &[Row]) -> Result<RecordBatch, Error> {
    columns::batch(
        Table::Intervals.schema(),
        vec![
            columns::int64(rows.iter().map(|row| i64::from(row.connection))),
            columns::words(rows.iter().map(|row| text::direction(row.backward))),
            columns::int64(rows.iter().map(|row| bucket_bounds(row.bucket).0)),
            columns::int64(rows.iter().map(|row| bucket_bounds(row.bucket).1)),
            columns::int64(rows.iter().map(|row| row.count)),
        ],
    )
}
