//! Reports on standard error how a capture went.

use std::io::{self, Write};

use crate::agent::Outcome;
use crate::clock;
use crate::manifest::Manifest;
use crate::options::Arguments;
use crate::recorder::Recorder;

/// Prints how it went, and what is missing; returns true when nothing is.
pub fn report(
    arguments: &Arguments,
    outcome: &Outcome,
    recorder: &Recorder,
    manifest: &Manifest,
) -> bool {
    let totals = outcome.totals;
    say!(
        "{}: {} packets from {}, {} dropped by the kernel, {} dropped by the interface",
        arguments.write.display(),
        manifest.packets_written,
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
        outcome.failed || recorder.halt().is_some(),
        format!(
            "the capture ended early: {}",
            manifest.stop_reason.as_deref().unwrap_or_default()
        ),
    );
    warn(
        manifest.lost_writing > 0,
        format!(
            "{} packets could not be written; free some space",
            manifest.lost_writing
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
    if manifest.removed_files > 0 {
        say!(
            "{} older files with {} packets were removed to keep within --max-disk",
            manifest.removed_files,
            manifest.removed_packets
        );
    }
    for state in [
        Some(&manifest.clock.at_start),
        manifest.clock.at_end.as_ref(),
    ] {
        if let Some(fault) = state.and_then(clock::State::peer_fault) {
            say!(
                "warning: --clock-peer: {fault}: captures of other hosts cannot be laid over this one"
            );
        }
    }
    complete
}
