//! Writes the clocks of the hosts of a run to the table `clocks`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;

use super::Table;
use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Float, Int64, Text, Time},
    columns,
};
use super::dictionary::{ValueList, numbered, texts};
use crate::common::error::Error;
use crate::matching::{ClockRow, Method};

static METHODS: ValueList = LazyLock::new(|| texts(Method::ALL.map(Method::name)));

/// Rows of a batch.
struct ClockRows<'a> {
    rows: &'a [ClockRow],
    hosts: &'a [String],
}

impl<'a> ClockRows<'a> {
    fn each(&self) -> impl ExactSizeIterator<Item = &'a ClockRow> + Send + use<'a> {
        self.rows.iter()
    }

    fn host(&self, number: fn(&ClockRow) -> u16) -> Making<'a> {
        let hosts = self.hosts;
        arrays::text(self.each().map(move |row| {
            hosts
                .get(usize::from(number(row)))
                .map_or("", String::as_str)
        }))
    }
}

columns! {
    <'a> rows: &ClockRows<'a>;
    Column::new("host", Text, "", "Host whose clock it is.", "")
        => rows.host(|row| row.host);
    Column::new("reference", Text, "", "Host whose clock it is compared with: the one that has packets both ways with most others.", "")
        => rows.host(|row| row.reference);
    Column::new("from", Time, "", "Begin, by the host's own clock: of its first packet, or that behind a step of some clock of the run; null where no packet of the run was found at two hosts.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.span.map(|(from, _)| from)));
    Column::new("to", Time, "", "End, likewise.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.span.map(|(_, to)| to)));
    Column::new("offset_ns", Int64, "ns", "How far the clock is ahead of the reference's at the begin; null where nothing bounds it on both sides, or what bounds it contradicts itself.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.offset));
    Column::new("offset_error_ns", Int64, "ns", "By how much the offset may be wrong from begin to end: half of the smallest round trip, since packets do not tell how it divides into both ways, and the uncertainty of the drift. 0 for the same kernel.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.error));
    Column::new("drift_ppm", Float, "ppm", "How much faster the clock is than the reference's; 0 if there are too few packets to measure it, for which the error allows.", "").or_null()
        => arrays::float_or_null(rows.each().map(|row| row.drift_ppm));
    Column::new("method", Text, "", "reference: the clock is compared with itself. same_kernel: the manifests of both captures name one running kernel. packets: packets both ways, perhaps by way of other hosts. packets_and_readings: the agent's comparisons of clocks, too. one_way: packets went one way only, which leaves the offset open. nothing: no packet links the two hosts. inconsistent: the packets contradict each other, or those of other hosts.", "").in_dictionary()
        => numbered(&METHODS, None, rows.each().map(|row| row.method as u16));
}

/// Makes a batch of rows; `hosts` are the names by their numbers.
pub(crate) fn clocks(rows: &[ClockRow], hosts: &[String]) -> Result<RecordBatch, Error> {
    let all = ClockRows { rows, hosts };
    arrays::batch(Table::Clocks, rows.len(), columns(&all))
}
