//! What is only known of a TCP direction that sends: segments that wait for their acknowledgement, RTT samples,
//! messages, and what limits it.

use std::collections::VecDeque;

use crate::track::tcp::limits::Limits;
use crate::track::tcp::messages::Message;

/// A segment sent once and not yet acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub from: i64,
    pub to: i64,
    /// When it was sent; [`DONE`] once SACK covered it.
    pub time: i64,
}

pub(crate) const DONE: i64 = i64::MIN;

/// State of a direction that sent an octet besides SYN.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    pub pending: VecDeque<Pending>,
    pub rtt: Rtt,
    /// Most octets sent and not acknowledged.
    pub greatest_flight: u32,
    /// How many octets waited for their acknowledgement until a hole below them was filled, and the number
    /// behind them.
    held: u32,
    held_to: i64,
    pub message: Message,
    pub limits: Limits,
}

impl Sender {
    /// Octets up to `to`, below those up to `end` that were sent last, filled a hole. The acknowledgement of what
    /// lies above it was waiting for them: it measures nothing. SACK did not wait.
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

    /// Whether the acknowledgement of the segment that ends at `to` waited for others.
    #[inline]
    pub(crate) fn was_held(&self, to: i64) -> bool {
        to <= self.held_to && to > self.held_to - i64::from(self.held)
    }
}

/// RTT samples of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rtt {
    pub samples: u32,
    /// Smoothed, RFC 6298 2, in nanoseconds; at most 4.29 s.
    pub smoothed_ns: u32,
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
}

impl Rtt {
    pub(crate) fn add(&mut self, ns: i64) {
        // A clock that stepped back measures nothing.
        if ns < 0 {
            return;
        }
        let short = u32::try_from(ns).unwrap_or(u32::MAX);
        if self.samples == 0 {
            self.min_ns = ns;
            self.smoothed_ns = short;
        } else {
            self.min_ns = self.min_ns.min(ns);
            self.smoothed_ns = self.smoothed_ns - self.smoothed_ns / 8 + short / 8;
        }
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.samples += 1;
    }
}
