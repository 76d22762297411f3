//! Writes the manifest beside the files: what was captured, and what was not.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use flowsweep_common::output;
use serde::Serialize;

use crate::agent::Totals;
use crate::clock::Clock;
use crate::file::Finished;
use crate::limits::WhenFull;
use crate::link::History;
use crate::recorder::Recorder;
use crate::reserve::Reserve;
use crate::time;

/// The manifest of a capture: its settings, counters and clock, by which a reader can judge the files.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// Whether the capture has ended, and how.
    pub status: Status,
    /// When this was written, RFC 3339: where the status is running and this is a while ago, the capture was killed.
    pub updated: String,
    /// Interface captured from.
    pub interface: String,
    /// LINKTYPE number of the link-layer header.
    pub link_type: u32,
    /// Its name in libpcap.
    pub link_type_name: String,
    /// Bytes kept of each packet.
    pub snaplen: u32,
    /// BPF filter; null where everything passed.
    pub filter: Option<String>,
    /// Nanoseconds per unit of a stamp.
    pub ts_resolution_ns: u32,
    /// The files, in order; while it runs, the last has the name of an unfinished file.
    pub files: Vec<Finished>,
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
    /// Files that were removed to keep within `max_disk_bytes`.
    pub removed_files: u64,
    /// Packets in them.
    pub removed_packets: u64,
    /// When the first packet could be captured, RFC 3339.
    pub start: String,
    /// When the inlet was closed, RFC 3339; null while it runs.
    pub end: Option<String>,
    /// The signal's name, or what went wrong; null while it runs.
    pub stop_reason: Option<String>,
    /// Requested size of the kernel's ring, bytes.
    pub buffer_bytes: u64,
    /// Largest pcap of one file before compression; null without bound.
    pub rotate_bytes: Option<u64>,
    /// Longest time in one file, seconds; null without bound.
    pub rotate_time_s: Option<f64>,
    /// The most that the files may take on the disk; null without bound.
    pub max_disk_bytes: Option<u64>,
    /// Whether the capture ends at `max_disk_bytes` or the oldest files go; null without that bound.
    pub when_full: Option<WhenFull>,
    /// Where the stamps come from.
    pub clock: Clock,
    /// Privileges that the agent kept after opening the interface.
    pub capabilities: Vec<&'static str>,
    /// When the interface was not up; absent where it was never seen down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<History>,
    /// Version of the agent.
    pub version: &'static str,
    /// Version of libpcap.
    pub libpcap: String,
}

/// The state of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It runs, or was killed.
    Running,
    /// It was ended by a signal, and every packet is accounted for in files.
    Complete,
    /// It ended early, or packets are missing.
    Incomplete,
}

impl Manifest {
    /// Updates it to the progress of the capture.
    pub fn follow(&mut self, recorder: &Recorder, totals: Totals) {
        let series = recorder.series();
        let removed = series.removed;
        let kept = series.packets + removed.packets;
        self.updated = time::rfc3339(SystemTime::now());
        self.files = series.files;
        self.packets_written = series.packets;
        self.removed_files = removed.files;
        self.removed_packets = removed.packets;
        self.received = totals.received;
        self.dropped_kernel = totals.dropped_kernel;
        self.dropped_interface = totals.dropped_interface;
        self.lost_writing = recorder.taken().saturating_sub(kept);
    }
}

/// Shortest time between two writes while a capture runs.
const PAUSE: Duration = Duration::from_secs(1);
/// Writing takes at most this share of the time, also when a day's files are listed.
const SHARE: u32 = 100;

/// The manifest's place on the disk.
pub struct Journal {
    path: PathBuf,
    /// Space for the last state, which must be written even when the disk is full.
    reserve: Reserve,
    next: Instant,
    /// The last manifest, kept open: its lock shows other captures that it is in use.
    held: Option<File>,
}

impl Journal {
    /// Returns a journal for a manifest at this path.
    pub fn new(path: PathBuf) -> Self {
        Self {
            reserve: Reserve::beside(&path),
            path,
            next: Instant::now(),
            held: None,
        }
    }

    /// Returns the manifest's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a running capture's state should be written again.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Writes the manifest beside its place and renames it, so that the file is always whole. `last`: waits until it is
    /// on the disk.
    pub fn write(&mut self, manifest: &Manifest, last: bool) -> io::Result<()> {
        let begin = Instant::now();
        let text = serde_json::to_string_pretty(manifest)? + "\n";
        let written = output::write(&self.path, &text, last).or_else(|_| {
            self.reserve.release();
            output::write(&self.path, &text, last)
        })?;
        self.held = Some(written);
        self.reserve.grow(text.len() as u64);
        self.next = Instant::now() + PAUSE.max(begin.elapsed() * SHARE);
        Ok(())
    }
}
