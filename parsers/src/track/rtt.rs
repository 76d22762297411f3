//! Round trip times of one direction.

/// RTT samples of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rtt {
    pub samples: u32,
    /// Smoothed with a gain of 1/8, RFC 6298 2.3, in nanoseconds; at most 4.29 s.
    pub smoothed_ns: u32,
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
}

/// No host waits this long for an acknowledgement: it gives up after minutes.
const LONGEST_NS: i64 = 24 * 3600 * 1_000_000_000;

impl Rtt {
    pub(crate) fn add(&mut self, ns: i64) {
        // A clock that was set measures nothing.
        if !(0..=LONGEST_NS).contains(&ns) {
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
