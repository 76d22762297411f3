//! Turns what was captured, and what was not, into the manifest beside the files.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::file::Finished;
use crate::names;

/// What a reader must know to trust the files.
#[derive(Debug, Serialize)]
pub struct Manifest<'a> {
    /// Interface captured from.
    pub interface: &'a str,
    /// LINKTYPE number of the link-layer header.
    pub link_type: u32,
    /// Its name in libpcap.
    pub link_type_name: &'a str,
    /// Bytes kept of each packet.
    pub snaplen: u32,
    /// BPF filter; null where everything passed.
    pub filter: Option<&'a str>,
    /// Nanoseconds per unit of a stamp.
    pub ts_resolution_ns: u32,
    /// The files, in order.
    pub files: &'a [Finished],
    /// Packets in all files.
    pub packets_written: u64,
    /// Packets that passed the filter, those dropped included, by the kernel's count.
    pub received: u64,
    /// Packets that found the kernel's ring full.
    pub dropped_kernel: u64,
    /// Packets that the interface lost before the kernel saw them.
    pub dropped_interface: u64,
    /// Packets that were read and could not be written.
    pub lost_writing: u64,
    /// When the first packet could be captured, RFC 3339.
    pub start: String,
    /// When the inlet was closed, RFC 3339.
    pub end: String,
    /// The signal's name, or what went wrong.
    pub stop_reason: &'a str,
    /// Size asked for the kernel's ring, bytes.
    pub buffer_bytes: u64,
    /// Where the stamps come from.
    pub clock: Clock,
    /// Version of the agent.
    pub version: &'static str,
    /// Version of libpcap.
    pub libpcap: String,
}

/// Where the stamps come from.
#[derive(Debug, Serialize)]
pub struct Clock {
    /// The clock that the kernel stamps packets with.
    pub source: &'static str,
    /// The hardware behind it.
    pub clocksource: Option<String>,
}

impl Clock {
    /// The clock of this machine.
    pub fn current() -> Self {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        Self {
            source: "CLOCK_REALTIME",
            clocksource: fs::read_to_string(file)
                .ok()
                .map(|name| name.trim().to_owned()),
        }
    }
}

impl Manifest<'_> {
    /// Writes the manifest beside its place and renames it.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        let part = names::part(file);
        fs::write(&part, text)
            .and_then(|()| fs::rename(&part, file))
            .inspect_err(|_| {
                let _ = fs::remove_file(&part);
            })
    }
}
