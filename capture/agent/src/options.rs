//! Parses the command line: what to capture and where to.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::limits::{Limits, WhenFull};
use crate::{names, period, size};

/// Captures the packets of one interface until SIGINT, SIGTERM or SIGHUP.
///
/// Prints "ready" when it captures, and "closed" when, after a signal, it lets no further packet in. Every packet that
/// the kernel received in between is in the files, or counted as dropped. Files are written as FILE.part, can be read up
/// to the last half second at any time, and get their name when they are whole. The manifest is there from the start and
/// says "running" until the end.
// Doc comments are the text of --help here.
#[allow(clippy::doc_markdown)]
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLE)]
pub struct Arguments {
    /// Interface to capture from.
    #[arg(short, long, value_name = "IFACE")]
    pub interface: String,
    /// File to write; compressed with Zstandard when its name ends in .zst.
    #[arg(short, long, value_name = "FILE")]
    pub write: PathBuf,
    /// Bytes to keep of each packet, 1 to 262144.
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    pub snaplen: u32,
    /// Packets to capture, in the language of pcap-filter(7) [default: all].
    #[arg(long, value_name = "BPF")]
    pub filter: Option<String>,
    /// Start a new file (FILE with -00001, -00002 ... before its suffixes) before the pcap, uncompressed, exceeds this
    /// size, such as 1GB [default: one file].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub rotate: Option<u64>,
    /// Start a new file at every multiple of this time after the start, such as 60s or 1h; a bare number is seconds. A
    /// period without packets has no file. With --rotate too, whatever comes first.
    #[arg(long, value_name = "TIME", value_parser = period::parse)]
    pub rotate_time: Option<Duration>,
    /// Let all files together never take more than this on the disk; needs --when-full.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "when_full")]
    pub max_disk: Option<u64>,
    /// What to do at --max-disk: end the capture, or remove the oldest whole files and go on.
    #[arg(long, value_name = "ACTION", requires = "max_disk")]
    pub when_full: Option<WhenFull>,
    /// Where to write the manifest (JSON) [default: FILE with .capture.json for its suffixes].
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Size of the kernel's ring, which holds packets while the disk is slow; less than 2GiB.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_buffer)]
    pub buffer: u64,
    /// Zstandard level, 1 (fast) to 19 (small).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=19))]
    pub level: i32,
    /// Leave the interface out of promiscuous mode: frames for other stations are then not captured.
    #[arg(long)]
    pub no_promiscuous: bool,
    /// Compare the clock with that of this host at the start and at the end: an NTP server, or another agent that runs
    /// with --clock-listen [default port: 123].
    #[arg(long, value_name = "HOST[:PORT]")]
    pub clock_peer: Option<String>,
    /// Answer the --clock-peer of other agents here, such as 10.99.0.1:9123.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub clock_listen: Option<String>,
}

const EXAMPLE: &str = "\
Examples: the headers of all TCP packets, into pc1.pcap.zst and pc1.capture.json
  flowsweep-capture -i eth0 -w pc1.pcap.zst --snaplen 128 --filter tcp
the last 100 GB, in files of 10 minutes
  flowsweep-capture -i eth0 -w pc1.pcap.zst --rotate-time 10min --max-disk 100GB --when-full remove-oldest

Exit codes: 0 every packet was written; 1 the files are whole, but packets are missing or the capture
ended before a signal (the manifest says which); 2 nothing was captured.";

fn parse_buffer(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes > i32::MAX as u64 {
        return Err(format!("{text:?}: libpcap takes less than 2GiB"));
    }
    Ok(bytes)
}

impl Arguments {
    /// Returns the bounds of the files.
    pub fn limits(&self) -> Result<Limits, String> {
        Limits {
            rotate_bytes: self.rotate,
            rotate_time: self.rotate_time,
            disk: self.max_disk.zip(self.when_full),
        }
        .checked()
    }

    /// Returns the path of the manifest.
    pub fn manifest(&self) -> PathBuf {
        let given = self.manifest.clone();
        given.unwrap_or_else(|| names::manifest(&self.write))
    }
}
