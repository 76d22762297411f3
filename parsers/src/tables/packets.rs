//! Decoded and assigned packets to the table `packets`.

use arrow_array::RecordBatch;

use super::Table;
use super::arrays;
use super::columns::{
    Column,
    Kind::{Int32, Int64, Text, Time},
};
use super::dictionary::{DIRECTIONS, numbered};
use crate::capture::chunk::{Chunk, RecordPlace};
use crate::capture::sizes::SMALLEST;
use crate::common::error::Error;
use crate::decode::segment::Segment;
use crate::track::{Grouping, NONE, PacketFacts};

pub(super) const COLUMNS: &[Column] = &[
    Column::new("packet", Int64, "", "Number of the packet in the capture, from 1; it goes on across several files.", ""),
    Column::new("time", Time, "", "Time stamp of the record.", ""),
    Column::new("connection", Int64, "", "Number of the connection, as in flows; null for a packet that belongs to no flow.", "").or_null(),
    Column::new("direction", Text, "", "forward or backward, as in flows; null for a packet that belongs to no flow.", "").or_null().in_dictionary(),
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

/// Rows in a batch: chunks are multiples of it, so that batches do not depend on them.
const ROWS: usize = SMALLEST;

/// Consecutive packets of a chunk.
#[derive(Clone, Copy)]
struct PacketRows<'a> {
    /// Number of the first.
    first: i64,
    segments: &'a [Segment],
    places: &'a [RecordPlace],
    /// Connection of each.
    numbers: &'a [u32],
    ranks: &'a [Rank],
    facts: &'a [PacketFacts],
}

/// Position of a packet in the order by connection, and whether the initiator is the key's higher endpoint.
type Rank = (u32, bool);

/// Makes rows of chunks.
#[derive(Default)]
pub(crate) struct Packets {
    ranks: Vec<Rank>,
}

impl Packets {
    /// Hands the packets of `chunk`, numbered from `first`, to `emit`. `facts` is in the order of `grouping`.
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
            batch(PacketRows {
                first: (first + from as u64) as i64,
                segments: &chunk.segments()[rows.clone()],
                places: &chunk.places[rows.clone()],
                numbers: &grouping.numbers[rows.clone()],
                ranks: &self.ranks[rows],
                facts,
            })
        });
        arrays::hand_over(batches, emit)
    }
}

impl PacketRows<'_> {
    /// What counting told of each.
    fn facts(&self) -> impl Iterator<Item = PacketFacts> {
        self.ranks
            .iter()
            .map(|&(rank, _)| self.facts.get(rank as usize).copied().unwrap_or_default())
    }

    /// Of those that belong to a flow.
    fn directions(&self) -> impl Iterator<Item = u16> {
        let packets = self.segments.iter().zip(self.ranks);
        packets.map(|(segment, &(_, forward_from_high))| {
            (segment.is_from_high() != forward_from_high).into()
        })
    }
}

fn batch(rows: PacketRows) -> Result<RecordBatch, Error> {
    let PacketRows {
        first,
        segments,
        places,
        numbers,
        ..
    } = rows;
    let facts: Vec<PacketFacts> = rows.facts().collect();
    let in_flow = arrays::known(numbers.iter().map(|&number| number != NONE));
    let with_tcp = arrays::known(segments.iter().map(Segment::tcp));
    arrays::batch(
        Table::Packets,
        segments.len(),
        vec![
            arrays::int64((first..).take(segments.len())),
            arrays::time(segments.iter().map(|it| it.time)),
            arrays::int64_where(in_flow.as_ref(), numbers.iter().map(|&it| i64::from(it))),
            numbered(&DIRECTIONS, in_flow.as_ref(), rows.directions()),
            arrays::int64(segments.iter().map(|it| i64::from(it.wire))),
            arrays::int64(segments.iter().map(|it| i64::from(it.payload))),
            arrays::int64_or_null(facts.iter().map(|facts| facts.gap_ns)),
            arrays::int32_where(
                with_tcp.as_ref(),
                segments.iter().map(|it| i32::from(it.flags())),
            ),
            arrays::int64_where(
                with_tcp.as_ref(),
                segments.iter().map(|it| i64::from(it.seq)),
            ),
            arrays::int64_or_null(
                segments
                    .iter()
                    .map(|it| it.acknowledgement().map(i64::from)),
            ),
            arrays::int64_or_null(facts.iter().map(|facts| facts.window_bytes)),
            arrays::int32(places.iter().map(|it| it.interface as i32)),
            arrays::int64(places.iter().map(|it| it.file_offset as i64)),
        ],
    )
}
