//! Turns changes of an interface into what the manifest says of them: a link that is down carries no packets, and the
//! capture cannot tell that from silence.

use std::os::fd::{AsRawFd, RawFd};
use std::time::SystemTime;

use serde::Serialize;

use crate::sys::link::LinkSocket;
use crate::time;

/// The first so many changes are listed; all are counted.
const LISTED: usize = 100;

/// A moment at which the interface went up or down.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// RFC 3339, when the agent heard of it.
    pub time: String,
    /// Up (switched on, with a carrier) from here on, or down.
    pub up: bool,
}

/// What is known of the interface between start and end.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// Whether it was up when the capture began.
    pub up_at_start: bool,
    /// Whether it is up at the end; while the capture runs, now.
    pub up_at_end: bool,
    /// How often it went down.
    pub downs: u64,
    /// How long it was down, seconds.
    pub down_s: f64,
    /// The first 100 changes.
    pub changes: Vec<Change>,
}

impl History {
    fn new(up: bool) -> Self {
        Self {
            up_at_start: up,
            up_at_end: up,
            downs: 0,
            down_s: 0.0,
            changes: Vec::new(),
        }
    }

    fn note(&mut self, up: bool, now: SystemTime) {
        if up == self.up_at_end {
            return;
        }
        self.up_at_end = up;
        self.downs += u64::from(!up);
        if self.changes.len() < LISTED {
            let time = time::rfc3339(now);
            self.changes.push(Change { time, up });
        }
    }
}

/// Follows an interface. Where the kernel does not tell of it, nothing is known.
pub struct Watch {
    socket: LinkSocket,
    history: History,
    /// Until when the time that it was down is counted.
    counted: SystemTime,
}

impl Watch {
    /// Follows it from now on.
    pub fn start(interface: &str) -> Option<Self> {
        let socket = LinkSocket::open(interface).ok()?;
        let history = History::new(socket.is_up());
        let counted = SystemTime::now();
        Some(Self {
            socket,
            history,
            counted,
        })
    }

    /// What is to be told until now; nothing where the interface was always up.
    pub fn told(&mut self) -> Option<History> {
        self.look();
        let history = &self.history;
        (history.downs > 0 || !history.up_at_start).then(|| history.clone())
    }

    /// Hears what the kernel has told.
    pub fn look(&mut self) {
        let now = SystemTime::now();
        if !self.history.up_at_end {
            let passed = now.duration_since(self.counted).unwrap_or_default();
            self.history.down_s += passed.as_secs_f64();
        }
        self.counted = now;
        for up in self.socket.changes() {
            self.history.note(up, now);
        }
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_listed_and_no_more_than_a_hundred() {
        let mut history = History::new(true);
        history.note(true, SystemTime::now());
        assert_eq!((history.downs, history.changes.len()), (0, 0));
        for _ in 0..150 {
            history.note(false, SystemTime::now());
            history.note(false, SystemTime::now());
            history.note(true, SystemTime::now());
        }
        assert_eq!((history.downs, history.changes.len()), (150, LISTED));
        assert!(history.up_at_start && history.up_at_end);
        assert!(!history.changes[0].up && history.changes[1].up);
    }
}
