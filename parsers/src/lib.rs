//! Turns packet captures into Arrow batches and Parquet tables.
//!
//! The stages are folders, in the order of the data: `source` returns windows of the plain bytes of a file, a pipe or a
//! compressed stream, `records` finds the packets in them, `decode` reads their headers, `capture` merges files by time
//! into chunks of packets, `sift` inspects captures that need it more closely, `track` finds the connection of each
//! packet and follows TCP, `tables` makes Arrow batches of the counts, and `table_file` writes those as Parquet
//! ([`folder`]). `pipeline` connects them ([`run()`]); [`stream`](mod@stream) does the same for a reader of one table.
//! `common` contains what all of them use.
//!
//! `matching` combines the captures of several hosts: where each packet was seen, and what became of it.
//!
//! Packets pass from stage to stage in chunks. Reading never panics on any input, and the same input produces the same
//! bytes.

mod capture;
mod common;
mod decode;
mod matching;
mod pipeline;
mod records;
mod sift;
mod source;
mod table_file;
mod tables;
mod track;

pub use capture::counts::Manifest;
pub use capture::merge::FileSummary;
pub use common::error::{Damage, Error};
#[doc(hidden)]
pub use common::fast_paths::FastPaths;
pub use common::memory::WithReserve;
pub use common::progress::Progress;
pub use matching::{
    ClockFound, ClockReading, MatchOptions, MatchSummary, PathCounts, Point, TranslationFound,
};
pub use pipeline::matched::match_captures;
pub use pipeline::options::Options;
pub use pipeline::run::{Summary, check, run};
pub use pipeline::stream;
pub use source::{Compression, Input, UnpackedBytes, count};
pub use table_file::folder;
pub use tables::{Column, Kind, Sink, Table, protocol_name, with_values};

/// Version of this crate, written into every table.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
