//! What is only known of a TCP direction that sends: segments that wait for their acknowledgement, RTT samples,
//! messages, and what limits it.

use std::collections::VecDeque;

use super::limits::Limits;
use super::messages::Message;

/// A segment sent once and not yet acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub from: i64,
    pub to: i64,
    /// When it was sent; [`DONE`] once SACK covered it, or a hole below it was filled.
    pub time: i64,
}

pub(super) const DONE: i64 = i64::MIN;

/// State of a direction that sent an octet besides SYN.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub pending: VecDeque<Pending>,
    pub rtt: Rtt,
    /// Most octets sent and not acknowledged.
    pub greatest_flight: u32,
    pub message: Message,
    pub limits: Limits,
}

impl Sender {
    /// Octets below those sent last filled a hole. The acknowledgement of what lies above it was waiting for
    /// them: it measures nothing. What SACK told of before was sampled then, and all below it as well.
    #[cold]
    pub(super) fn hole_filled(&mut self, to: i64) {
        for segment in self.pending.iter_mut().rev() {
            if segment.from < to || segment.time == DONE {
                return;
            }
            segment.time = DONE;
        }
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
    pub(super) fn add(&mut self, ns: i64) {
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
