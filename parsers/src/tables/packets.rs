//! Writes decoded and assigned packets to the table `packets`.

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;

use super::Table;
use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Int32, Int64, Text, Time},
    columns,
};
use super::dictionary::{DIRECTIONS, numbered};
use crate::capture::chunk::Chunk;
use crate::capture::sizes::SMALLEST;
use crate::common::error::Error;
use crate::decode::segment::Segment;
use crate::records::RecordPlace;
use crate::track::{Grouping, NONE, PacketFacts};

/// Rows in a batch: chunks are multiples of it, so that batches do not depend on them.
const ROWS: usize = SMALLEST;

/// Consecutive packets of a chunk.
struct PacketRows<'a> {
    /// Number of the first packet, and of each one if they are not in the order of the files.
    first: i64,
    reordered: &'a [u64],
    /// The packets that are copies: position in the chunk, where this batch begins at `from`, and number of the
    /// original.
    from: usize,
    copies: &'a [(u32, u64)],
    segments: &'a [Segment],
    places: &'a [RecordPlace],
    /// Connection of each packet.
    numbers: &'a [u32],
    ranks: &'a [Rank],
    /// What counting found for each packet.
    facts: &'a [PacketFacts],
    /// Which packets belong to a flow, and which are TCP.
    in_flow: Option<NullBuffer>,
    with_tcp: Option<NullBuffer>,
}

/// Position of a packet in the order by connection, and whether the initiator is the key's higher endpoint.
type Rank = (u32, bool);

/// Turns chunks into rows.
#[derive(Default)]
pub(crate) struct Packets {
    ranks: Vec<Rank>,
}

impl Packets {
    /// Passes the packets of `chunk`, numbered from `first`, to `emit`. `facts` is in the order of `grouping`.
    pub(crate) fn add(
        &mut self,
        first: u64,
        chunk: &Chunk,
        grouping: &Grouping,
        facts: &[PacketFacts],
        emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        self.ranks.clear();
        self.ranks.resize(chunk.count(), (NONE, false));
        for group in &grouping.groups {
            for rank in group.from..group.to {
                let packet = grouping.positions[rank as usize] as usize;
                self.ranks[packet] = (rank, group.forward_from_high);
            }
        }
        let batches = (0..chunk.count()).step_by(ROWS).map(|from| {
            let rows = from..chunk.count().min(from + ROWS);
            let ranks = &self.ranks[rows.clone()];
            let facts: Vec<PacketFacts> = ranks
                .iter()
                .map(|&(rank, _)| facts.get(rank as usize).copied().unwrap_or_default())
                .collect();
            let segments = &chunk.segments()[rows.clone()];
            let numbers = &grouping.numbers[rows.clone()];
            let copies_before = |end: usize| {
                chunk
                    .copies
                    .partition_point(|&(position, _)| (position as usize) < end)
            };
            let rows = PacketRows {
                first: (first + from as u64) as i64,
                reordered: chunk.numbers.get(rows.clone()).unwrap_or_default(),
                from,
                copies: &chunk.copies[copies_before(rows.start)..copies_before(rows.end)],
                segments,
                places: &chunk.places[rows],
                numbers,
                ranks,
                facts: &facts,
                in_flow: arrays::known(numbers.iter().map(|&number| number != NONE)),
                with_tcp: arrays::known(segments.iter().map(Segment::tcp)),
            };
            arrays::batch(Table::Packets, segments.len(), columns(&rows))
        });
        arrays::hand_over(batches, emit)
    }
}

impl<'a> PacketRows<'a> {
    /// Returns the numbers of the packets.
    fn numbers_in_files(&self) -> impl Iterator<Item = i64> + Send + use<'a> {
        let (first, reordered) = (self.first, self.reordered);
        (0..self.segments.len()).map(move |row| match reordered.get(row) {
            Some(&number) => number as i64,
            None => first + row as i64,
        })
    }

    /// Returns the numbers of the packets' originals; none for a packet that is not a copy.
    fn originals(&self) -> impl ExactSizeIterator<Item = Option<i64>> + Send + use<'a> {
        let (from, mut copies) = (self.from, self.copies.iter().peekable());
        (0..self.segments.len()).map(move |row| {
            let copy = copies.next_if(|&&(position, _)| position as usize == from + row);
            copy.map(|&(_, number)| number as i64)
        })
    }

    /// Returns the directions of the packets that belong to a flow.
    fn directions(&self) -> impl Iterator<Item = u16> + Send + use<'a> {
        let packets = self.segments.iter().zip(self.ranks);
        packets.map(|(segment, &(_, forward_from_high))| {
            (segment.is_from_high() != forward_from_high).into()
        })
    }
}

