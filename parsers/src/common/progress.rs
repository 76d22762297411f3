//! The progress of the work, and the request to stop it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::error::Error;

/// The progress of the work and a request to stop, shared with other threads.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Bytes read from the inputs as stored.
    pub read: Arc<AtomicU64>,
    /// Packets counted.
    pub packets: Arc<AtomicU64>,
    /// Set this to end the work with [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

impl Progress {
    /// Fails if the work was asked to stop.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Relaxed) {
            return Err(Error::Stopped);
        }
        Ok(())
    }
}
