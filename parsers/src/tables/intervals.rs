//! Gap counts of every direction to the table `intervals`.

use arrow_array::RecordBatch;

use super::columns::{
    self, Column,
    Kind::{Int64, Text},
};
use super::flows::direction_name;
use super::{BATCH_ROWS, Table};
use crate::error::Error;
use crate::track::{Tracker, bucket_bounds};

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
    tracker: &Tracker,
    mut emit: impl FnMut(RecordBatch) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows: Vec<(i64, bool, u16, i64)> = Vec::new();
    let write = |rows: &[(i64, bool, u16, i64)]| {
        columns::batch(
            Table::Intervals.schema(),
            vec![
                columns::int64(rows.iter().map(|row| row.0)),
                columns::text(rows.iter().map(|row| direction_name(row.1))),
                columns::int64(rows.iter().map(|row| bucket_bounds(row.2).0)),
                columns::int64(rows.iter().map(|row| bucket_bounds(row.2).1)),
                columns::int64(rows.iter().map(|row| row.3)),
            ],
        )
    };
    for (connection, flow) in tracker.flows() {
        for (backward, _, direction, _) in tracker.sides(flow) {
            for (bucket, count) in direction.gaps.sorted() {
                rows.push((i64::from(connection), backward, bucket, count));
            }
        }
        while rows.len() >= BATCH_ROWS {
            emit(write(&rows[..BATCH_ROWS])?)?;
            rows.drain(..BATCH_ROWS);
        }
    }
    if !rows.is_empty() {
        emit(write(&rows)?)?;
    }
    Ok(())
}
