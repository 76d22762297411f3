//! A file, a pipe or a compressed stream to windows of plain bytes.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

use crate::compression::Compression;
use crate::error::{Error, Fault};
use crate::memory;

/// Bytes mapped or read at a time. Bounds the resident memory whatever the file's size.
const WINDOW: usize = 16 << 20;
/// Bytes of a stream read at a time.
const STREAM_WINDOW: usize = 2 << 20;
/// Mappings begin at multiples of this; a multiple of every page size in use.
const MAP_ALIGN: u64 = 64 << 10;

/// Where the bytes of one capture come from.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file. `name` is what tables and messages call it.
    File {
        /// Where it is.
        path: PathBuf,
        /// What it is called.
        name: String,
    },
    /// The standard input.
    Stdin,
    /// Bytes in memory: for tests and fuzzing.
    Bytes {
        /// The capture.
        bytes: Arc<[u8]>,
        /// What it is called.
        name: String,
    },
}

impl Input {
    /// A file called by the path as given; `-` is the standard input.
    pub fn from_path(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self::Stdin;
        }
        Self::File {
            path: path.to_path_buf(),
            name: path.display().to_string(),
        }
    }

    /// What tables and messages call this input.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Bytes { name, .. } => name,
            Self::Stdin => "-",
        }
    }
}

#[derive(Debug)]
enum Store {
    Map(Mmap),
    Owned(Vec<u8>),
}

/// Consecutive bytes of the plain input, shared by whoever decodes packets in them.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    store: Arc<Store>,
    range: Range<usize>,
    /// Offset of the first byte in the plain input.
    pub start: u64,
    /// Nothing follows.
    pub last: bool,
}

impl Window {
    pub(crate) fn bytes(&self) -> &[u8] {
        let all: &[u8] = match &*self.store {
            Store::Map(map) => map,
            Store::Owned(bytes) => bytes,
        };
        all.get(self.range.clone()).unwrap_or_default()
    }
}

enum Kind {
    Mapped { file: File, length: u64 },
    Stream(Stream),
}

struct Stream {
    reader: Box<dyn Read + Send>,
    held: Option<Window>,
    ended: bool,
    fault: Option<Fault>,
}

/// An opened input.
pub(crate) struct Source {
    kind: Kind,
    /// Bytes of the input as stored (compressed) that were consumed, for progress.
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
    /// Opens `input` and looks at its first bytes to learn how it is compressed.
    pub(crate) fn open(input: &Input, consumed: Arc<AtomicU64>) -> Result<Self, Error> {
        let name = input.name().to_owned();
        let failed = |error| Error::io(format!("cannot read {name}"), error);
        match input {
            Input::File { path, .. } => {
                let mut file = File::open(path).map_err(failed)?;
                let about = file.metadata().map_err(failed)?;
                if about.is_dir() {
                    return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
                }
                if !about.is_file() {
                    return Self::stream(Box::new(file), consumed).map_err(failed);
                }
                let mut head = [0; 6];
                let got = read_full(&mut file, &mut head).map_err(failed)?;
                if Compression::detect(head.get(..got).unwrap_or_default()).is_none() {
                    return Ok(Self {
                        kind: Kind::Mapped {
                            file,
                            length: about.len(),
                        },
                        consumed,
                    });
                }
                let whole = Cursor::new(head).take(got as u64).chain(file);
                Self::stream(Box::new(whole), consumed).map_err(failed)
            }
            Input::Stdin => Self::stream(Box::new(io::stdin()), consumed).map_err(failed),
            Input::Bytes { bytes, .. } => {
                Self::stream(Box::new(Cursor::new(Arc::clone(bytes))), consumed).map_err(failed)
            }
        }
    }

    fn stream(input: Box<dyn Read + Send>, consumed: Arc<AtomicU64>) -> io::Result<Self> {
        let mut input = Counted {
            inner: input,
            count: Arc::clone(&consumed),
        };
        let mut head = [0; 6];
        let got = read_full(&mut input, &mut head)?;
        let compression = Compression::detect(head.get(..got).unwrap_or_default());
        let whole = Box::new(Cursor::new(head).take(got as u64).chain(input));
        let reader = match compression {
            Some(kind) => kind.decoder(whole)?,
            None => whole,
        };
        Ok(Self {
            kind: Kind::Stream(Stream {
                reader,
                held: None,
                ended: false,
                fault: None,
            }),
            consumed,
        })
    }

    /// The bytes from offset `from` on: at least `need` of them, unless the input ends before.
    ///
    /// `from` never goes back: a stream forgets what lies before it.
    pub(crate) fn window(&mut self, from: u64, need: usize) -> io::Result<Window> {
        match &mut self.kind {
            Kind::Mapped { file, length } => {
                self.consumed.store(from, Ordering::Relaxed);
                mapped_window(file, *length, from, need)
            }
            Kind::Stream(stream) => Ok(stream.window(from, need)),
        }
    }

    /// Why a compressed stream ended before its end, if it did.
    pub(crate) fn fault(&mut self) -> Option<Fault> {
        match &mut self.kind {
            Kind::Mapped { .. } => None,
            Kind::Stream(stream) => stream.fault.take(),
        }
    }

    /// Length of the plain input where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.kind {
            Kind::Mapped { length, .. } => Some(*length),
            Kind::Stream(_) => None,
        }
    }
}

fn mapped_window(file: &File, length: u64, from: u64, need: usize) -> io::Result<Window> {
    let from = from.min(length);
    let begin = from - from % MAP_ALIGN;
    let wanted = from.saturating_add(need.max(WINDOW) as u64).min(length);
    if wanted == from {
        return Ok(Window {
            store: Arc::new(Store::Owned(Vec::new())),
            range: 0..0,
            start: from,
            last: true,
        });
    }
    let map = memory::map(file, begin, (wanted - begin) as usize)?;
    Ok(Window {
        store: Arc::new(Store::Map(map)),
        range: (from - begin) as usize..(wanted - begin) as usize,
        start: from,
        last: wanted == length,
    })
}

impl Stream {
    fn window(&mut self, from: u64, need: usize) -> Window {
        let tail = self.held.as_ref().map_or(&[][..], |held| {
            let skip = (from - held.start) as usize;
            held.bytes().get(skip..).unwrap_or_default()
        });
        // Only what really arrives is allocated: a length that a record claims allocates nothing by itself.
        let mut bytes = Vec::with_capacity(tail.len() + STREAM_WINDOW);
        bytes.extend_from_slice(tail);
        let goal = need.max(tail.len() + 1).max(STREAM_WINDOW);
        while bytes.len() < goal && !self.ended {
            let step = (goal - bytes.len()).min(STREAM_WINDOW);
            let before = bytes.len();
            match self
                .reader
                .by_ref()
                .take(step as u64)
                .read_to_end(&mut bytes)
            {
                Ok(_) => self.ended = bytes.len() - before < step,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was unpacked before the damage is kept; the records tell where it ends.
                Err(error) => {
                    self.ended = true;
                    self.fault = Some(Fault::new(
                        format!("the input cannot be unpacked further ({error})"),
                        "a complete compressed stream",
                    ));
                }
            }
        }
        let window = Window {
            range: 0..bytes.len(),
            store: Arc::new(Store::Owned(bytes)),
            start: from,
            last: self.ended,
        };
        self.held = Some(window.clone());
        window
    }
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
