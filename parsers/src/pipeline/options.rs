//! Options that the caller of a run chooses.

use std::collections::HashMap;

use crate::capture::counts::Manifest;
use crate::common::error::Error;
use crate::common::fast_paths::FastPaths;
use crate::tables::Table;

/// Most packets in the order window: about 250 bytes each.
const MOST_WINDOW_PACKETS: usize = 1 << 22;

/// Options of a run: tables, bins, limits, threads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
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
    /// How much earlier, in ns, a packet may be than one that precedes it in the file and still be moved before it; 0
    /// keeps the order of the file.
    pub order_window_ns: i64,
    /// Most packets that wait for such an earlier one.
    pub order_window_packets: usize,
    /// Whether copies of other packets are counted as packets.
    pub keep_duplicates: bool,
    /// Equal addresses and ports in different VLANs or virtual networks are different connections.
    pub by_network: bool,
    /// The most bytes that the parse may take; without it, three quarters of what the machine, the control group and
    /// the limits of the process leave.
    pub memory: Option<u64>,
    /// The process ends soon: the states of connections are not freed one by one, because the operating system reclaims
    /// them all at once.
    pub process_ends: bool,
    /// Fast paths that are not taken: for measuring and testing. The tables do not depend on them.
    #[doc(hidden)]
    pub without_fast: FastPaths,
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
                Table::Rdma,
            ],
            manifests: HashMap::new(),
            threads: 1,
            verify_checksums: false,
            order_window_ns: 1_000_000_000,
            order_window_packets: 65_536,
            keep_duplicates: false,
            by_network: false,
            memory: None,
            process_ends: false,
            without_fast: FastPaths::default(),
        }
    }
}

impl Options {
    /// Fails if an option has no meaning.
    pub fn check(&self) -> Result<(), Error> {
        if self.bin_ns <= 0 {
            return Err(Error::Option {
                option: "bin",
                found: format!("{} ns", self.bin_ns),
                expected: "a time above 0, such as 10ms",
            });
        }
        if self.order_window_ns < 0 {
            return Err(Error::Option {
                option: "order-window",
                found: format!("{} ns", self.order_window_ns),
                expected: "a time such as 1s, or 0 to leave packets in the order of the file",
            });
        }
        if !(1..=MOST_WINDOW_PACKETS).contains(&self.order_window_packets) {
            return Err(Error::Option {
                option: "order-window-packets",
                found: self.order_window_packets.to_string(),
                expected: "a number of packets from 1 to 4,194,304",
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
