//! Converts Python's settings for reading captures: `flowsweep.parsing.Settings`.

use flowsweep_parsers::Options;
use pyo3::prelude::*;

/// Attributes of the Python object.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) struct Settings {
    bin_ns: i64,
    udp_timeout_ns: i64,
    verify_checksums: bool,
    order_window_ns: i64,
    order_window_packets: usize,
    keep_duplicates: bool,
    by_network: bool,
}

impl From<Settings> for Options {
    fn from(settings: Settings) -> Self {
        Self {
            bin_ns: settings.bin_ns,
            udp_timeout_ns: settings.udp_timeout_ns,
            verify_checksums: settings.verify_checksums,
            order_window_ns: settings.order_window_ns,
            order_window_packets: settings.order_window_packets,
            keep_duplicates: settings.keep_duplicates,
            by_network: settings.by_network,
            ..Self::default()
        }
    }
}
