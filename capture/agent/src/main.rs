//! `flowsweep-capture`: turns the packets of one interface into pcap files and a manifest that says what is missing.

/// Writes a line to standard error; ignores that it may be closed.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(io::stderr(), $($text)*);
    };
}

mod agent;
mod clock;
mod error;
mod file;
mod leftovers;
mod limits;
mod link;
mod manifest;
mod names;
mod ntp;
mod options;
mod order;
mod period;
mod recorder;
mod report;
mod reserve;
mod size;
mod sys;
mod time;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use flowsweep_common::{output, privileges};

use crate::agent::Agent;
use crate::clock::Clock;
use crate::error::Error;
use crate::file::Format;
use crate::limits::Limits;
use crate::link::Watch;
use crate::manifest::{Journal, Manifest, Status};
use crate::options::Arguments;
use crate::recorder::{Halt, Recorder};
use crate::sys::libpcap::{self, Capture, Failure, Settings};
use crate::sys::linux::Signals;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let limits = arguments.limits().unwrap_or_else(|fault| {
        let mut command = Arguments::command();
        command.error(ErrorKind::ArgumentConflict, fault).exit()
    });
    match run(&arguments, limits) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say!("{}", error.report());
            ExitCode::from(2)
        }
    }
}

/// Captures; returns true when no packet is missing.
fn run(arguments: &Arguments, limits: Limits) -> Result<bool, Error> {
    let signals = Signals::catch().map_err(|source| Error::System {
        action: "catching signals",
        source,
    })?;
    let (agent, format, link_type_name) = start_agent(arguments)?;
    let mut link = Watch::start(&arguments.interface);
    let capabilities = drop_privileges(arguments)?;
    if let Some(address) = &arguments.clock_listen {
        ntp::serve(address).map_err(|source| Error::Listen {
            address: address.clone(),
            source,
        })?;
    }
    let peer = arguments.clock_peer.as_deref();
    let clock = Clock::at_start(peer);
    let start = agent.start_time();
    let cannot = |file: std::path::PathBuf| move |source| Error::Output { file, source };
    set_leftovers_aside(arguments).map_err(cannot(arguments.write.clone()))?;
    let mut recorder = Recorder::create(arguments.write.clone(), format, limits, since_1970(start))
        .map_err(cannot(arguments.write.clone()))?;
    let mut journal = Journal::new(arguments.manifest());
    let mut manifest = Manifest {
        link_type_name,
        clock,
        capabilities,
        link: link.as_mut().and_then(Watch::take_history),
        ..describe(arguments, limits, format, start)
    };
    manifest.follow(&recorder, agent.totals());
    if let Err(source) = journal.write(&manifest, false) {
        recorder.discard();
        return Err(cannot(journal.path().to_owned())(source));
    }
    // Our output may have been closed since the start; that is no reason to stop.
    let _ = writeln!(io::stdout(), "ready");
    let outcome = agent.run(
        &signals,
        &mut recorder,
        link.as_mut(),
        |recorder, totals, link| {
            if journal.is_due() {
                manifest.follow(recorder, totals);
                manifest.link = link.and_then(Watch::take_history);
                // A manifest that cannot be written now is written at the end, which reports an error.
                let _ = journal.write(&manifest, false);
            }
        },
    );
    manifest.link = link.as_mut().and_then(Watch::take_history);
    recorder.finish();
    manifest.clock.end(peer);
    manifest.follow(&recorder, outcome.totals);
    manifest.end = Some(time::rfc3339(outcome.end));
    manifest.stop_reason = Some(match recorder.halt() {
        Some(Halt::Failed(error)) => format!("write error: {error}"),
        Some(Halt::DiskBound) => "disk bound: the files take what --max-disk allows".into(),
        None => outcome.stop_reason.clone(),
    });
    let complete = report::report(arguments, &outcome, &recorder, &manifest);
    manifest.status = if complete {
        Status::Complete
    } else {
        Status::Incomplete
    };
    let written = journal.write(&manifest, true);
    if let Err(error) = &written {
        let path = journal.path().display();
        say!("warning: {path}: the manifest cannot be written: {error}");
    }
    Ok(complete && written.is_ok())
}