columns! {
    <'a> rows: &PacketRows<'a>;
    Column::new("packet", Int64, "", "Number of the packet in the order of the files, from 1; it goes on across several files. Rows are in the order of time, as far as the order window puts packets into it.", "")
        => arrays::int64(rows.numbers_in_files());
    Column::new("time", Time, "", "Time stamp of the record.", "")
        => arrays::time(rows.segments.iter().map(|it| it.time));
    Column::new("connection", Int64, "", "Number of the connection, as in flows; null for a packet that belongs to no flow, and for a copy.", "").or_null()
        => arrays::int64_where(rows.in_flow.as_ref(), rows.numbers.iter().map(|&it| i64::from(it)));
    Column::new("direction", Text, "", "forward or backward, as in flows; null for a packet that belongs to no flow.", "").or_null().in_dictionary()
        => numbered(&DIRECTIONS, rows.in_flow.as_ref(), rows.directions());
    Column::new("wire_bytes", Int64, "B", "Length on the wire, with link header, without FCS.", "")
        => arrays::int64(rows.segments.iter().map(|it| i64::from(it.wire)));
    Column::new("payload_bytes", Int64, "B", "TCP or UDP payload by the headers' own lengths; 0 for other packets.", "")
        => arrays::int64(rows.segments.iter().map(|it| i64::from(it.payload)));
    Column::new("gap_ns", Int64, "ns", "Time since the packet before it in its connection and direction; below 0 where time stamps go back, null for the first.", "").or_null()
        => arrays::int64_or_null(rows.facts.iter().map(|facts| facts.gap_ns));
    Column::new("ecn", Int32, "", "ECN bits of the innermost IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE; null for a packet that belongs to no flow.", "RFC 3168 5").or_null()
        => arrays::int32_where(rows.in_flow.as_ref(), rows.segments.iter().map(|it| i32::from(it.ecn())));
    Column::new("tcp_flags", Int32, "", "The 12 flag bits of the TCP header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256.", "RFC 9293 3.1").or_null()
        => arrays::int32_where(rows.with_tcp.as_ref(), rows.segments.iter().map(|it| i32::from(it.flags())));
    Column::new("seq", Int64, "", "TCP sequence number as in the header.", "RFC 9293 3.1").or_null()
        => arrays::int64_where(rows.with_tcp.as_ref(), rows.segments.iter().map(|it| i64::from(it.seq)));
    Column::new("ack", Int64, "", "TCP acknowledgement number as in the header; null without the ACK flag.", "RFC 9293 3.1").or_null()
        => arrays::int64_or_null(rows.segments.iter().map(|it| it.acknowledgement().map(i64::from)));
    Column::new("window_bytes", Int64, "B", "Advertised window with its scale; null where the scale is not known because a SYN was not captured.", "RFC 7323 2").or_null()
        => arrays::int64_or_null(rows.facts.iter().map(|facts| facts.window_bytes));
    Column::new("interface", Int32, "", "Number of the interface within the file, from 0; -1: no block of the file describes it.", "")
        => arrays::int32(rows.places.iter().map(|it| it.interface as i32));
    Column::new("copy_of", Int64, "", "Number of the packet that this one is a copy of; null for a packet that is none. Copies belong to no flow.", "RFC 6864").or_null()
        => arrays::int64_or_null(rows.originals());
    Column::new("file_offset", Int64, "B", "Where the packet's record begins in the file, after decompression.", "")
        => arrays::int64(rows.places.iter().map(|it| it.file_offset as i64));
}
