//! A window on the plain bytes of an input; it moves forward.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Stamp;
use super::ahead::{self, FRONT, Room};
use super::open_input::{ByteReader, OpenInput};
use super::unpacking::{Unpacking, Window};

use crate::common::error::{Error, Fault};
use crate::common::memory::note_short;
use crate::source::Input;

/// Bytes read at a time: they should still be in the processor's cache when they are decoded.
const WINDOW: usize = 256 << 10;
/// The minimum, when very many files are read in turn: ...
const SMALLEST_WINDOW: usize = 8 << 10;
/// ... the size of the cache, which all open files share.
const SHARED: usize = 1 << 20;

/// Returns how many bytes to read at a time from a file while `open` others are open.
pub(crate) fn window(open: usize) -> usize {
    (SHARED / (open + 1)).clamp(SMALLEST_WINDOW, WINDOW)
}

/// An opened input: a window on its plain bytes that moves forward.
pub(crate) struct Source {
    input: OpenInput,
    /// The buffer; the window is its part `held`.
    buffer: Room,
    held: Range<usize>,
    /// Windows that other threads read ahead.
    ahead: Option<Ahead>,
    /// A buffer for one of their windows.
    spare: Room,
    /// Offset of the window's first byte in the plain input.
    start: u64,
    ended: bool,
    fault: Option<Fault>,
}

/// Parts that other threads read ahead.
enum Ahead {
    /// Several parts of a plain file.
    File(ahead::FileAhead),
    /// The next part of a stream.
    Stream(Unpacking),
}

impl Source {
    /// Opens `input` and detects its compression by its first bytes. `room` bytes are read at a time. `before`: the
    /// identity of the file at an earlier opening; a file that has changed is an error. The bytes read from the input
    /// as stored are added to `consumed`, for progress.
    pub(crate) fn open(
        input: &Input,
        room: usize,
        consumed: Arc<AtomicU64>,
        before: Option<Stamp>,
    ) -> Result<Self, Error> {
        let input = OpenInput::open(input, consumed, before)?;
        let room = input
            .length
            .map_or(room, |length| room.min(length as usize + 1));
        Ok(Self {
            input,
            buffer: Room::new(room),
            held: 0..0,
            ahead: None,
            spare: Room::default(),
            start: 0,
            ended: false,
            fault: None,
        })
    }

    /// Moves the start of the window forward by `used` bytes and reads on until it has at least `need` bytes or the
    /// input ends.
    pub(crate) fn advance(&mut self, used: usize, need: usize) {
        let used = used.min(self.held.len());
        self.start += used as u64;
        self.held.start += used;
        while self.take_ahead() {
            if self.held.len() >= need {
                return;
            }
        }
        self.move_to_front();
        self.read_on(need);
    }

    /// Advances as [`Self::advance`] does, but from now on other threads read ahead, if enough of a plain file is left
    /// or if the input is compressed.
    pub(crate) fn advance_ahead(&mut self, used: usize, need: usize) {
        if self.ahead.is_none() && !self.ended {
            self.ahead = match (&mut self.input.reader, self.input.length) {
                (ByteReader::File(file), Some(length)) => {
                    ahead::FileAhead::new(&file.file, file.at, length).map(Ahead::File)
                }
                (ByteReader::Stream(stream), _) if self.input.compressed => {
                    let stream = std::mem::replace(stream, Box::new(io::empty()));
                    Some(Ahead::Stream(Unpacking::new(stream)))
                }
                // A pipe returns what is available; its writer needs time for more.
                _ => None,
            };
        }
        self.advance(used, need);
    }

    /// Appends the next window that was read ahead; returns whether there was one.
    fn take_ahead(&mut self) -> bool {
        let spare = std::mem::take(&mut self.spare);
        let window = match (&mut self.ahead, &mut self.input.reader) {
            (Some(Ahead::File(ahead)), ByteReader::File(file)) => ahead.take(spare).map(|room| {
                file.skip(ahead::WINDOW as u64);
                Window { room, end: None }
            }),
            (Some(Ahead::Stream(ahead)), _) => Some(ahead.take(spare)),
            _ => None,
        };
        let Some(Window { room, end }) = window else {
            // The end is near, or fewer bytes came than expected: reading on in this thread finds out.
            self.ahead = None;
            return false;
        };
        if let Some(end) = end {
            self.ahead = None;
            self.end(end);
        }
        self.append(room);
        true
    }

    /// Appends `window` to the bytes in the buffer.
    fn append(&mut self, mut window: Room) {
        let left = &self.buffer.bytes[self.held.clone()];
        if let Some(front) = FRONT.checked_sub(left.len()) {
            window.bytes[front..FRONT].copy_from_slice(left);
            self.held = front..window.bytes.len();
            self.spare = std::mem::replace(&mut self.buffer, window);
        } else {
            self.move_to_front();
            let bytes = &mut self.buffer.bytes;
            bytes.truncate(self.held.end);
            bytes.extend_from_slice(&window.bytes[FRONT..]);
            self.held = 0..bytes.len();
            self.spare = window;
        }
    }

    fn move_to_front(&mut self) {
        if self.held.start > 0 {
            self.buffer.bytes.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
        }
    }

    fn read_on(&mut self, need: usize) {
        while !self.ended && (self.held.end < need || self.held.end < self.buffer.bytes.len()) {
            let bytes = &mut self.buffer.bytes;
            if self.held.end == bytes.len() {
                // Memory is allocated only for bytes that arrive: the length that a record claims allocates nothing.
                bytes.resize(bytes.len() * 2, 0);
            }
            match self.input.reader.read(&mut bytes[self.held.end..]) {
                Ok(0) => self.end(Ok(())),
                Ok(read) => self.held.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end(Err(error)),
            }
        }
    }

