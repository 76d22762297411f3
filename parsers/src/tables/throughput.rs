//! Writes the bins of the tracker to the table `throughput`, by time, then by the addresses.

use arrow_array::RecordBatch;

use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Int64, Text, Time},
    columns,
};
use super::{BATCH_ROWS, Table};
use crate::common::error::Error;
use crate::track::{Bin, Lane, Throughput};

/// Rows of a batch.
struct BinRows<'a> {
    bins: &'a [Bin],
    throughput: &'a Throughput,
}

impl<'a> BinRows<'a> {
    fn each(&self) -> std::slice::Iter<'a, Bin> {
        self.bins.iter()
    }

    fn bin_lengths(&self) -> impl Iterator<Item = i64> + Send + 'a {
        std::iter::repeat_n(self.throughput.bin_ns, self.bins.len())
    }

    fn lanes(&self) -> impl Iterator<Item = &'a Lane> + Send + 'a {
        let lanes = &self.throughput.lanes;
        self.each().map(|bin| &lanes[bin.lane as usize])
    }
}

columns! {
    <'a> rows: &BinRows<'a>;
    Column::new("bin_start", Time, "", "Start of the bin: a multiple of bin_ns since 1970.", "")
        => arrays::time(rows.each().map(|bin| bin.start));
    Column::new("bin_ns", Int64, "ns", "Length of the bin.", "")
        => arrays::int64(rows.bin_lengths());
    Column::new("src_ip", Text, "", "Sender: the innermost IP header's source address.", "")
        => arrays::addresses(rows.lanes().map(|lane| (lane.source, lane.v6)));
    Column::new("dst_ip", Text, "", "Receiver: the innermost IP header's destination address.", "")
        => arrays::addresses(rows.lanes().map(|lane| (lane.destination, lane.v6)));
    Column::new("packets", Int64, "packets", "Packets in the bin, whatever their protocol above IP.", "")
        => arrays::int64(rows.each().map(|bin| i64::from(bin.packets)));
    Column::new("wire_bytes", Int64, "B", "Their lengths on the wire, with link header, without FCS.", "")
        => arrays::int64(rows.each().map(|bin| bin.wire as i64));
    Column::new("payload_bytes", Int64, "B", "Their TCP or UDP payload.", "")
        => arrays::int64(rows.each().map(|bin| bin.payload as i64));
}

/// Passes `bins` to `emit` in batches.
pub(crate) fn throughput(
    bins: &[Bin],
    throughput: &Throughput,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let batches = bins.chunks(BATCH_ROWS).map(|bins| {
        let rows = BinRows { bins, throughput };
        arrays::batch(Table::Throughput, bins.len(), columns(&rows))
    });
    arrays::hand_over(batches, emit)
}
