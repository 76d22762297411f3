//! How carefully a capture is read. Most captures need little care; a reading that notices something odd ends, and the
//! next one is more careful.

use crate::capture::file::MOST_SORTED;
use crate::common::fast_paths::FastPaths;
use crate::common::suspicion::Suspicion;
use crate::pipeline::options::Options;

/// How carefully a capture is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Counts packets in the order of the file; the reading ends as soon as it notices something odd.
    Little,
    /// Sorts the packets of one file by time where they are slightly out of order; ends at anything else that is odd.
    Near,
    /// Sorts all packets by time; ends at anything else that is odd.
    Order,
    /// Sifts all packets: sorts them, and recognises copies and segments that a receiver refuses.
    Full,
}

impl Care {
    /// Returns the care of the next reading, after `suspicion` ended this one.
    pub(super) fn after(self, suspicion: &Suspicion, files: usize, options: &Options) -> Self {
        if !suspicion.is_of_order() || options.without_fast.has(FastPaths::ORDER) {
            return Self::Full;
        }
        match self {
            // With several files the window decides which of equally early packets comes first.
            Self::Little if files == 1 && options.order_window_packets >= MOST_SORTED => Self::Near,
            Self::Little | Self::Near => Self::Order,
            Self::Order | Self::Full => Self::Full,
        }
    }

    /// Returns whether packets go through the window of the sifter.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Order | Self::Full)
    }
}
