//! Failures and damage as values with the place, what was found and what was expected.

use std::io;

/// Why a capture could not be read or a table could not be written at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed, with the path.
        what: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The input is not a supported capture.
    #[error("{file}: not a packet capture: found {found}; expected {expected}")]
    NotACapture {
        /// Name of the input.
        file: String,
        /// The first bytes in readable form.
        found: String,
        /// The first bytes that a capture may have, in words.
        expected: String,
        /// The remedy.
        remedy: String,
    },
    /// An option has no meaning.
    #[error("{option}: found {found}; expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        found: String,
        /// The valid values of the option.
        expected: &'static str,
    },
    /// The state of the packets would take more memory than allowed.
    #[error("{place}: out of memory: {found}; expected {expected}")]
    Memory {
        /// Where in the input.
        place: String,
        /// The state that takes the memory.
        found: String,
        /// The limit, and what set it.
        expected: String,
        /// The remedy.
        remedy: String,
    },
    /// A file differs from the one read before.
    #[error("{file}: changed between two readings: found {found}; expected {expected}")]
    Changed {
        /// Name of the input.
        file: String,
        /// The present state.
        found: String,
        /// The earlier state.
        expected: String,
    },
    /// The reader of the tables went away, or the caller asked to stop.
    #[error("stopped before the end of the input")]
    Stopped,
    /// Arrow or Parquet refused a batch.
    #[error("writing tables: {0}")]
    Table(String),
}

impl Error {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            what: what.into(),
            source,
        }
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Table(error.to_string())
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Table(error.to_string())
    }
}

/// Where reading one file stopped because no further packet could be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Name of the input.
    pub file: String,
    /// Number of the packet that could not be read, from 1.
    pub packet: u64,
    /// Byte offset of its record in the uncompressed input.
    pub offset: u64,
    /// The bytes found there, in words.
    pub found: String,
    /// The bytes expected there, in words.
    pub expected: String,
    /// Packets of this file that were kept.
    pub kept: u64,
    /// Bytes of the input, from `offset` on, that were not read; unknown for a stream.
    pub unread: Option<u64>,
    /// The file changed while it was read.
    pub changed: bool,
}

/// The part of [`Damage`] that a record reader knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub found: String,
    pub expected: String,
    /// The file changed while it was read.
    pub changed: bool,
}

impl Fault {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            found: found.into(),
            expected: expected.into(),
            changed: false,
        }
    }
}
