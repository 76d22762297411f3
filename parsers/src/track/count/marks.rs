//! Congestion marks of one direction: which packets could be marked, which were, and what its sender echoes.

use crate::decode::segment::Segment;
use crate::decode::{ecn, flag};

/// Counts by RFC 3168: sections 5 (IP) and 6.1 (TCP).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Packets that a queue may mark instead of dropping them, marked ones included.
    pub capable_packets: u64,
    /// Packets that a queue marked.
    pub marked_packets: u64,
    /// Segments that echo marks to the other side, and those that answer the echo.
    echoes: u64,
    answers: u64,
    /// The three header bits are a counter, RFC 9768: it begins with 5, which sets AE.
    has_counter: bool,
}

impl Marks {
    /// Counts `segment`.
    #[inline]
    pub(crate) fn count(&mut self, segment: &Segment) {
        let mark = segment.ecn();
        self.capable_packets += u64::from(mark != ecn::NOT_CAPABLE);
        self.marked_packets += u64::from(mark == ecn::CONGESTION_EXPERIENCED);
        // In a SYN the same bits negotiate.
        if segment.tcp() && !segment.has(flag::SYN) {
            self.echoes += u64::from(segment.has(flag::ECE));
            self.answers += u64::from(segment.has(flag::CWR));
            self.has_counter |= segment.has(flag::AE);
        }
    }

    /// Returns the number of segments with ECE; unknown where its bit is part of a counter.
    pub(crate) fn echoes(&self) -> Option<u64> {
        (!self.has_counter).then_some(self.echoes)
    }

    /// Returns the number of segments with CWR; unknown where its bit is part of a counter.
    pub(crate) fn answers(&self) -> Option<u64> {
        (!self.has_counter).then_some(self.answers)
    }
}
