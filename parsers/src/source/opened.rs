//! An input to its plain bytes, whatever it is and however it is compressed.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Compression;
use crate::error::Error;
use crate::input::Input;

/// An opened input.
pub(super) struct Opened {
    pub reader: Reader,
    pub compressed: bool,
    /// Length of the plain input where it is known.
    pub length: Option<u64>,
}

/// Bytes that come one after the other.
pub(super) type Stream = Box<dyn Read + Send>;

pub(super) enum Reader {
    Stream(Stream),
    /// A plain file: any part of it can be read.
    File(Positioned),
}

pub(super) struct Positioned {
    pub file: Arc<File>,
    /// Offset of the next byte.
    pub at: u64,
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

impl Opened {
    /// Opens `input` and looks at its first bytes to learn how it is compressed. To `consumed` the bytes of the
    /// input as stored are added, for progress.
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
            file: Arc::new(file),
            at: 0,
            consumed,
        };
        Ok(Self::new(Reader::File(file), false, Some(length)))
    }

    fn stream(input: Stream, length: Option<u64>, consumed: Arc<AtomicU64>) -> io::Result<Self> {
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
        Self {
            reader,
            compressed,
            length,
        }
    }
}

impl Reader {
    /// As [`Read::read`].
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(reader) => reader.read(buffer),
            Self::File(file) => {
                let got = read_at(&file.file, buffer, file.at)?;
                file.skip(got as u64);
                Ok(got)
            }
        }
    }
}

impl Positioned {
    /// Goes on behind `bytes` more.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.at += bytes;
        self.consumed.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Fills `buffer` with what lies in `file` from offset `at` on; less only at the end.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
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
