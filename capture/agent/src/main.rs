//! `flowsweep-capture`: turns the packets of one interface into pcap files and a manifest that says what is missing.

mod agent;
mod error;
mod file;
mod manifest;
mod names;
mod order;
mod recorder;
mod size;
mod sys;
mod time;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::agent::{Agent, Outcome};
use crate::error::Error;
use crate::file::Format;
use crate::manifest::{Clock, Manifest};
use crate::recorder::{Recorder, Series};
use crate::sys::libpcap::{self, Capture, Failure, Settings};
use crate::sys::linux::Signals;

/// Writes a line to standard error; nobody may listen there any more.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stderr(), $($text)*);
    };
}

/// Captures the packets of one interface until SIGINT, SIGTERM or SIGHUP.
///
/// Prints "ready" when it captures. Every packet that the kernel received between then and the signal is in the files,
/// or counted as dropped. Files are written as FILE.part, can be read up to the last half second at any time, and get
/// their name when they are whole.
// Doc comments are the text of --help here.
#[allow(clippy::doc_markdown)]
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLE)]
struct Arguments {
    /// Interface to capture from.
    #[arg(short, long, value_name = "IFACE")]
    interface: String,
    /// File to write; compressed with Zstandard when its name ends in .zst.
    #[arg(short, long, value_name = "FILE")]
    write: PathBuf,
    /// Bytes to keep of each packet, 1 to 262144.
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    snaplen: u32,
    /// Packets to capture, in the language of pcap-filter(7) [default: all].
    #[arg(long, value_name = "BPF")]
    filter: Option<String>,
    /// Start a new file (FILE with -00001, -00002 ... before its suffixes) before the pcap, uncompressed, exceeds this
    /// size, such as 1GB [default: one file].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    rotate: Option<u64>,
    /// Where to write the manifest (JSON) [default: FILE with .capture.json for its suffixes].
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Size of the kernel's ring, which holds packets while the disk is slow; less than 2GiB.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_buffer)]
    buffer: u64,
    /// Zstandard level, 1 (fast) to 19 (small).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// Leave the interface out of promiscuous mode: frames for other stations are then not captured.
    #[arg(long)]
    no_promiscuous: bool,
}

const EXAMPLE: &str = "\
Example: the headers of all TCP packets, into pc1.pcap.zst and pc1.capture.json
  flowsweep-capture -i eth0 -w pc1.pcap.zst --snaplen 128 --filter tcp

Exit codes: 0 every packet was written; 1 the files are whole but packets are missing (the manifest
counts them); 2 nothing was captured.";

fn parse_buffer(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes > i32::MAX as u64 {
        return Err(format!("{text:?}: libpcap takes less than 2GiB"));
    }
    Ok(bytes)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say!("{}", error.report());
            ExitCode::from(2)
        }
    }
}

/// Captures; true when no packet is missing.
fn run(arguments: &Arguments) -> Result<bool, Error> {
    let signals = Signals::catch().map_err(|source| Error::System {
        action: "catching signals",
        source,
    })?;
    let capture = open(arguments)?;
    let (link_type, link_type_name) = capture.link_type();
    let format = Format {
        resolution_ns: capture.resolution_ns(),
        snaplen: arguments.snaplen,
        link_type: file_link_type(link_type),
        level: arguments.level,
    };
    let filter = arguments.filter.as_deref().unwrap_or("");
    let agent = Agent::start(capture, filter, is_loopback(&arguments.interface));
    let agent = agent.map_err(|failure| start_error(arguments, filter, failure))?;
    let recorder = Recorder::create(arguments.write.clone(), format, arguments.rotate);
    let mut recorder = recorder.map_err(|source| Error::Output {
        file: arguments.write.clone(),
        source,
    })?;
    // Whoever started us may have closed our output since; that is no reason to stop.
    let _ = writeln!(std::io::stdout(), "ready");
    let outcome = agent.run(&signals, &mut recorder);
    let series = recorder.finish();
    let stop_reason = match &series.error {
        Some(error) => format!("write error: {error}"),
        None => outcome.stop_reason.clone(),
    };
    let manifest = Manifest {
        interface: &arguments.interface,
        link_type: format.link_type,
        link_type_name: &link_type_name,
        snaplen: arguments.snaplen,
        filter: arguments.filter.as_deref(),
        ts_resolution_ns: format.resolution_ns,
        files: &series.files,
        packets_written: series.packets(),
        received: outcome.totals.received,
        dropped_kernel: outcome.totals.dropped_kernel,
        dropped_interface: outcome.totals.dropped_interface,
        lost_writing: series.lost,
        start: time::rfc3339(outcome.start),
        end: time::rfc3339(outcome.end),
        stop_reason: &stop_reason,
        buffer_bytes: arguments.buffer,
        clock: Clock::current(),
        version: env!("CARGO_PKG_VERSION"),
        libpcap: libpcap::version(),
    };
    let path = manifest_path(arguments);
    let written = manifest.write(&path);
    if let Err(error) = &written {
        say!(
            "warning: {}: the manifest cannot be written: {error}",
            path.display()
        );
    }
    let complete = report(arguments, &outcome, &series, &stop_reason);
    Ok(complete && written.is_ok())
}

