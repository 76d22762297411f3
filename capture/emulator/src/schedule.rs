//! Finds what changes next from a list of changes and the time at which it began.

use crate::config::{Applied, Change, Fault, Network};

/// The present settings of the network, and the changes to come.
#[derive(Debug)]
pub struct Schedule {
    network: Network,
    changes: Vec<Change>,
    next: usize,
    waits: bool,
    began_ns: Option<u64>,
}

impl Schedule {
    /// Returns a schedule that has not begun.
    pub const fn new(network: Network, changes: Vec<Change>, waits: bool) -> Self {
        Self {
            network,
            changes,
            next: 0,
            waits,
            began_ns: None,
        }
    }

    /// Notes that the emulator is ready: begins, unless it waits for a command.
    pub const fn ready(&mut self, now_ns: u64) {
        if !self.waits {
            self.start(now_ns);
        }
    }

    /// Begins, or begins again; what was changed stays changed.
    pub const fn start(&mut self, now_ns: u64) {
        self.began_ns = Some(now_ns);
        self.next = 0;
    }

    /// Returns when the next change is due.
    pub fn next_ns(&self) -> Option<u64> {
        Some(self.began_ns? + self.changes.get(self.next)?.at_ns)
    }

    /// Makes the next change; returns its time, its key and what becomes different.
    pub fn take(&mut self) -> Option<(u64, String, Vec<Applied>)> {
        let at_ns = self.next_ns()?;
        let change = &self.changes[self.next];
        self.next += 1;
        // The whole schedule was checked when it was read; since then a command may have made a change of it unusable.
        let applied = self.network.apply(change).unwrap_or_default();
        Some((at_ns, change.key.clone(), applied))
    }

    /// Makes a change that is not in the schedule.
    pub fn change(&mut self, change: &Change) -> Result<Vec<Applied>, Fault> {
        self.network.apply(change)
    }
}
