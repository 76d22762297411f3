//! How carefully a capture is read: most need little care, and what shows that one needs more ends the reading.

use crate::capture::file::MOST_SORTED;
use crate::common::fast_ways::FastWays;
use crate::common::suspicion::Suspicion;
use crate::pipeline::options::Options;

/// How carefully a capture is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Packets count as they come; the reading ends where something odd is noticed.
    Little,
    /// Those of one file are put in the order of their times where they lie a little out of it; it ends where something else
    /// is noticed.
    Near,
    /// Packets are put in the order of their times; it ends where something else is noticed.
    Order,
    /// Packets are sifted.
    Full,
}

impl Care {
    /// With which all is read again where `suspicion` ended a reading.
    pub(super) fn after(self, suspicion: &Suspicion, files: usize, options: &Options) -> Self {
        if !suspicion.is_of_order() || options.without_fast.has(FastWays::ORDER) {
            return Self::Full;
        }
        match self {
            // Of several files the window decides which of equally early packets comes first.
            Self::Little if files == 1 && options.order_window_packets >= MOST_SORTED => Self::Near,
            Self::Little | Self::Near => Self::Order,
            Self::Order | Self::Full => Self::Full,
        }
    }

    /// Packets go through the window of the sifter.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Order | Self::Full)
    }
}
