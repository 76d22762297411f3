//! The limit on the memory of a parse, checked every few thousand packets: a flood of connections ends with an error
//! that names what takes the memory, and the operating system does not kill the process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::common::error::Error;
use crate::common::memory;

/// The share of free memory that a parse may take unless its caller decides otherwise: the rest is for other processes,
/// and for growth between two checks.
const SHARE: (u64, u64) = (3, 4);
/// Bytes of a page on the systems that have /proc; a larger one makes the bound smaller.
const PAGE: u64 = 4096;

/// Limits on memory.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The open file /proc/self/statm, which contains the size of the process; none if the system has none.
    statm: Option<File>,
    bounds: Vec<Bound>,
}

/// A limit on the bytes taken since the start.
#[derive(Debug)]
struct Bound {
    /// The field of /proc/self/statm that this bound limits.
    field: usize,
    before: u64,
    most: u64,
    /// What set this bound, in the words of the error message.
    why: &'static str,
}

const SIZE: usize = 0;
const RESIDENT: usize = 1;
const DATA: usize = 5;

/// The bytes taken and requested under a bound.
pub(crate) struct Lack {
    used: u64,
    more: u64,
    most: u64,
    why: &'static str,
}

impl Budget {
    /// Limits the parse to `given` bytes; without it, to [`SHARE`] of what the machine and the control group leave. The
    /// limits of the process always apply.
    pub(crate) fn new(given: Option<u64>) -> Self {
        memory::hold_reserve();
        let statm = File::open("/proc/self/statm").ok();
        let now = statm.as_ref().and_then(pages);
        let Some(now) = now else {
            return Self {
                statm: None,
                bounds: Vec::new(),
            };
        };
        let part = |free: u64| free / SHARE.1 * SHARE.0;
        let free = [available(), control_group()].into_iter().flatten().min();
        let resident = match (given, free) {
            (Some(given), _) => Some((given, "as --memory says")),
            (None, Some(free)) => Some((part(free), "three quarters of what was free")),
            (None, None) => None,
        };
        let mut bounds = Vec::new();
        let mut bound = |field: usize, most, why| {
            let before = now[field];
            bounds.push(Bound {
                field,
                before,
                most,
                why,
            });
        };
        if let Some((most, why)) = resident {
            bound(RESIDENT, most, why);
        }
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        for (name, field, why) in [
            (
                "Max address space",
                SIZE,
                "three quarters of what ulimit -v left",
            ),
            (
                "Max data size",
                DATA,
                "three quarters of what ulimit -d left",
            ),
        ] {
            if let Some(limit) = limit(&limits, name) {
                bound(field, part(limit.saturating_sub(now[field])), why);
            }
        }
        Self { statm, bounds }
    }

    /// Fails if `more` bytes would exceed a limit, or if an allocation has failed.
    pub(crate) fn check(&self, more: u64) -> Result<(), Lack> {
        let now = self.statm.as_ref().and_then(pages);
        let lacks = self.bounds.iter().map(|bound| Lack {
            used: now.map_or(0, |now| now[bound.field].saturating_sub(bound.before)),
            more,
            most: bound.most,
            why: bound.why,
        });
        let Some(nearest) = lacks.min_by_key(Lack::left) else {
            return Ok(());
        };
        if nearest.left() < 0 || memory::is_short() {
            return Err(nearest);
        }
        Ok(())
    }
}

impl Lack {
    /// Returns what would be left; negative if it is not enough.
    fn left(&self) -> i64 {
        let left = i128::from(self.most) - i128::from(self.used) - i128::from(self.more);
        left.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Returns the error that names `place`, the place in the input, and what takes the memory.
    pub(crate) fn error(self, place: String, holds: &str) -> Error {
        Error::Memory {
            place,
            found: format!(
                "{} taken and {} more needed: {holds}",
                bytes(self.used),
                bytes(self.more)
            ),
            expected: format!("at most {}, {}", bytes(self.most), self.why),
            remedy: "--memory SIZE where there is more; or parse a part of it at a time, as \
                `editcap -c 10000000 FILE PART` makes them"
                .to_owned(),
        }
    }
}

/// Formats a size for people.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Formats a number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for (place, digit) in digits[first..].chars().enumerate() {
        if place % 3 == 0 && !text.is_empty() {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the process's sizes in bytes, by field of its statm file.
fn pages(statm: &File) -> Option<[u64; 6]> {
    let mut text = [0; 128];
    let length = statm.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let mut found = [0; 6];
    let mut words = text.split_ascii_whitespace();
    for pages in &mut found {
        *pages = words.next()?.parse::<u64>().ok()? * PAGE;
    }
    Some(found)
}

/// Returns what the kernel could provide without swapping.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the soft limit `name` of /proc/self/limits, if there is one.
fn limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find(|line| line.starts_with(name))?;
    line[name.len()..]
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Returns what the control groups of the process leave, version 2 or 1: those of a container, a service or a Slurm
/// job.
fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let left = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            left_in(
                Path::new("/sys/fs/cgroup"),
                path,
                ["memory.max", "memory.current"],
            )
        } else if controllers.split(',').any(|it| it == "memory") {
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            left_in(Path::new("/sys/fs/cgroup/memory"), path, files)
        } else {
            None
        }
    });
    left.min()
}

/// Returns the least that the group `path` and its ancestors leave. Their usage includes page cache, which the kernel
/// can reclaim.
fn left_in(root: &Path, path: &str, [limit, usage]: [&str; 2]) -> Option<u64> {
    let groups = Path::new(path).ancestors().map(|group| root.join(group));
    groups
        .filter_map(|group: PathBuf| {
            let number = |name: &str| {
                fs::read_to_string(group.join(name))
                    .ok()?
                    .trim()
                    .parse::<u64>()
                    .ok()
            };
            let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
            let cache = stat
                .lines()
                .find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
            let used = number(usage)?.saturating_sub(cache.unwrap_or_default());
            Some(number(limit)?.saturating_sub(used))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_and_no_limit_is_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max data size             unlimited            unlimited            bytes\n\
            Max address space         4096                 unlimited            bytes\n";
        assert_eq!(limit(text, "Max address space"), Some(4096));
        assert_eq!(limit(text, "Max data size"), None);
    }

    #[test]
    fn the_group_that_leaves_least_counts() {
        let root = std::env::temp_dir().join(format!("flowsweep-groups-{}", std::process::id()));
        let group = root.join("a/b");
        fs::create_dir_all(&group).expect("folders");
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
        for (folder, most, used) in [
            (root.join("a"), "1000\n", "900\n"),
            (group, "max\n", "100\n"),
        ] {
            write(folder.join("memory.max"), most);
            write(folder.join("memory.current"), used);
            write(folder.join("memory.stat"), "anon 1\ninactive_file 300\n");
        }
        let left = left_in(&root, "a/b", ["memory.max", "memory.current"]);
        fs::remove_dir_all(&root).expect("removed");
        assert_eq!(left, Some(400));
    }

    #[test]
    fn what_is_taken_is_seen() {
        let budget = Budget::new(Some(32 << 20));
        assert!(budget.check(0).is_ok());
        assert!(budget.check(64 << 20).is_err());
        let taken = vec![1_u8; 96 << 20];
        assert_eq!(budget.check(0).is_err(), cfg!(target_os = "linux"));
        drop(taken);
    }
}
