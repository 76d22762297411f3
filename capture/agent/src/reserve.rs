//! Keeps a little space free for data that must still be written when the disk is full.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use flowsweep_common::output;

use crate::sys::linux;

/// Bytes that a manifest with few files needs.
const LEAST_BYTES: u64 = 16 << 10;

/// Space held by a file that has no name: nothing is left of it when the process is killed.
pub struct Reserve {
    folder: PathBuf,
    held: Option<File>,
    bytes: u64,
}

impl Reserve {
    /// Takes space in the folder of `file`. Where the file system cannot do that, nothing is held.
    pub fn beside(file: &Path) -> Self {
        let mut reserve = Self {
            folder: output::folder_of(file),
            held: None,
            bytes: 0,
        };
        reserve.grow(LEAST_BYTES);
        reserve
    }

    /// Reserves at least this much, if the disk has it.
    pub fn grow(&mut self, bytes: u64) {
        if bytes <= self.bytes {
            return;
        }
        let file = self
            .held
            .take()
            .or_else(|| linux::nameless_file(&self.folder).map(File::from).ok());
        // Twice the request, so that files that grow slowly do not ask each time.
        if let Some(file) = file
            && linux::allocate(file.as_raw_fd(), bytes * 2).is_ok()
        {
            self.bytes = bytes * 2;
            self.held = Some(file);
        }
    }

    /// Gives the space back.
    pub fn release(&mut self) {
        self.held = None;
        self.bytes = 0;
    }
}
