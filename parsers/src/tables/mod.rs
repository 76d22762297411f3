//! The tables: their columns, described once, and their rows as Arrow batches.

mod arrays;
mod captures;
mod clocks;
mod columns;
mod dictionary;
mod fates;
mod flows;
mod intervals;
mod messages;
mod one_way;
mod packets;
mod rdma;
mod sink;
mod text;
mod throughput;

use std::sync::{Arc, LazyLock};

use arrow_schema::SchemaRef;

pub(crate) use captures::captures;
pub(crate) use clocks::clocks;
pub(crate) use columns::spark_schema;
pub use columns::{Column, Kind};
pub use dictionary::with_values;
pub(crate) use fates::fates;
pub(crate) use flows::flows;
pub(crate) use intervals::intervals;
pub(crate) use messages::Messages;
pub(crate) use one_way::one_way;
pub(crate) use packets::Packets;
pub(crate) use rdma::rdma;
pub use sink::Sink;
pub use text::protocol as protocol_name;
pub(crate) use throughput::throughput;

/// Rows in one Arrow batch. Fixed, so that the same input gives the same bytes.
pub(crate) const BATCH_ROWS: usize = 16_384;

/// One of the tables that a capture is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Table {
    /// One row per file and interface.
    Captures,
    /// One row per connection and direction.
    Flows,
    /// Gaps between packets, counted in buckets.
    Intervals,
    /// Non-empty time bins per pair of addresses.
    Throughput,
    /// Application messages inferred from TCP headers.
    Messages,
    /// One row per direction and queue pair that receives RDMA packets.
    Rdma,
    /// One row per packet.
    Packets,
    /// What became of each packet between the hosts of a run.
    Fates,
    /// Offset, drift and steps of the clocks of a run's hosts.
    Clocks,
    /// One-way delays of packets between the hosts of a run.
    OneWay,
}

impl Table {
    /// Every table of one capture.
    pub const ALL: [Self; 7] = [
        Self::Captures,
        Self::Flows,
        Self::Intervals,
        Self::Throughput,
        Self::Messages,
        Self::Rdma,
        Self::Packets,
    ];

    /// The tables that several captures of one run make together.
    pub const MATCHED: [Self; 3] = [Self::Fates, Self::Clocks, Self::OneWay];

    /// Every table, in the order of their numbers.
    const EVERY: [Self; 10] = [
        Self::Captures,
        Self::Flows,
        Self::Intervals,
        Self::Throughput,
        Self::Messages,
        Self::Rdma,
        Self::Packets,
        Self::Fates,
        Self::Clocks,
        Self::OneWay,
    ];

    /// Returns its name, which is also its file's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Captures => "captures",
            Self::Flows => "flows",
            Self::Intervals => "intervals",
            Self::Throughput => "throughput",
            Self::Messages => "messages",
            Self::Rdma => "rdma",
            Self::Packets => "packets",
            Self::Fates => "fates",
            Self::Clocks => "clocks",
            Self::OneWay => "one_way",
        }
    }

    /// Returns the table called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|table| table.name() == name)
    }

    /// Returns its columns in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Captures => captures::COLUMNS,
            Self::Flows => flows::COLUMNS,
            Self::Intervals => intervals::COLUMNS,
            Self::Throughput => throughput::COLUMNS,
            Self::Messages => messages::COLUMNS,
            Self::Rdma => rdma::COLUMNS,
            Self::Packets => packets::COLUMNS,
            Self::Fates => fates::COLUMNS,
            Self::Clocks => clocks::COLUMNS,
            Self::OneWay => one_way::COLUMNS,
        }
    }

    /// Returns its Arrow schema; every field's metadata describes the column.
    pub fn schema(self) -> SchemaRef {
        static ALL: LazyLock<[SchemaRef; Table::EVERY.len()]> =
            LazyLock::new(|| Table::EVERY.map(|table| Arc::new(columns::schema(table.columns()))));
        Arc::clone(&ALL[self as usize])
    }

    /// Returns the schema of the batches that a [`Sink`](crate::Sink) receives: there, columns of few different values
    /// are dictionaries.
    pub fn batch_schema(self) -> SchemaRef {
        static ALL: LazyLock<[SchemaRef; Table::EVERY.len()]> = LazyLock::new(|| {
            Table::EVERY.map(|table| Arc::new(columns::batch_schema(table.columns())))
        });
        Arc::clone(&ALL[self as usize])
    }
}
