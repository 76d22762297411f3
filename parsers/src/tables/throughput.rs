//! Bins of the tracker to the table `throughput`, by time, then by the addresses.

use arrow_array::RecordBatch;

use super::arrays;
use super::columns::{
    Column,
    Kind::{Int64, Text, Time},
};
use super::{BATCH_ROWS, Table};
use crate::common::error::Error;
use crate::track::{Bin, Lane, Throughput};

pub(super) const COLUMNS: &[Column] = &[
    Column::new(
        "bin_start",
        Time,
        "",
        "Start of the bin: a multiple of bin_ns since 1970.",
        "",
    ),
    Column::new("bin_ns", Int64, "ns", "Length of the bin.", ""),
    Column::new(
        "src_ip",
        Text,
        "",
        "Sender: the innermost IP header's source address.",
        "",
    ),
    Column::new(
        "dst_ip",
        Text,
        "",
        "Receiver: the innermost IP header's destination address.",
        "",
    ),
    Column::new(
        "packets",
        Int64,
        "packets",
        "Packets in the bin, whatever their protocol above IP.",
        "",
    ),
    Column::new(
        "wire_bytes",
        Int64,
        "B",
        "Their lengths on the wire, with link header, without FCS.",
        "",
    ),
    Column::new("payload_bytes", Int64, "B", "Their TCP or UDP payload.", ""),
];

/// Hands `bins` to `emit` in batches.
pub(crate) fn throughput(
    bins: &[Bin],
    throughput: &Throughput,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let lane = |bin: &Bin| -> &Lane { &throughput.lanes[bin.lane as usize] };
    let batches = bins.chunks(BATCH_ROWS).map(|rows| {
        arrays::batch(
            Table::Throughput,
            rows.len(),
            vec![
                arrays::time(rows.iter().map(|bin| bin.start)),
                arrays::int64(rows.iter().map(|_| throughput.bin_ns)),
                arrays::addresses(rows.iter().map(|bin| (lane(bin).source, lane(bin).v6))),
                arrays::addresses(rows.iter().map(|bin| (lane(bin).destination, lane(bin).v6))),
                arrays::int64(rows.iter().map(|bin| i64::from(bin.packets))),
                arrays::int64(rows.iter().map(|bin| bin.wire as i64)),
                arrays::int64(rows.iter().map(|bin| bin.payload as i64)),
            ],
        )
    });
    arrays::hand_over(batches, emit)
}
