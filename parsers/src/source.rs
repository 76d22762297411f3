//! A file, a pipe or a compressed stream to windows of plain bytes.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::compression::Compression;
use crate::error::{Error, Fault};
use crate::input::Input;

/// Bytes read at a time: they should still be in the processor's cache when they are decoded.
const WINDOW: usize = 256 << 10;

/// Bytes that each of several threads reads at a time, and the slices of a window.
const SLICE: usize = 512 << 10;
const SLICES: usize = 4;

/// An opened input: a window on its plain bytes that moves forward.
pub(crate) struct Source {
    reader: Reader,
    /// Room for the window; it lies in `held`.
    buffer: Vec<u8>,
    held: Range<usize>,
    /// Offset of the window's first byte in the plain input.
    start: u64,
    ended: bool,
    compressed: bool,
    fault: Option<Fault>,
    /// Length of the plain input where it is known.
    length: Option<u64>,
}

enum Reader {
    Stream(Box<dyn Read + Send>),
    /// A plain file: any part of it can be read.
    File(Positioned),
}

struct Positioned {
    file: File,
    at: u64,
    consumed: Arc<AtomicU64>,
}

struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Source {
    /// Opens `input` and looks at its first bytes to learn how it is compressed. `consumed` counts the bytes
    /// of the input as stored, for progress.
    pub(crate) fn open(input: &Input, consumed: Arc<AtomicU64>) -> Result<Self, Error> {
        let name = input.name().to_owned();
        let failed = |error| Error::io(format!("cannot read {name}"), error);
        match input {
            Input::File { path, .. } => {
                let file = File::open(path).map_err(failed)?;
                let about = file.metadata().map_err(failed)?;
                if about.is_dir() {
                    return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
                }
                if about.is_file() {
                    Self::file(file, about.len(), consumed)
                } else {
                    Self::stream(Box::new(file), None, consumed)
                }
            }
            Input::Stdin => Self::stream(Box::new(io::stdin()), None, consumed),
            Input::Bytes { bytes, .. } => {
                let length = bytes.len() as u64;
                Self::stream(
                    Box::new(Cursor::new(Arc::clone(bytes))),
                    Some(length),
                    consumed,
                )
            }
        }
        .map_err(failed)
    }

    fn file(mut file: File, length: u64, consumed: Arc<AtomicU64>) -> io::Result<Self> {
        let mut head = [0; 6];
        let got = read_full(&mut file, &mut head)?;
        file.seek(SeekFrom::Start(0))?;
        if Compression::detect(head.get(..got).unwrap_or_default()).is_some() {
            return Self::stream(Box::new(file), None, consumed);
        }
        let file = Positioned {
            file,
            at: 0,
            consumed,
        };
        Ok(Self::new(Reader::File(file), false, Some(length)))
    }

    fn stream(
        input: Box<dyn Read + Send>,
        length: Option<u64>,
        consumed: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let mut input = Counted {
            inner: input,
            count: consumed,
        };
        let mut head = [0; 6];
        let got = read_full(&mut input, &mut head)?;
        let compression = Compression::detect(head.get(..got).unwrap_or_default());
        let whole = Box::new(Cursor::new(head).take(got as u64).chain(input));
        let plain = length.filter(|_| compression.is_none());
        let reader = Reader::Stream(match compression {
            Some(kind) => kind.decoder(whole)?,
            None => whole,
        });
        Ok(Self::new(reader, compression.is_some(), plain))
    }

    fn new(reader: Reader, compressed: bool, length: Option<u64>) -> Self {
        let room = length.map_or(WINDOW, |length| WINDOW.min(length as usize + 1));
        Self {
            reader,
            buffer: vec![0; room],
            held: 0..0,
            start: 0,
            ended: false,
            compressed,
            fault: None,
            length,
        }
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
        let left = |at: u64| self.length.unwrap_or_default().saturating_sub(at);
        let input = match &mut self.reader {
            Reader::File(input) if left(input.at) >= (SLICES * SLICE) as u64 => input,
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
        let (file, at) = (&input.file, input.at);
        let read: Vec<bool> = work
            .into_par_iter()
            .map(|(number, (room, slice))| {
                let offset = number * SLICE;
                let (known, begin) = if number == 0 {
                    (held, 0)
                } else {
                    (0, held + offset)
                };
                let got = read_at(file, &mut room[known..], at + offset as u64);
                let whole = got.is_ok_and(|got| got == SLICE);
                if whole {
                    look(slice, room, begin);
                }
                whole
            })
            .collect();
        let whole = read.iter().take_while(|whole| **whole).count();
        self.held.end += whole * SLICE;
        input.at += (whole * SLICE) as u64;
        input.consumed.store(input.at, Ordering::Relaxed);
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
            match self.reader.read(room) {
                Ok(0) => self.ended = true,
                Ok(read) => self.held.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read before the damage is kept; the records tell where it ends.
                Err(error) => {
                    self.ended = true;
                    self.fault = Some(if self.compressed {
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
        self.length
    }
}

impl Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(reader) => reader.read(buffer),
            Self::File(file) => {
                let got = read_at(&file.file, buffer, file.at)?;
                file.at += got as u64;
                file.consumed.store(file.at, Ordering::Relaxed);
                Ok(got)
            }
        }
    }
}

/// Fills `buffer` with what lies in `file` from offset `at` on; less only at the end.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], at + got as u64) {
            Ok(0) => break,
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What came before is handed on; the next read meets it again.
            Err(error) if got == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(got)
}

fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
