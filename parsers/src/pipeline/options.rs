//! What the caller of a run chooses.

use std::collections::HashMap;

use crate::capture::counts::Manifest;
use crate::common::error::Error;
use crate::common::fast_ways::FastWays;
use crate::tables::Table;

/// What to count and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Length of a throughput bin in nanoseconds.
    pub bin_ns: i64,
    /// Silence in nanoseconds after which a flow that is not TCP ends.
    pub udp_timeout_ns: i64,
    /// The tables that are wanted.
    pub tables: Vec<Table>,
    /// The capture agent's manifest of each file, by the file's name.
    pub manifests: HashMap<String, Manifest>,
    /// Threads that share the work; the tables do not depend on it.
    pub threads: usize,
    /// Packets with a wrong checksum are left out of all flows.
    pub verify_checksums: bool,
    /// Bytes that the parse may take; without, three quarters of what the machine, the control group and the limits of
    /// the process leave.
    pub memory: Option<u64>,
    /// The process ends soon: what was held of each connection is not freed piece by piece, the operating system takes
    /// it back as a whole.
    pub process_ends: bool,
    /// Fast ways that are not taken: for measuring and testing. The tables do not depend on it.
    #[doc(hidden)]
    pub without_fast: FastWays,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bin_ns: 10_000_000,
            udp_timeout_ns: 60_000_000_000,
            tables: vec![
                Table::Captures,
                Table::Flows,
                Table::Intervals,
                Table::Throughput,
                Table::Messages,
            ],
            manifests: HashMap::new(),
            threads: 1,
            verify_checksums: false,
            memory: None,
            process_ends: false,
            without_fast: FastWays::default(),
        }
    }
}

impl Options {
    /// Fails where an option has no meaning.
    pub fn check(&self) -> Result<(), Error> {
        if self.bin_ns <= 0 {
            return Err(Error::Option {
                option: "bin",
                found: format!("{} ns", self.bin_ns),
                expected: "a time above 0, such as 10ms",
            });
        }
        if self.udp_timeout_ns <= 0 {
            return Err(Error::Option {
                option: "udp-timeout",
                found: format!("{} ns", self.udp_timeout_ns),
                expected: "a time above 0, such as 60s",
            });
        }
        Ok(())
    }
}
