//! One-way delays of packets.

use super::clocks::{Delay, Solved};
use super::fate::{Fate, FateRow};

/// A packet that was found where it was sent and where it arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneWayRow {
    /// The index of its fate in the rows that are written with this one.
    pub fate: usize,
    pub path: (u16, u16),
    /// By the sender's own clock.
    pub sent: i64,
    pub delay: Delay,
}

impl OneWayRow {
    /// Returns the row of the packet whose fate is at index `fate`; none for packets that were not delivered.
    pub(super) fn new(fate: usize, row: &FateRow, clocks: &Solved) -> Option<Self> {
        let path = (row.sender?, row.receiver?);
        let ((sent, _), (received, _)) = (row.sent?, row.received?);
        (row.fate == Fate::Delivered).then(|| Self {
            fate,
            path,
            sent,
            delay: if row.has_wrong_time {
                Delay::default()
            } else {
                clocks.delay(path, sent, received)
            },
        })
    }
}
