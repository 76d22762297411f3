//! Signs of what a quick reading cannot decide: once something odd is noticed, the capture is read again with more
//! care.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// A time went back.
const ORDER: u8 = 1;
/// Any other oddity.
const OTHER: u8 = 2;

/// Whether something odd was noticed; shared by the stages of a reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suspicion(Arc<AtomicU8>);

impl Suspicion {
    /// Asks for a careful reading.
    pub(crate) fn raise(&self) {
        self.0.fetch_or(OTHER, Relaxed);
    }

    /// Asks for a reading in the order of time.
    pub(crate) fn raise_order(&self) {
        self.0.fetch_or(ORDER, Relaxed);
    }

    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Returns whether a time went back: that may explain any other oddity.
    pub(crate) fn is_of_order(&self) -> bool {
        self.0.load(Relaxed) & ORDER != 0
    }
}
