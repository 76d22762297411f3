//! How a sender spreads over time what it has queued: the stops that its pace explains.

/// How slow a pace may be.
#[derive(Debug, Clone, Copy)]
struct Slowest {
    /// Fewest segments that are spread over a round trip time.
    segments: i64,
    /// A stop may be this long in any case.
    least_ns: i64,
}

/// The window of a new connection has ten segments (RFC 6928); two of them allow for errors of measurement.
const AT_START: Slowest = Slowest {
    segments: 8,
    least_ns: 3_000_000,
};
/// Where stops within messages were seen: BBR takes the rate of an application that sends now and then for the path's.
const LATER: Slowest = Slowest {
    segments: 2,
    least_ns: 8_000_000,
};
/// Linux hands over at once what its pace sends within a millisecond, over a wireless card within 16 ms, but at least
/// two segments. The stop after that is as long.
const LONGEST_NS: i64 = 16_000_000;
const LEAST_HANDED_OVER: u64 = 2;
/// A stop is at most this many times as long as the pace so far explains.
const MARGIN: u64 = 3;
/// The sender may be paced, at an unknown rate.
const UNKNOWN: u32 = 1;

/// The state of the estimate of one direction's pace.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Typical time that 1024 bytes take between stops inside messages, in nanoseconds: moves towards each by an
    /// eighth; 0 before the first.
    kib_ns: u32,
    /// Bytes since the last stop.
    train: u32,
}

/// The inputs of that estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub rtt_ns: i64,
    /// Payload of a full segment.
    pub full: u64,
}

impl Pace {
    /// Takes in a segment with `payload` bytes.
    #[inline]
    pub(crate) fn sent(&mut self, payload: u32) {
        self.train = self.train.saturating_add(payload);
    }

    /// Notes a stop: the count of bytes begins again.
    #[inline]
    pub(crate) fn stopped(&mut self) {
        self.train = 0;
    }

    /// Takes in a stop inside a message.
    #[inline]
    pub(crate) fn learn(&mut self, gap: i64) {
        let (gap, train) = (gap.min(1 << 40) as u64, u64::from(self.train));
        if self.kib_ns <= UNKNOWN {
            self.kib_ns = u32::try_from((gap << 10) / train.max(1)).unwrap_or(u32::MAX);
            return;
        }
        let change = self.kib_ns / 8 + 1;
        self.kib_ns = if gap << 10 > u64::from(self.kib_ns) * train {
            self.kib_ns.saturating_add(change)
        } else {
            self.kib_ns.saturating_sub(change)
        };
    }

    /// Returns whether a stop of `gap` is like the stops before it.
    #[inline]
    pub(crate) fn explains(&self, gap: i64) -> bool {
        let expected = (u64::from(self.kib_ns) * u64::from(self.train)) >> 10;
        gap as u64 <= MARGIN * expected
    }

    /// Notes that a message was ended at a stop of `gap`. If a slow pace makes such stops, they end none from now on.
    pub(crate) fn doubt(&mut self, path: Path, gap: i64) {
        if gap <= self.longest_stop(path, LATER) {
            self.kib_ns = self.kib_ns.max(UNKNOWN);
        }
    }

    /// Returns whether a paced sender may stop for `gap` after the bytes since its last stop.
    pub(crate) fn may_stop(&self, path: Path, gap: i64) -> bool {
        gap <= self.longest_stop(path, self.slowest())
    }

    /// Returns whether data sent `gap` after the bytes since the last stop may have waited for its turn.
    pub(crate) fn may_delay(&self, path: Path, gap: i64) -> bool {
        let waits = path.rtt_ns.saturating_mul(i64::from(self.train));
        gap.saturating_mul(path.full as i64) <= waits / self.slowest().segments
    }

    fn slowest(&self) -> Slowest {
        if self.kib_ns == 0 { AT_START } else { LATER }
    }

    fn longest_stop(&self, path: Path, slowest: Slowest) -> i64 {
        let Slowest { segments, least_ns } = slowest;
        let train = u64::from(self.train).div_ceil(path.full);
        let spread = path.rtt_ns.saturating_mul(train as i64) / segments;
        let longest = if train <= LEAST_HANDED_OVER {
            spread
        } else {
            spread.min(LONGEST_NS)
        };
        longest.max(least_ns)
    }
}