fn open(arguments: &Arguments) -> Result<Capture, Error> {
    Capture::open(&Settings {
        interface: &arguments.interface,
        snaplen: arguments.snaplen as i32,
        buffer_bytes: arguments.buffer as i32,
        block_timeout_ms: agent::BLOCK_TIMEOUT.as_millis() as i32,
        promiscuous: !arguments.no_promiscuous,
    })
    .map_err(|failure| Error::Interface {
        interface: arguments.interface.clone(),
        failure,
    })
}

/// Once the interface is open, only a filter can be wrong with what was asked for.
fn start_error(arguments: &Arguments, filter: &str, failure: Failure) -> Error {
    if filter.is_empty() {
        let interface = arguments.interface.clone();
        return Error::Interface { interface, failure };
    }
    Error::Filter {
        filter: filter.to_owned(),
        failure,
    }
}

fn manifest_path(arguments: &Arguments) -> PathBuf {
    let given = arguments.manifest.clone();
    given.unwrap_or_else(|| names::manifest(&arguments.write))
}

/// Says how it went, and what is missing; true when nothing is.
fn report(arguments: &Arguments, outcome: &Outcome, series: &Series, stop_reason: &str) -> bool {
    let totals = outcome.totals;
    say!(
        "{}: {} packets from {}, {} dropped by the kernel, {} dropped by the interface",
        arguments.write.display(),
        series.packets(),
        arguments.interface,
        totals.dropped_kernel,
        totals.dropped_interface,
    );
    let mut complete = true;
    let mut warn = |missing: bool, text: String| {
        if missing {
            complete = false;
            say!("warning: {text}");
        }
    };
    warn(
        outcome.failed || series.error.is_some(),
        format!("the capture ended early: {stop_reason}"),
    );
    warn(
        series.lost > 0,
        format!(
            "{} packets could not be written; free some space",
            series.lost
        ),
    );
    warn(
        totals.dropped_kernel > 0,
        "the ring was full: raise --buffer, lower --snaplen, or use a faster disk".into(),
    );
    warn(
        outcome.unread > 0,
        format!("{} packets stayed in the ring", outcome.unread),
    );
    complete
}

/// The number that files use; libpcap's own differ for raw IP only, among the links that Linux has.
const fn file_link_type(link_type: i32) -> u32 {
    const RAW_IP: i32 = 12;
    const FILE_RAW_IP: u32 = 101;
    if link_type == RAW_IP {
        FILE_RAW_IP
    } else {
        link_type as u32
    }
}

/// True for `lo` and its like.
fn is_loopback(interface: &str) -> bool {
    const IFF_LOOPBACK: u32 = 8;
    let flags =
        std::fs::read_to_string(format!("/sys/class/net/{interface}/flags")).unwrap_or_default();
    let flags = flags.trim().trim_start_matches("0x");
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & IFF_LOOPBACK != 0)
}
