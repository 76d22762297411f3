//! State that only a TCP direction that sends has: segments that wait for their acknowledgement, RTT samples, messages,
//! and what limits it.

use std::collections::VecDeque;

use super::UNKNOWN;
use super::limits::Limits;
use super::messages::Message;
use crate::track::rtt::Rtt;

/// Most segments that wait for their acknowledgement; a capture of one side alone contains none.
const MOST_PENDING: usize = 65_536;
/// The same where no acknowledgement was seen at all.
const MOST_UNANSWERED: usize = 512;

/// A segment sent once and not yet acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub from: i64,
    pub to: i64,
    /// When it was sent; [`DONE`] once SACK covered it, or where that is unknown.
    pub time: i64,
}

pub(crate) const DONE: i64 = i64::MIN;

/// State of a direction that sent a byte besides SYN.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    pub pending: VecDeque<Pending>,
    pub rtt: Rtt,
    /// Most bytes sent and not acknowledged.
    pub greatest_flight: u32,
    /// How many bytes waited for their acknowledgement until a hole below them was filled, and the number after them.
    held: u32,
    held_to: i64,
    pub message: Message,
    pub limits: Limits,
}

impl Sender {
    /// Returns how many more segments may wait for their acknowledgement, where all below `una` is acknowledged.
    #[inline]
    pub(crate) fn room(&self, una: i64) -> usize {
        let most = if una == UNKNOWN {
            MOST_UNANSWERED
        } else {
            MOST_PENDING
        };
        most.saturating_sub(self.pending.len())
    }

    /// Adds a segment that waits for its acknowledgement, where there is room.
    #[inline]
    pub(crate) fn wait(&mut self, una: i64, segment: Pending) {
        if self.room(una) > 0 {
            self.pending.push_back(segment);
        }
    }

    /// Notes that bytes up to `to`, below those up to `end` that were sent last, filled a hole. The acknowledgement of
    /// the bytes above it waited for them: it measures nothing. SACK did not wait.
    #[cold]
    pub(crate) fn hole_filled(&mut self, to: i64, end: i64) {
        let from = if to <= self.held_to {
            to.min(self.held_to - i64::from(self.held))
        } else {
            to
        };
        self.held = u32::try_from(end - from).unwrap_or(0);
        self.held_to = end;
    }

    /// Returns whether the acknowledgement of the segment that ends at `to` waited for others.
    #[inline]
    pub(crate) fn was_held(&self, to: i64) -> bool {
        to <= self.held_to && to > self.held_to - i64::from(self.held)
    }
}
