//! Packet captures to Arrow batches and Parquet tables.
//!
//! The stages, in the order of the data: `source` (file, pipe, decompressor) gives windows of plain bytes,
//! `records` finds the packets in them, `decode` reads their headers, `track` keeps the flow table and the
//! TCP state, `tables` turns what was counted into Arrow batches, and [`folder`] writes those as Parquet.
//! [`run`] connects them; [`stream`] does the same for a reader of one table.
//!
//! Packets cross from stage to stage in chunks. Reading never panics on any input, and the same input
//! gives the same bytes.

mod budget;
mod chunk;
mod counting;
mod decode;
mod error;
pub mod folder;
mod input;
mod memory;
mod octets;
mod open_file;
mod options;
mod plain;
mod reading;
mod records;
mod run;
mod segment;
mod sizes;
mod source;
mod stages;
pub mod stream;
mod table_file;
mod tables;
mod threads;
mod track;

pub use error::{Damage, Error};
pub use input::Input;
pub use memory::WithReserve;
pub use octets::{Octets, count};
pub use options::{Manifest, Options};
pub use run::{FileSummary, Progress, Sink, Summary, check, run};
pub use source::Compression;
pub use tables::{Column, Kind, Table, protocol_name, with_values};

/// Version of this crate, written into every table.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