    /// Ends the input. Bytes read before damage are kept; the records show where they end.
    fn end(&mut self, how: io::Result<()>) {
        self.ended = true;
        // If the file has changed, the bytes at its end say nothing about the capture.
        self.fault = self.input.changed();
        if self.fault.is_some() {
            return;
        }
        let Err(error) = how else { return };
        if is_of_memory(&error) {
            // The work ends at the next check of the memory taken.
            note_short();
        }
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

    /// Returns the bytes in the window.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer.bytes[self.held.clone()]
    }

    /// Returns the offset of the window's first byte in the plain input.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns whether nothing follows after the window.
    pub(crate) fn is_last(&self) -> bool {
        self.ended
    }

    /// Returns why reading stopped before the end of the input, if it did.
    pub(crate) fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Returns the identity of the file; none for a pipe.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.input.stamp()
    }

    /// Returns the length of the plain input, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.input.length
    }
}

/// Returns whether a decompressor ran out of memory. One that needs more than its limit is damage instead.
fn is_of_memory(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || error.get_ref().is_some_and(|inner| {
            let lzma = inner.downcast_ref::<liblzma::stream::Error>();
            matches!(lzma, Some(liblzma::stream::Error::Mem))
                || inner.to_string().contains("not enough memory")
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Moves the window forward to the end; returns all bytes, and how often some were read ahead.
    fn rest(source: &mut Source, step: usize) -> (Vec<u8>, i64) {
        let (mut found, mut ahead) = (Vec::new(), 0);
        let (mut used, mut need) = (0, 1);
        if source.is_last() {
            found.extend(source.bytes());
        }
        while !source.is_last() {
            source.advance_ahead(used, need);
            let known = source.bytes().len();
            assert!(known >= need || source.is_last());
            assert_eq!(source.start(), found.len() as u64);
            ahead += i64::from(source.ahead.is_some());
            // Some bytes are left each time, as of an incomplete record.
            let left = if source.is_last() { 0 } else { step.min(known) };
            used = known - left;
            need = left + 1 + left / 2;
            found.extend(&source.bytes()[..used]);
        }
        (found, ahead)
    }

    fn content(length: i64) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    /// Returns whether the input was unpacked ahead, its bytes, and the fault if they are incomplete.
    fn unpacked(bytes: &Arc<[u8]>, step: usize, threads: usize) -> (bool, Vec<u8>, Option<Fault>) {
        let input = Input::Bytes {
            bytes: Arc::clone(bytes),
            name: String::new(),
        };
        let mut source = Source::open(&input, WINDOW, Arc::default(), None).expect("opened");
        source.advance(0, 28);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let (found, ahead) = pool.expect("threads").install(|| rest(&mut source, step));
        (ahead > 0, found, source.fault())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_stream_is_unpacked_ahead_to_its_end_or_its_damage(
            length in 0..(24 * ahead::WINDOW as i64),
            cut in prop_oneof![Just(1.0), 0.1..1.0_f64],
            step in prop_oneof![Just(0), 1..100_usize, Just(FRONT), 60_000..3_000_000_usize],
            threads in 1..4_usize,
        ) {
            let plain = content(length);
            let packed = zstd::encode_all(&plain[..], 1).expect("packed");
            let kept = (packed.len() as f64 * cut) as usize;
            let (ahead, found, fault) = unpacked(&Arc::from(&packed[..kept]), step, threads);
            prop_assert!(plain.starts_with(&found));
            prop_assert_eq!(fault.is_some(), kept < packed.len());
            if kept == packed.len() {
                prop_assert_eq!(found.len(), plain.len());
                prop_assert_eq!(ahead, plain.len() >= 2 * WINDOW);
            }
        }

        #[test]
        fn a_file_that_changes_is_read_as_far_as_it_was_and_reported_as_changed(
            length in 300_000..(8 * ahead::WINDOW as i64),
            change in prop_oneof![Just(0), -2..2_i64, -9_000_000..9_000_000_i64],
            step in prop_oneof![Just(0), 1..100_usize, Just(FRONT), 60_000..3_000_000_usize],
            threads in 1..4_usize,
        ) {
            let path = std::env::temp_dir().join(format!("flowsweep-source-{}", std::process::id()));
            std::fs::write(&path, content(length)).expect("a file");
            let mut source = Source::open(&Input::from_path(&path), WINDOW, Arc::default(), None).expect("opened");
            source.advance(0, 28);
            let held = source.bytes().len() as i64;
            let now = (length + change).max(0);
            let file = std::fs::File::options().write(true).open(&path).expect("opened");
            if change != 0 {
                file.set_len(now as u64).expect("another length");
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let (found, ahead) = pool.install(|| rest(&mut source, step));
            // The bytes of the first window are kept.
            prop_assert!(found == content(now.min(length).max(held)));
            let fault = source.fault().map(|fault| (fault.changed, fault.found));
            prop_assert_eq!(fault.is_some(), change != 0);
            if let Some((changed, found)) = fault {
                prop_assert!(changed);
                prop_assert!(found.contains(if change < 0 { "cut" } else { "grew" }), "{}", found);
            }
            let windows = (length - held) / ahead::WINDOW as i64;
            if change >= 0 && step < FRONT && windows >= 4 {
                prop_assert_eq!(ahead, windows);
            }
            std::fs::remove_file(&path).expect("removed");
        }
    }
}
