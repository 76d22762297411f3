//! Records changes of an interface for the manifest: a link that is down carries no packets, and in the capture that
//! looks like silence.

use std::os::fd::{AsRawFd, RawFd};
use std::time::SystemTime;

use serde::Serialize;

use crate::sys::link::{LinkSocket, State};
use crate::time;

/// The first changes are listed, at most this many; all are counted.
const LISTED: usize = 100;

/// A moment at which the interface went up or down.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// When the agent learned of it, RFC 3339.
    pub time: String,
    /// Up (switched on, with a carrier) from here on, or down.
    pub up: bool,
}

/// How often, and for how long, the interface was down while packets were captured.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// Whether it was up when the capture began.
    pub up_at_start: bool,
    /// Whether it is up at the end; while the capture runs, now.
    pub up_at_end: bool,
    /// How often it went down, by the kernel's count, which misses no change.
    pub downs: u64,
    /// How long it was seen down, seconds.
    pub down_s: f64,
    /// The first 100 changes that were seen.
    pub changes: Vec<Change>,
    /// The kernel's count at the start, and changes to down that were seen.
    #[serde(skip)]
    losses_before: Option<u32>,
    #[serde(skip)]
    seen: u64,
}

impl History {
    const fn new(state: State) -> Self {
        Self {
            up_at_start: state.up,
            up_at_end: state.up,
            downs: 0,
            down_s: 0.0,
            changes: Vec::new(),
            losses_before: state.losses,
            seen: 0,
        }
    }

    fn note(&mut self, state: State, now: SystemTime) {
        if let (Some(before), Some(losses)) = (self.losses_before, state.losses) {
            self.downs = self.downs.max(losses.wrapping_sub(before).into());
        }
        if state.up == self.up_at_end {
            return;
        }
        self.up_at_end = state.up;
        self.seen += u64::from(!state.up);
        self.downs = self.downs.max(self.seen);
        if self.changes.len() < LISTED {
            let (time, up) = (time::rfc3339(now), state.up);
            self.changes.push(Change { time, up });
        }
    }
}

/// Follows an interface. Its state is unknown where the kernel does not report it.
pub struct Watch {
    socket: LinkSocket,
    history: History,
    /// The time up to which the seconds without a link are counted.
    counted: SystemTime,
}

impl Watch {
    /// Follows `interface` from now on.
    pub fn start(interface: &str) -> Option<Self> {
        let socket = LinkSocket::open(interface).ok()?;
        socket.ask();
        let state = *socket.states().last()?;
        Some(Self {
            socket,
            history: History::new(state),
            counted: SystemTime::now(),
        })
    }

    /// Returns the history until now; nothing where the interface was always up.
    pub fn take_history(&mut self) -> Option<History> {
        self.ask();
        let history = &self.history;
        (history.downs > 0 || !history.up_at_start).then(|| history.clone())
    }

    /// Asks the kernel for its state: notices of a lost carrier come up to a second late.
    pub fn ask(&mut self) {
        self.socket.ask();
        self.look();
    }

    /// Takes in the kernel's notices.
    pub fn look(&mut self) {
        let now = SystemTime::now();
        if !self.history.up_at_end {
            let passed = now.duration_since(self.counted).unwrap_or_default();
            self.history.down_s += passed.as_secs_f64();
        }
        self.counted = now;
        for state in self.socket.states() {
            self.history.note(state, now);
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

    const fn state(up: bool, losses: Option<u32>) -> State {
        State { up, losses }
    }

    #[test]
    fn only_changes_are_listed_and_no_more_than_a_hundred() {
        let mut history = History::new(state(true, None));
        history.note(state(true, None), SystemTime::now());
        assert_eq!((history.downs, history.changes.len()), (0, 0));
        for _ in 0..150 {
            history.note(state(false, None), SystemTime::now());
            history.note(state(false, None), SystemTime::now());
            history.note(state(true, None), SystemTime::now());
        }
        assert_eq!((history.downs, history.changes.len()), (150, LISTED));
        assert!(history.up_at_start && history.up_at_end);
        assert!(!history.changes[0].up && history.changes[1].up);
    }

    #[test]
    fn losses_that_nobody_saw_are_counted() {
        let mut history = History::new(state(true, Some(u32::MAX)));
        history.note(state(true, Some(2)), SystemTime::now());
        assert_eq!((history.downs, history.changes.len()), (3, 0));
        history.note(state(false, Some(3)), SystemTime::now());
        assert_eq!((history.downs, history.changes.len()), (4, 1));
    }
}
