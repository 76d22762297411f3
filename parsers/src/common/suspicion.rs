//! What the quick reading of a capture cannot decide: once something odd is noticed, the capture is read again with care.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Whether something odd was noticed; shared by the stages of a reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suspicion(Arc<AtomicBool>);

impl Suspicion {
    /// Asks for a careful reading.
    pub(crate) fn raise(&self) {
        self.0.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Relaxed)
    }
}
