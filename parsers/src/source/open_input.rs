//! Opens an input as plain bytes, whatever it is and however it is compressed.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Compression;
use crate::common::error::{Error, Fault};
use crate::source::Input;

/// An opened input.
pub(super) struct OpenInput {
    pub reader: ByteReader,
    pub compressed: bool,
    /// Length of the plain input, if it is known.
    pub length: Option<u64>,
    file: Option<Watched>,
}

/// The identity of a file, and its length at opening: no more of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Stamp {
    fn read(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            length: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
        }
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns whether the file still contains what it had at this stamp: it is unchanged, or longer.
    fn is_start_of(&self, now: &Self) -> bool {
        self.is_same_file(now)
            && (self.length < now.length
                || self.length == now.length && self.modified == now.modified)
    }
}

/// A file that others may write to while it is read.
struct Watched {
    file: Arc<File>,
    path: PathBuf,
    opened: Stamp,
}

impl Watched {
    /// Describes what happened to the file since it was opened.
    fn changed(&self) -> Option<String> {
        let now = Stamp::read(&self.file.metadata().ok()?);
        let (before, length) = (self.opened.length, now.length);
        if length < before {
            return Some(format!(
                "a file that was cut to {length} bytes while it was read"
            ));
        }
        if length > before {
            return Some(format!(
                "a file that grew to {length} bytes while it was read"
            ));
        }
        if now.modified != self.opened.modified {
            return Some("a file that was written to while it was read".to_owned());
        }
        let named = Stamp::read(&std::fs::metadata(&self.path).ok()?);
        let replaced = !named.is_same_file(&now);
        replaced.then(|| "another file under its name, since it was opened".to_owned())
    }
}

/// Bytes that can only be read in order.
pub(super) type Stream = Box<dyn Read + Send>;

pub(super) enum ByteReader {
    Stream(Stream),
    /// A plain file: any part can be read.
    File(Positioned),
}

pub(super) struct Positioned {
    pub file: Arc<File>,
    /// Offset of the next byte.
    pub at: u64,
    /// Its length at opening.
    length: u64,
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

impl OpenInput {
    /// Opens `input` and detects its compression by its first bytes. Adds the bytes read from the input as stored to
    /// `consumed`, for progress.
    pub(crate) fn open(
        input: &Input,
        consumed: Arc<AtomicU64>,
        before: Option<Stamp>,
    ) -> Result<Self, Error> {
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
                    let mut opened = Stamp::read(&about);
                    if let Some(before) = before {
                        if !before.is_start_of(&opened) {
                            return Err(Error::Changed {
                                file: name,
                                found: format!("a file of {} bytes", opened.length),
                                expected: format!("the one of {} bytes, as it was", before.length),
                            });
                        }
                        opened = before;
                    }
                    Self::file(file, path.clone(), opened, consumed)
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

    fn file(
        file: File,
        path: PathBuf,
        opened: Stamp,
        consumed: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let mut head = [0; 6];
        let file = Arc::new(file);
        let got = read_at(&file, &mut head, 0)?;
        let length = opened.length;
        let watched = Watched {
            file: Arc::clone(&file),
            path,
            opened,
        };
        let found = if Compression::detect(head.get(..got).unwrap_or_default()).is_some() {
            Self::stream(Box::new(file.take(length)), None, consumed)?
        } else {
            let reader = ByteReader::File(Positioned {
                file,
                at: 0,
                length,
                consumed,
            });
            Self::new(reader, false, Some(length))
        };
        Ok(Self {
            file: Some(watched),
            ..found
        })
    }

    /// Describes how a file differs from its state at opening, if it does.
    pub(super) fn changed(&self) -> Option<Fault> {
        let file = self.file.as_ref()?;
        let found = file.changed()?;
        let expected = format!(
            "the {} bytes that there were at opening",
            file.opened.length
        );
        Some(Fault {
            changed: true,
            ..Fault::new(found, expected)
        })
    }

    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.file.as_ref().map(|file| file.opened)
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
        let reader = ByteReader::Stream(match compression {
            Some(kind) => kind.decoder(whole)?,
            None => whole,
        });
        Ok(Self::new(reader, compression.is_some(), plain))
    }

    fn new(reader: ByteReader, compressed: bool, length: Option<u64>) -> Self {
        Self {
            reader,
            compressed,
            length,
            file: None,
        }
    }
}

impl ByteReader {
    /// Reads like [`Read::read`].
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(reader) => reader.read(buffer),
            Self::File(file) => {
                let left = usize::try_from(file.length.saturating_sub(file.at));
                let room = buffer.len().min(left.unwrap_or(usize::MAX));
                let got = read_at(&file.file, &mut buffer[..room], file.at)?;
                file.skip(got as u64);
                Ok(got)
            }
        }
    }
}

impl Positioned {
    /// Moves on by `bytes`.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.at += bytes;
        self.consumed.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Fills `buffer` with the bytes of `file` from offset `at` on; less only at the end or before an error.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], at + got as u64) {
            Ok(0) => break,
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Bytes before the error are returned; the next read meets the error again.
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
