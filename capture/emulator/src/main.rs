//! `flowsweep-wan`: turns a description of links into a wide-area network between the interfaces of a namespace.

mod clock;
mod config;
mod control;
mod engine;
mod error;
mod fabric;
mod fates;
mod lateness;
mod output;
mod pace;
mod port;
mod schedule;
mod spin;
mod stats;
mod switch;
mod sys;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use flowsweep_common::output::folder_of;
use flowsweep_common::privileges;

use crate::control::Control;
use crate::engine::Engine;
use crate::error::Error;
use crate::sys::process::{self, Signals};

/// User-space WAN emulator: forwards Ethernet frames between site ports with the delay, jitter, rate, queue and losses of
/// each link.
///
/// Prints "ready" when every port is open. On SIGTERM or SIGINT it stops receiving, delivers what is queued, writes the
/// statistics and ends; a second signal ends it at once. Needs the right to open raw
/// sockets (CAP_NET_RAW); uses real-time priority and locked memory
/// where they are permitted.
// Doc comments are the text of --help here.
#[allow(clippy::doc_markdown)]
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLE)]
struct Arguments {
    /// Ports and links, a JSON file.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Unix socket to listen at: each line ("stats", "start", {"change": ...}) is answered by one line of JSON.
    #[arg(long, value_name = "PATH")]
    control: PathBuf,
    /// Where to write the statistics at the end (JSON) [default: nowhere].
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Where to write the fate of every frame (binary, described in its first line) [default: nowhere].
    #[arg(long, value_name = "FILE")]
    fates: Option<PathBuf>,
    /// Real-time priority, 1 (low) to 99; 0 asks for none.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i32).range(0..=99))]
    priority: i32,
    /// Microseconds to wait busily before a deadline instead of sleeping, 0 to 1000; at most a fifth of the time is
    /// spent so.
    #[arg(long, value_name = "US", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=1000))]
    spin: u64,
}

const EXAMPLE: &str = "\
Example: 16 ms of round-trip time and 100 Mbit/s between two sites, wan.json:
  {\"ports\": [{\"name\": \"west\", \"interface\": \"up-west\"}, {\"name\": \"east\", \"interface\": \"up-east\"}],
   \"links\": [{\"a\": \"west\", \"b\": \"east\", \"delay_ns\": 8000000, \"rate_bit_s\": 100000000,
              \"queue_bytes\": 262144}]}
  flowsweep-wan --config wan.json --control wan.sock --stats stats.json

delay_ns is one way. rate_bit_s counts frames without FCS, plus overhead_bytes. Both hold per
direction; a_to_b and b_to_a override them for one. With more sites, give a link for each pair.
A link may also have jitter, loss, duplicate, queue, parallel, a port an uplink, and the whole a
schedule of changes: the README of the emulator names every key.
Exit codes: 0 ended by a signal, 2 the emulator could not start or had to stop.";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}", error.report());
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let plan = config::load(&arguments.config)?;
    if let Some(path) = &arguments.stats {
        output::check(path)?;
    }
    let signals = Signals::catch().map_err(Error::system("catching signals"))?;
    let mut engine = Engine::open(plan, arguments.spin * 1_000, arguments.fates.as_deref())?;
    let scheduling = prepare(arguments.priority)?;
    drop_privileges(arguments)?;
    let mut control = Control::open(&arguments.control)?;
    // Our output may have been closed since the start; that is no reason to stop.
    let _ = writeln!(std::io::stdout(), "ready");
    let outcome = engine.run(scheduling, &signals, &mut control);
    let stats = engine.json() + "\n";
    let finished = engine.finish();
    // Last: once the statistics exist, everything else is complete.
    if let Some(path) = &arguments.stats {
        output::write(path, &stats)?;
    }
    outcome.and(finished)
}

/// Keeps only the rights to send, receive and write files: ports are open, priority and memory are granted.
fn drop_privileges(arguments: &Arguments) -> Result<(), Error> {
    let files = [Some(&arguments.control), arguments.stats.as_ref()];
    let folders: Vec<PathBuf> = files
        .into_iter()
        .flatten()
        .map(|file| folder_of(file))
        .collect();
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    privileges::drop_all(&folders).map_err(Error::system("dropping privileges"))?;
    Ok(())
}

/// Makes this thread as punctual as the system permits; returns the scheduling that was granted.
fn prepare(priority: i32) -> Result<&'static str, Error> {
    process::precise_timers().map_err(Error::system("setting the timer slack"))?;
    // Without it a page fault may delay a frame; it still arrives, and the lateness shows it.
    let _ = process::lock_memory();
    let granted = priority > 0 && process::real_time(priority).is_ok();
    Ok(if granted { "fifo" } else { "other" })
}
