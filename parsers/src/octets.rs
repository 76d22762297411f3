//! An input that is no capture, such as a log, to its plain octets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::input::Input;
use crate::source::Source;

/// Octets read at a time.
const ROOM: usize = 1 << 20;

/// The plain octets of an input, one part after the other; unpacked if it is compressed.
pub struct Octets {
    source: Source,
    consumed: Arc<AtomicU64>,
    begun: bool,
}

impl Octets {
    /// Opens `input` and looks at its first bytes to learn how it is compressed.
    pub fn open(input: &Input) -> Result<Self, Error> {
        let consumed = Arc::default();
        Ok(Self {
            source: Source::open(input, ROOM, Arc::clone(&consumed), None)?,
            consumed,
            begun: false,
        })
    }

    /// Reads on: [`Octets::part`] is the next part then.
    pub fn advance(&mut self) {
        let used = if self.begun {
            self.source.bytes().len()
        } else {
            0
        };
        self.begun = true;
        self.source.advance(used, 1);
    }

    /// The part that was read last; empty at the end.
    pub fn part(&self) -> &[u8] {
        self.source.bytes()
    }

    /// Why the input ended before its end, if it did.
    pub fn fault(&mut self) -> Option<String> {
        self.source.fault().map(|fault| fault.found)
    }

    /// Bytes of the input as it is stored that were read so far.
    pub fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}
