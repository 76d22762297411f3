//! When to begin a new file, and how much disk all files may take.

use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

/// What happens when the files would take more than --max-disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// End the capture; what is there stays.
    Stop,
    /// Go on; the oldest whole files go.
    RemoveOldest,
}

/// Bounds on the files of a capture.
#[derive(Debug, Default, Clone, Copy)]
pub struct Limits {
    /// Largest pcap of one file before compression.
    pub rotate_bytes: Option<u64>,
    /// Longest time in one file.
    pub rotate_time: Option<Duration>,
    /// Bytes that all files may take on the disk, and what to do at that bound.
    pub disk: Option<(u64, WhenFull)>,
}

impl Limits {
    /// Returns the limits if they can be kept, else what is wrong with them and how to put it right. A ring needs room
    /// for at least two files: one grows while the other can be removed.
    pub fn checked(self) -> Result<Self, String> {
        let Some((bytes, WhenFull::RemoveOldest)) = self.disk else {
            return Ok(self);
        };
        let half = bytes / 2;
        match (self.rotate_bytes, self.rotate_time) {
            (None, None) => Err("--when-full remove-oldest removes whole files: \
                add --rotate SIZE or --rotate-time TIME"
                .into()),
            (Some(rotate), _) if rotate > half => Err(format!(
                "--rotate is {rotate} bytes and --max-disk {bytes}: at least two files must fit; \
                 lower --rotate to {half} or raise --max-disk to {}",
                rotate.saturating_mul(2)
            )),
            (rotate, _) => Ok(Self {
                rotate_bytes: rotate.or(Some(half)),
                ..self
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_needs_files_that_can_go() {
        let ring = |rotate_bytes, rotate_time| Limits {
            rotate_bytes,
            rotate_time,
            disk: Some((1_000, WhenFull::RemoveOldest)),
        };
        let minute = Some(Duration::from_secs(60));
        assert!(ring(None, None).checked().is_err());
        assert!(ring(Some(501), None).checked().is_err());
        assert!(ring(Some(500), None).checked().is_ok());
        let by_time = ring(None, minute).checked().expect("a ring");
        assert_eq!(by_time.rotate_bytes, Some(500));
    }
}
