//! Writes the one-way delays of packets between the hosts of a run to the table `one_way`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;

use super::Table;
use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Int32, Int64, Text, Time},
    columns,
};
use super::dictionary::{ValueList, numbered, texts};
use super::text::protocol;
use crate::common::error::Error;
use crate::decode::has_ports;
use crate::matching::{FateRow, OneWayRow, Sighting};

static PROTOCOLS: ValueList = LazyLock::new(|| texts((0..=u8::MAX).map(protocol)));

/// Rows of a batch.
struct OneWayRows<'a> {
    rows: &'a [OneWayRow],
    fates: &'a [FateRow],
    hosts: &'a [String],
    with_ports: Option<NullBuffer>,
}

impl<'a> OneWayRows<'a> {
    fn each(&self) -> impl ExactSizeIterator<Item = &'a OneWayRow> + Send + use<'a> {
        self.rows.iter()
    }

    /// Returns the fate of the packet of each row.
    fn fates(&self) -> impl ExactSizeIterator<Item = &'a FateRow> + Send + use<'a> {
        let fates = self.fates;
        self.each().map(move |row| &fates[row.fate])
    }

    fn host(&self, number: fn(&OneWayRow) -> u16) -> Making<'a> {
        let hosts = self.hosts;
        arrays::text(self.each().map(move |row| {
            hosts
                .get(usize::from(number(row)))
                .map_or("", String::as_str)
        }))
    }

    fn port(&self, port: fn(&Sighting) -> u16) -> Making<'a> {
        let ports = self.fates().map(move |row| i32::from(port(&row.packet)));
        arrays::int32_where(self.with_ports.as_ref(), ports)
    }
}

columns! {
    <'a> rows: &OneWayRows<'a>;
    Column::new("sender", Text, "", "Host that sent the packet.", "")
        => rows.host(|row| row.path.0);
    Column::new("receiver", Text, "", "Host that received it.", "")
        => rows.host(|row| row.path.1);
    Column::new("src_ip", Text, "", "Source address, as in fates.", "")
        => arrays::addresses(rows.fates().map(|row| (row.packet.source, row.packet.v6)));
    Column::new("src_port", Int32, "", "Source port; null where the protocol has none.", "").or_null()
        => rows.port(|packet| packet.source_port);
    Column::new("dst_ip", Text, "", "Destination address, as in fates.", "")
        => arrays::addresses(rows.fates().map(|row| (row.packet.destination, row.packet.v6)));
    Column::new("dst_port", Int32, "", "Destination port; null where the protocol has none.", "").or_null()
        => rows.port(|packet| packet.destination_port);
    Column::new("protocol", Text, "", "Protocol above IP, as in flows.", "").in_dictionary()
        => numbered(&PROTOCOLS, None, rows.fates().map(|row| u16::from(row.packet.protocol)));
    Column::new("packet_sent", Int64, "", "Number of its record in the sender's capture, from 1, as in fates.", "")
        => arrays::int64(rows.fates().map(|row| row.sent.map_or(0, |(_, number)| number as i64)));
    Column::new("time_sent", Time, "", "Time in the sender's capture, by the sender's own clock.", "")
        => arrays::time(rows.each().map(|row| row.sent));
    Column::new("time_sent_reference", Time, "", "The same time by the reference's clock; null where the sender's clock, or the receiver's, is not known.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.delay.sent));
    Column::new("delay_ns", Int64, "ns", "How long it was under way, by repaired clocks; null where these are not known, or one was being set. Below 0 the repair is wrong, or a capture's stamps are.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.delay.duration));
    Column::new("delay_error_ns", Int64, "ns", "By how much the delay may be wrong, the same for all packets between two hosts from one step of a clock to the next: how the round trip divides into both ways.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.delay.error));
    Column::new("queue_ns", Int64, "ns", "Delay above the least one of the same two hosts and direction, from one step of a clock to the next; known without the clocks' offsets. Null while a clock was being set.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.delay.queue));
}

/// Makes a batch of rows about packets of `fates`; `hosts` are the names by their numbers.
pub(crate) fn one_way(
    rows: &[OneWayRow],
    fates: &[FateRow],
    hosts: &[String],
) -> Result<RecordBatch, Error> {
    let mut all = OneWayRows {
        rows,
        fates,
        hosts,
        with_ports: None,
    };
    all.with_ports = arrays::known(all.fates().map(|row| has_ports(row.packet.protocol)));
    arrays::batch(Table::OneWay, rows.len(), columns(&all))
}
