//! How far the work is, and the request to stop it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::error::Error;

/// Seen from another thread: how far the work is; and a request to stop.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Bytes of the inputs, as stored, that were read.
    pub read: Arc<AtomicU64>,
    /// Packets counted.
    pub packets: Arc<AtomicU64>,
    /// Set to make the work end with [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

impl Progress {
    /// Fails once the work is to end.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Relaxed) {
            return Err(Error::Stopped);
        }
        Ok(())
    }
}
