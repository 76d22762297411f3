//! How long packets were under way.

use super::clocks::{Delay, Solved};
use super::fate::{Fate, FateRow};

/// A packet that was found where it was sent and where it arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneWayRow {
    pub row: FateRow,
    pub path: (u16, u16),
    /// By the sender's own clock.
    pub sent: i64,
    pub delay: Delay,
}

impl OneWayRow {
    /// None for packets that were not delivered.
    pub(super) fn new(row: &FateRow, clocks: &Solved) -> Option<Self> {
        let path = (row.sender?, row.receiver?);
        let ((sent, _), (received, _)) = (row.sent?, row.received?);
        (row.fate == Fate::Delivered).then(|| Self {
            row: *row,
            path,
            sent,
            delay: clocks.delay(path, sent, received),
        })
    }
}
