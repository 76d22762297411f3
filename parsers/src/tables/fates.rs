//! Writes the fates of packets between the hosts of a run to the table `fates`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;

use super::Table;
use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Bool, Int32, Int64, Text, Time},
    columns,
};
use super::dictionary::{ValueList, numbered, texts};
use super::text::protocol;
use crate::common::error::Error;
use crate::decode::has_ports;
use crate::matching::{Evidence, Fate, FateRow};

static FATES: ValueList = LazyLock::new(|| texts(Fate::ALL.map(Fate::name)));
static EVIDENCE: ValueList = LazyLock::new(|| texts(Evidence::ALL.map(Evidence::name)));
static PROTOCOLS: ValueList = LazyLock::new(|| texts((0..=u8::MAX).map(protocol)));

/// Rows of a batch.
struct FateRows<'a> {
    rows: &'a [FateRow],
    hosts: &'a [String],
    with_ports: Option<NullBuffer>,
    with_seq: Option<NullBuffer>,
}

impl<'a> FateRows<'a> {
    fn each(&self) -> impl ExactSizeIterator<Item = &'a FateRow> + Send + use<'a> {
        self.rows.iter()
    }

    fn host(&self, number: fn(&FateRow) -> Option<u16>) -> Making<'a> {
        let hosts = self.hosts;
        arrays::text_or_null(
            self.each()
                .map(move |row| hosts.get(usize::from(number(row)?))),
        )
    }

    fn port(&self, port: fn(&FateRow) -> u16) -> Making<'a> {
        let ports = self.each().map(move |row| i32::from(port(row)));
        arrays::int32_where(self.with_ports.as_ref(), ports)
    }
}

columns! {
    <'a> rows: &FateRows<'a>;
    Column::new("sender", Text, "", "Host that has the source address; null where no captured host has it.", "").or_null()
        => rows.host(|row| row.sender);
    Column::new("receiver", Text, "", "Host that has the destination address; null where no captured host has it.", "").or_null()
        => rows.host(|row| row.receiver);
    Column::new("src_ip", Text, "", "The innermost IP header's source address; of a host behind address translation its own.", "")
        => arrays::addresses(rows.each().map(|row| (row.packet.source, row.packet.v6)));
    Column::new("src_port", Int32, "", "Source port, of a host behind address translation its own; null where the protocol has none.", "").or_null()
        => rows.port(|row| row.packet.source_port);
    Column::new("dst_ip", Text, "", "The innermost IP header's destination address; of a host behind address translation its own.", "")
        => arrays::addresses(rows.each().map(|row| (row.packet.destination, row.packet.v6)));
    Column::new("dst_port", Int32, "", "Destination port, of a host behind address translation its own; null where the protocol has none.", "").or_null()
        => rows.port(|row| row.packet.destination_port);
    Column::new("protocol", Text, "", "Protocol above IP, as in flows.", "").in_dictionary()
        => numbered(&PROTOCOLS, None, rows.each().map(|row| u16::from(row.packet.protocol)));
    Column::new("time_sent", Time, "", "Time in the sender's capture, by the sender's clock; null where that lacks the packet, or nobody captured at the sender.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.sent.map(|(time, _)| time)));
    Column::new("time_received", Time, "", "Time in the receiver's capture, by the receiver's clock: of the last part, where interfaces cut or merged segments; of a packet that is outside, in the capture that has it; null where that lacks the packet, or nobody captured at the receiver.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.received.map(|(time, _)| time)));
    Column::new("packet_sent", Int64, "", "Number of its record in the sender's capture, from 1.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.sent.map(|(_, number)| number as i64)));
    Column::new("packet_received", Int64, "", "Number of the record of that time in the receiver's capture, from 1.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.received.map(|(_, number)| number as i64)));
    Column::new("ip_id", Int32, "", "IPv4 identification; 0 for IPv6.", "RFC 6864")
        => arrays::int32(rows.each().map(|row| i32::from(row.packet.ident)));
    Column::new("ip_bytes", Int64, "B", "Length of the innermost IP packet.", "")
        => arrays::int64(rows.each().map(|row| i64::from(row.packet.ip_bytes)));
    Column::new("payload_bytes", Int64, "B", "TCP or UDP payload by the headers' own lengths; 0 for other packets.", "")
        => arrays::int64(rows.each().map(|row| i64::from(row.packet.payload)));
    Column::new("seq", Int64, "", "TCP sequence number as in the header; null where it is no TCP segment.", "RFC 9293 3.1").or_null()
        => arrays::int64_where(rows.with_seq.as_ref(), rows.each().map(|row| row.packet.tcp.map_or(0, |tcp| i64::from(tcp.seq))));
    Column::new("is_retransmission", Bool, "", "Sequence numbers of it stood in the sender's capture before; null unless it is a TCP segment in the sender's capture.", "").or_null()
        => arrays::boolean_or_null(rows.each().map(|row| row.is_retransmission));
    Column::new("fate", Text, "", "delivered: both hosts captured it. lost: its sender captured it, and its receiver's capture, in which no gap is known, lacks it, or a part of it where interfaces cut segments. not_captured: it crossed the path, and one of the two captures lacks it. duplicated: one more copy of a packet that has a row of its own. unknown: the captures do not show it. outside: not from one captured host to another.", "").in_dictionary()
        => numbered(&FATES, None, rows.each().map(|row| row.fate as u16));
    Column::new("evidence", Text, "", "Why: matched (both captures have it), absent (the receiver's capture lacks it), reported (the receiver did not acknowledge it when it had data behind it), acknowledged (the receiver acknowledged what its capture lacks; unknown where more than one packet carried that), arrived (only the sender's capture lacks it), copy (a capture has it twice), alike (packets that look the same were under way at once, and not all arrived), incomplete (the other capture lacks other packets too, or goes back in time, so this one may have passed there), edge (the other capture may have begun later or ended sooner), merged (the other capture has bytes of it in a segment that cannot have been cut from it or merged with it; or one of the captures of its flow has UDP datagrams longer than the path carries, which an interface cut or merged; or a router divides packets of the path into fragments), unmatched (no packet of the path was found at both ends: an address translator, or captures of different times), window (more packets were under way than the window holds, or it came later in its file than the window is long), no_capture (there is none of the other end).", "").in_dictionary()
        => numbered(&EVIDENCE, None, rows.each().map(|row| row.evidence as u16));
    Column::new("lost_bytes", Int64, "B", "Payload of a lost packet that did not arrive: all of it, or the parts that are missing of a segment that the sender's interface cut; null where the packet is not lost.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.lost_bytes.map(i64::from)));
    Column::new("reordered_by", Int64, "packets", "Reordering extent: arrivals from the first packet of the same path that was sent later and arrived sooner, up to this one; 0 in order; null where it was not delivered. At most 16,384 arrivals that overtook others are remembered.", "RFC 4737 4.2.2").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.reordered_by.map(|extent| extent as i64)));
}

/// Makes a batch of rows; `hosts` are the names by their numbers.
pub(crate) fn fates(rows: &[FateRow], hosts: &[String]) -> Result<RecordBatch, Error> {
    let with_ports = arrays::known(rows.iter().map(|row| has_ports(row.packet.protocol)));
    let with_seq = arrays::known(rows.iter().map(|row| row.packet.tcp.is_some()));
    let all = FateRows {
        rows,
        hosts,
        with_ports,
        with_seq,
    };
    arrays::batch(Table::Fates, rows.len(), columns(&all))
}
