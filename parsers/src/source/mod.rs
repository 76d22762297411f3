//! A file, a pipe or a compressed stream to windows of plain bytes.

mod compression;
mod opened;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

pub use compression::Compression;
use opened::{Opened, Reader};

use crate::error::{Error, Fault};
use crate::input::Input;

/// Bytes read at a time: they should still be in the processor's cache when they are decoded.
const WINDOW: usize = 256 << 10;

/// Bytes that each of several threads reads at a time, and the slices of a window.
const SLICE: usize = 512 << 10;
const SLICES: usize = 4;

/// An opened input: a window on its plain bytes that moves forward.
pub(crate) struct Source {
    input: Opened,
    /// Room for the window; it lies in `held`.
    buffer: Vec<u8>,
    held: Range<usize>,
    /// Offset of the window's first byte in the plain input.
    start: u64,
    ended: bool,
    fault: Option<Fault>,
}

impl Source {
    /// Opens `input` and looks at its first bytes to learn how it is compressed. `consumed` counts the bytes
    /// of the input as stored, for progress.
    pub(crate) fn open(input: &Input, consumed: Arc<AtomicU64>) -> Result<Self, Error> {
        let input = Opened::open(input, consumed)?;
        let room = input
            .length
            .map_or(WINDOW, |length| WINDOW.min(length as usize + 1));
        Ok(Self {
            input,
            buffer: vec![0; room],
            held: 0..0,
            start: 0,
            ended: false,
            fault: None,
        })
    }

    /// Moves the window's begin forward by `used` bytes and reads on: it holds at least `need` bytes then,
    /// unless the input ends before.
    pub(crate) fn advance(&mut self, used: usize, need: usize) {
        self.leave_behind(used);
        self.read_on(need);
    }

    /// As [`Self::advance`], but several threads read a larger window, each a slice, and hand what is in it, with its
    /// offset in the window, to `look`. The slices; none where too little is left, or one thread has to read it.
    pub(crate) fn advance_in_slices<'a, S: Default + Send>(
        &mut self,
        used: usize,
        need: usize,
        slices: &'a mut Vec<S>,
        look: impl Fn(&mut S, &[u8], usize) + Sync,
    ) -> &'a [S] {
        self.leave_behind(used);
        let held = self.held.end;
        let window = held + SLICES * SLICE;
        let length = self.input.length.unwrap_or_default();
        let input = match &mut self.input.reader {
            Reader::File(file) if length.saturating_sub(file.at()) >= (SLICES * SLICE) as u64 => {
                file
            }
            _ => {
                self.read_on(need);
                return &[];
            }
        };
        if self.buffer.len() < window {
            self.buffer.resize(window, 0);
        }
        // What is left of the window before belongs to the first slice.
        let (first, others) = self.buffer[..window].split_at_mut(held + SLICE);
        let rooms = std::iter::once(first).chain(others.chunks_exact_mut(SLICE));
        slices.resize_with(SLICES, S::default);
        let work: Vec<_> = (0..).zip(rooms.zip(&mut *slices)).collect();
        let file = &*input;
        let read: Vec<bool> = work
            .into_par_iter()
            .map(|(number, (room, slice))| {
                let offset = number * SLICE;
                let (known, begin) = if number == 0 {
                    (held, 0)
                } else {
                    (0, held + offset)
                };
                let got = file.read_at(&mut room[known..], file.at() + offset as u64);
                let whole = got.is_ok_and(|got| got == SLICE);
                if whole {
                    look(slice, room, begin);
                }
                whole
            })
            .collect();
        let whole = read.iter().take_while(|whole| **whole).count();
        self.held.end += whole * SLICE;
        input.skip((whole * SLICE) as u64);
        // Where less came than there was, or nothing could be read, one thread finds out why.
        if whole < SLICES || self.held.end < need {
            self.read_on(need);
        }
        &slices[..whole]
    }

    fn leave_behind(&mut self, used: usize) {
        let used = used.min(self.held.len());
        self.start += used as u64;
        self.buffer
            .copy_within(self.held.start + used..self.held.end, 0);
        self.held = 0..self.held.len() - used;
    }

    fn read_on(&mut self, need: usize) {
        while !self.ended && (self.held.end < need || self.held.end < self.buffer.len()) {
            if self.held.end == self.buffer.len() {
                // Only what really arrives is allocated: a length that a record claims allocates nothing.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let room = &mut self.buffer[self.held.end..];
            match self.input.reader.read(room) {
                Ok(0) => self.ended = true,
                Ok(read) => self.held.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read before the damage is kept; the records tell where it ends.
                Err(error) => {
                    self.ended = true;
                    self.fault = Some(if self.input.compressed {
                        Fault::new(
                            format!("the input cannot be unpacked further ({error})"),
                            "a complete compressed stream",
                        )
                    } else {
                        Fault::new(
                            format!("the input cannot be read further ({error})"),
                            "a readable file or stream",
                        )
                    });
                }
            }
        }
    }

    /// The bytes in the window.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.held.clone()]
    }

    /// Offset of the window's first byte in the plain input.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Nothing follows behind the window.
    pub(crate) fn is_last(&self) -> bool {
        self.ended
    }

    /// Why the input ended before its end, if it did.
    pub(crate) fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Length of the plain input where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.input.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads what is left, as slices where that can be; also the offsets and lengths of these.
    fn rest(source: &mut Source) -> (Vec<u8>, Vec<(u64, usize)>) {
        let (mut found, mut seen) = (Vec::new(), Vec::new());
        let mut slices: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut used = 0;
        while !source.is_last() || source.bytes().len() > used {
            let look =
                |slice: &mut (usize, Vec<u8>), bytes: &[u8], at| *slice = (at, bytes.to_vec());
            // Some bytes are left each time, as of a record that is not there whole.
            let slices = source.advance_in_slices(used, 1, &mut slices, look);
            let slices: Vec<_> = slices.to_vec();
            for (at, bytes) in slices {
                assert_eq!(source.bytes()[at..at + bytes.len()], bytes);
                seen.push((source.start() + at as u64, bytes.len()));
            }
            let left = if source.is_last() { 0 } else { 7 };
            used = source.bytes().len() - left;
            found.extend(&source.bytes()[..used]);
        }
        (found, seen)
    }

    #[test]
    fn a_file_that_changes_while_slices_are_read_is_read_to_its_new_end() {
        let window = (SLICES * SLICE) as i64;
        let content = |length: i64| -> Vec<u8> { (0..length).map(|at| (at % 251) as u8).collect() };
        let path = std::env::temp_dir().join(format!("flowsweep-source-{}", std::process::id()));
        for change in [0, 1000, 2 * window, -1000, -window - 5, -3 * window] {
            let length = 4 * window + 9;
            std::fs::write(&path, content(length)).expect("a file");
            let mut source =
                Source::open(&Input::from_path(&path), Arc::default()).expect("opened");
            source.advance(0, 28);
            std::fs::write(&path, content(length + change)).expect("another length");
            let (found, seen) = rest(&mut source);
            // What was in the first window stays read.
            assert_eq!(
                found,
                content((length + change).max(WINDOW as i64)),
                "{change}"
            );
            let whole = (length + change.min(0) - WINDOW as i64).max(0) / SLICE as i64;
            assert!(
                seen.len() as i64 >= whole / SLICES as i64 * SLICES as i64,
                "{change} {seen:?}"
            );
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
