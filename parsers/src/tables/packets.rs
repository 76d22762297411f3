//! Decoded and assigned packets to the table `packets`.

use arrow_array::RecordBatch;

use super::columns::{
    self, Column,
    Kind::{Int32, Int64, Text, Time},
};
use super::flows::direction_name;
use super::{BATCH_ROWS, Table};
use crate::chunk::{Chunk, Place};
use crate::error::Error;
use crate::segment::Segment;
use crate::track::{NONE, Order, Told};

pub(super) const COLUMNS: &[Column] = &[
    Column::new("packet", Int64, "", "Number of the packet in the capture, from 1; it goes on across several files.", ""),
    Column::new("time", Time, "", "Time stamp of the record.", ""),
    Column::new("connection", Int64, "", "Number of the connection, as in flows; null for a packet that belongs to no flow.", "").or_null(),
    Column::new("direction", Text, "", "forward or backward, as in flows; null for a packet that belongs to no flow.", "").or_null(),
    Column::new("wire_bytes", Int64, "B", "Length on the wire, with link header, without FCS.", ""),
    Column::new("payload_bytes", Int64, "B", "TCP or UDP payload by the headers' own lengths; 0 for other packets.", ""),
    Column::new("gap_ns", Int64, "ns", "Time since the packet before it in its connection and direction; below 0 where time stamps go back, null for the first.", "").or_null(),
    Column::new("tcp_flags", Int32, "", "The 12 flag bits of the TCP header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256.", "RFC 9293 3.1").or_null(),
    Column::new("seq", Int64, "", "TCP sequence number as in the header.", "RFC 9293 3.1").or_null(),
    Column::new("ack", Int64, "", "TCP acknowledgement number as in the header; null without the ACK flag.", "RFC 9293 3.1").or_null(),
    Column::new("window_bytes", Int64, "B", "Advertised window with its scale; null where the scale is not known because a SYN was not captured.", "RFC 7323 2").or_null(),
    Column::new("interface", Int32, "", "Number of the interface within the file, from 0.", ""),
    Column::new("file_offset", Int64, "B", "Where the packet's record begins in the file, after decompression.", ""),
];

struct Row {
    number: i64,
    segment: Segment,
    place: Place,
    connection: Option<u32>,
    backward: bool,
    told: Told,
}

/// Collects rows until a batch is full.
#[derive(Default)]
pub(crate) struct Packets {
    rows: Vec<Row>,
    /// Place of each packet in the order by connection.
    ranks: Vec<(u32, bool)>,
}

impl Packets {
    /// Adds the packets of `chunk`, numbered from `first`; hands full batches to `emit`. `told` is in the
    /// order of `order`.
    pub(crate) fn add(
        &mut self,
        first: u64,
        chunk: &Chunk,
        order: &Order,
        told: &[Told],
        emit: &mut impl FnMut(RecordBatch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.ranks.clear();
        self.ranks.resize(chunk.count(), (NONE, false));
        for group in &order.groups {
            for rank in group.from..group.to {
                let packet = order.positions[rank as usize] as usize;
                self.ranks[packet] = (rank, group.forward_from_high);
            }
        }
        for (packet, segment) in chunk.segments().iter().enumerate() {
            let (rank, forward_from_high) = self.ranks[packet];
            let number = order.numbers[packet];
            self.rows.push(Row {
                number: (first + packet as u64) as i64,
                segment: *segment,
                place: chunk.places[packet],
                connection: (number != NONE).then_some(number),
                backward: segment.is_from_high() != forward_from_high,
                told: told.get(rank as usize).copied().unwrap_or_default(),
            });
            if self.rows.len() == BATCH_ROWS {
                self.flush(emit)?;
            }
        }
        Ok(())
    }

    /// Hands over what is left.
    pub(crate) fn flush(
        &mut self,
        emit: &mut impl FnMut(RecordBatch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = batch(&self.rows)?;
        self.rows.clear();
        emit(batch)
    }
}

fn batch(rows: &[Row]) -> Result<RecordBatch, Error> {
    let tcp = |row: &Row| row.segment.tcp();
    columns::batch(
        Table::Packets.schema(),
        vec![
            columns::int64(rows.iter().map(|row| row.number)),
            columns::time(rows.iter().map(|row| row.segment.time)),
            columns::int64_or_null(rows.iter().map(|row| row.connection.map(i64::from))),
            columns::text_or_null(
                rows.iter()
                    .map(|row| row.connection.map(|_| direction_name(row.backward))),
            ),
            columns::int64(rows.iter().map(|row| i64::from(row.segment.wire))),
            columns::int64(rows.iter().map(|row| i64::from(row.segment.payload))),
            columns::int64_or_null(rows.iter().map(|row| row.told.gap_ns)),
            columns::int32_or_null(
                rows.iter()
                    .map(|row| tcp(row).then(|| i32::from(row.segment.flags()))),
            ),
            columns::int64_or_null(
                rows.iter()
                    .map(|row| tcp(row).then(|| i64::from(row.segment.seq))),
            ),
            columns::int64_or_null(
                rows.iter()
                    .map(|row| row.segment.acknowledgement().map(i64::from)),
            ),
            columns::int64_or_null(rows.iter().map(|row| row.told.window_bytes)),
            columns::int32(rows.iter().map(|row| row.place.interface as i32)),
            columns::int64(rows.iter().map(|row| row.place.file_offset as i64)),
        ],
    )
}
