//! Runs every kept fuzzer input, and every input that once failed, through the fuzzer's own entry points.
//!
//! The fuzzer is a separate workspace (`parsers/fuzz`), which an ordinary test run does not build.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::Duration;

#[allow(clippy::pedantic)]
#[path = "../fuzz/src/lib.rs"]
mod entries;

/// The CPU time that an input may take: most take milliseconds, and a slow path takes minutes.
///
/// Elapsed time says nothing here: this test runs with a low priority beside others.
const MOST_CPU: Duration = Duration::from_secs(60);

#[test]
fn kept_inputs_and_regressions_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut failed = Vec::new();
    let mut count = 0;
    for (name, enter) in entries::ENTRIES {
        for kind in ["seeds", "regressions"] {
            let Ok(files) = fs::read_dir(folder.join(kind).join(name)) else {
                continue;
            };
            let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                let bytes = fs::read(&path).unwrap();
                let start = cpu_time();
                let passed = catch_unwind(|| enter(&bytes)).is_ok();
                let taken = cpu_time().saturating_sub(start);
                if !passed || taken > MOST_CPU {
                    failed.push(format!("{} {taken:.0?}", path.display()));
                }
                count += 1;
            }
        }
    }
    // The parser's limit, plus the inputs and tables of this test.
    let peak = peak_mb();
    assert!(peak.is_none_or(|peak| peak < 400), "{peak:?} MB");
    assert!(count > 60, "only {count} inputs in {}", folder.display());
    assert!(
        failed.is_empty(),
        "{} fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// The peak memory of this process, if the system reports it.
fn peak_mb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// The CPU time that this process has taken; 0 if the system does not report it.
fn cpu_time() -> Duration {
    let Ok(line) = fs::read_to_string("/proc/self/stat") else {
        return Duration::ZERO;
    };
    // The name in parentheses may hold spaces. Linux reports ticks of 10 ms to programs (proc(5)).
    let fields = line.rsplit(')').next().unwrap().split_whitespace();
    let ticks = fields
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