/// Opens the interface and starts to capture; returns also the format of the files and the name of the link type.
fn start_agent(arguments: &Arguments) -> Result<(Agent, Format, String), Error> {
    let capture = open(arguments)?;
    let (link_type, link_type_name) = capture.link_type();
    let format = Format {
        resolution_ns: capture.resolution_ns(),
        snaplen: arguments.snaplen,
        link_type: file_link_type(link_type),
        level: arguments.level,
    };
    let filter = arguments.filter.as_deref().unwrap_or("");
    let agent = Agent::start(
        capture,
        filter,
        is_loopback(&arguments.interface),
        arguments.buffer,
    )
    .map_err(|failure| start_error(arguments, filter, failure))?;
    Ok((agent, format, link_type_name))
}

/// Renames files of a killed capture that are in the way of this one.
fn set_leftovers_aside(arguments: &Arguments) -> io::Result<()> {
    for (old, new) in leftovers::set_aside(&arguments.write, &arguments.manifest())? {
        let (old, new) = (old.display(), new.display());
        say!("note: {old}: of a capture that was killed, kept as {new}");
    }
    Ok(())
}

/// Returns the manifest as far as it is known before the first packet.
fn describe(arguments: &Arguments, limits: Limits, format: Format, start: SystemTime) -> Manifest {
    Manifest {
        status: Status::Running,
        updated: String::new(),
        interface: arguments.interface.clone(),
        link_type: format.link_type,
        link_type_name: String::new(),
        snaplen: arguments.snaplen,
        filter: arguments.filter.clone(),
        ts_resolution_ns: format.resolution_ns,
        files: Vec::new(),
        packets_written: 0,
        received: 0,
        dropped_kernel: 0,
        dropped_interface: 0,
        lost_writing: 0,
        removed_files: 0,
        removed_packets: 0,
        start: time::rfc3339(start),
        end: None,
        stop_reason: None,
        buffer_bytes: arguments.buffer,
        rotate_bytes: limits.rotate_bytes,
        rotate_time_s: limits.rotate_time.as_ref().map(Duration::as_secs_f64),
        max_disk_bytes: arguments.max_disk,
        when_full: arguments.when_full,
        clock: Clock::default(),
        capabilities: Vec::new(),
        link: None,
        version: env!("CARGO_PKG_VERSION"),
        libpcap: libpcap::version(),
    }
}

fn drop_privileges(arguments: &Arguments) -> Result<Vec<&'static str>, Error> {
    let folders = [arguments.write.clone(), arguments.manifest()];
    let folders = folders.map(|file| output::folder_of(&file));
    let folders = [folders[0].as_path(), folders[1].as_path()];
    privileges::become_sudo_user(&folders)
        .and_then(|_| privileges::drop_all(&folders))
        .map_err(|source| Error::System {
            action: "dropping privileges",
            source,
        })
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

/// Returns the error of a failed start: once the interface is open, only a filter can be wrong.
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

fn since_1970(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}

/// Returns the number that files use; libpcap's own differs for raw IP only, among the links that Linux has.
const fn file_link_type(link_type: i32) -> u32 {
    const RAW_IP: i32 = 12;
    const FILE_RAW_IP: u32 = 101;
    if link_type == RAW_IP {
        FILE_RAW_IP
    } else {
        link_type as u32
    }
}

/// Returns whether it is `lo` or similar.
fn is_loopback(interface: &str) -> bool {
    const IFF_LOOPBACK: u32 = 8;
    let flags =
        std::fs::read_to_string(format!("/sys/class/net/{interface}/flags")).unwrap_or_default();
    let flags = flags.trim().trim_start_matches("0x");
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & IFF_LOOPBACK != 0)
}
