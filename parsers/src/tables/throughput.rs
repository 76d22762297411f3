//! Bins of the tracker to the table `throughput`, by time, then by the text of the addresses.

use arrow_array::RecordBatch;

use super::columns::{
    self, Column,
    Kind::{Int64, Text, Time},
};
use super::{BATCH_ROWS, Table, text};
use crate::error::Error;
use crate::track::{Bin, Throughput};

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

/// Hands all bins to `emit` in batches.
pub(crate) fn throughput(
    throughput: &mut Throughput,
    mut emit: impl FnMut(RecordBatch) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut bins = throughput.finish();
    let names: Vec<(String, String)> = throughput
        .pairs
        .iter()
        .map(|pair| {
            (
                text::address(pair.low, pair.v6),
                text::address(pair.high, pair.v6),
            )
        })
        .collect();
    let ends = |lane: u32| -> (&str, &str) {
        names
            .get(lane as usize / 2)
            .map_or(("", ""), |(low, high)| {
                if lane & 1 == 0 {
                    (low, high)
                } else {
                    (high, low)
                }
            })
    };
    // Lanes are numbered in order of appearance, which is the same whatever the thread count; their order
    // in the table goes by address.
    let mut lanes: Vec<u32> = (0..names.len() as u32 * 2).collect();
    lanes.sort_unstable_by_key(|&lane| ends(lane));
    let mut rank = vec![0_u32; lanes.len()];
    for (position, &lane) in lanes.iter().enumerate() {
        rank[lane as usize] = position as u32;
    }
    bins.sort_unstable_by_key(|bin| (bin.start, rank[bin.lane as usize]));
    let bins = merged(bins);
    for rows in bins.chunks(BATCH_ROWS) {
        emit(columns::batch(
            Table::Throughput.schema(),
            vec![
                columns::time(rows.iter().map(|bin| bin.start)),
                columns::int64(rows.iter().map(|_| throughput.bin_ns)),
                columns::text(rows.iter().map(|bin| ends(bin.lane).0)),
                columns::text(rows.iter().map(|bin| ends(bin.lane).1)),
                columns::int64(rows.iter().map(|bin| i64::from(bin.packets))),
                columns::int64(rows.iter().map(|bin| bin.wire as i64)),
                columns::int64(rows.iter().map(|bin| bin.payload as i64)),
            ],
        )?)?;
    }
    Ok(())
}

/// A bin that time went back to was closed before: its parts become one row.
fn merged(bins: Vec<Bin>) -> Vec<Bin> {
    let mut rows: Vec<Bin> = Vec::with_capacity(bins.len());
    for bin in bins {
        match rows.last_mut() {
            Some(row) if row.start == bin.start && row.lane == bin.lane => {
                row.packets = row.packets.saturating_add(bin.packets);
                row.wire += bin.wire;
                row.payload += bin.payload;
            }
            _ => rows.push(bin),
        }
    }
    rows
}
