//! Turns each frame's fate into a record of a binary file: the ground truth that an analysis can be tested against.
//!
//! The file begins with a line of JSON, padded with blanks: `offset` is where the records begin, `dtype` their columns
//! as numpy takes them, `fates` the names of the last column's numbers, `links` the directions. Records follow in the
//! order in which fates were decided. Buffers are written by a thread without real-time priority, so that a slow disk
//! costs memory and never a frame's time.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use flowsweep_common::{output, privileges};

use crate::error::Error;

/// The fate of a frame; the number in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The interface at the far end took it.
    Delivered,
    /// The link's queue had no room.
    Queue,
    /// `CoDel` dropped it, in the link.
    Codel,
    /// Lost on the line.
    Loss,
    /// Dropped at the uplink of the site it came from.
    Uplink,
    /// Dropped at the uplink of the site it went to.
    Downlink,
    /// The interface at the far end refused it.
    Send,
    /// Too large to be read whole.
    Oversize,
    /// Still on its way when the emulator ended.
    InFlight,
    /// A second delivery of the same frame.
    Duplicate,
}

/// Names of the fates, in the order of their numbers.
const NAMES: [&str; 10] = [
    "delivered",
    "queue",
    "codel",
    "loss",
    "uplink",
    "downlink",
    "send",
    "oversize",
    "in_flight",
    "duplicate",
];

/// Columns in their order, little-endian, with numpy's names of the types.
const COLUMNS: [(&str, &str); 10] = [
    ("number", "<u8"),
    ("arrive_ns", "<i8"),
    ("depart_ns", "<i8"),
    ("deliver_ns", "<i8"),
    ("sent_ns", "<i8"),
    ("bytes", "<u4"),
    ("crc32", "<u4"),
    ("link", "<u2"),
    ("member", "u1"),
    ("fate", "u1"),
];
const RECORD_BYTES: usize = 5 * 8 + 2 * 4 + 2 + 1 + 1;
/// Records go to the writer in portions of about this size.
const PORTION_BYTES: usize = 1 << 20;
/// The part of a frame that its checksum covers: addresses, ports, sequence numbers, and some payload.
const CHECKED_BYTES: usize = 64;

/// A frame's record. Times are of the emulator's clock, 0 for events that did not happen.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Number in its direction.
    pub number: u64,
    /// When the kernel received it.
    pub arrive_ns: u64,
    /// When its last bit had left the line.
    pub depart_ns: u64,
    /// When it was due at the far end.
    pub deliver_ns: u64,
    /// When it was handed to the far end.
    pub sent_ns: u64,
    /// Its length without FCS.
    pub bytes: u32,
    /// [`crc32`] of its beginning.
    pub crc32: u32,
    /// Direction.
    pub link: u16,
    /// Member of the bundle.
    pub member: u8,
    /// The fate of the frame.
    pub fate: Fate,
}

/// The log: a buffer and the thread that writes.
pub struct Fates {
    path: PathBuf,
    /// Added to a time of the emulator's clock, this gives wall-clock time.
    wall_offset_ns: i64,
    buffer: Vec<u8>,
    portions: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Fates {
    /// Creates the file and its writer. Call it before this thread asks for real-time priority.
    pub fn create(path: &Path, links: &[[&str; 2]], wall_offset_ns: i64) -> Result<Self, Error> {
        let fail = |source| failure(path, source);
        let mut file = output::create(path, 0o644).map_err(fail)?;
        file.write_all(&header(links)).map_err(fail)?;
        let (portions, inbox) = mpsc::channel::<Vec<u8>>();
        let (began, begins) = mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("fates".into())
            .spawn(move || {
                // The file is open: no privilege is needed any more.
                let dropped = privileges::drop_all(&[]);
                let _ = began.send(());
                dropped?;
                inbox
                    .iter()
                    .try_for_each(|portion| file.write_all(&portion))?;
                file.sync_all()
            })
            .map_err(fail)?;
        // `finish` reports an error of the thread.
        let _ = begins.recv();
        Ok(Self {
            path: path.to_owned(),
            wall_offset_ns,
            buffer: Vec::with_capacity(PORTION_BYTES + RECORD_BYTES),
            portions,
            writer,
        })
    }

    /// Appends a record.
    pub fn record(&mut self, record: &Record) {
        self.buffer.extend(record.number.to_le_bytes());
        for time_ns in [
            record.arrive_ns,
            record.depart_ns,
            record.deliver_ns,
            record.sent_ns,
        ] {
            let wall_ns = if time_ns == 0 {
                0
            } else {
                time_ns as i64 + self.wall_offset_ns
            };
            self.buffer.extend(wall_ns.to_le_bytes());
        }
        self.buffer.extend(record.bytes.to_le_bytes());
        self.buffer.extend(record.crc32.to_le_bytes());
        self.buffer.extend(record.link.to_le_bytes());
        self.buffer.extend([record.member, record.fate as u8]);
        if self.buffer.len() >= PORTION_BYTES {
            let next = Vec::with_capacity(PORTION_BYTES + RECORD_BYTES);
            // Fails when the writer has ended with an error, which `finish` reports.
            let _ = self
                .portions
                .send(std::mem::replace(&mut self.buffer, next));
        }
    }

    /// Writes what is left; returns an error of any write so far.
    pub fn finish(self) -> Result<(), Error> {
        let _ = self.portions.send(self.buffer);
        drop(self.portions);
        let written = self
            .writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the writing thread ended unexpectedly")));
        written.map_err(|source| failure(&self.path, source))
    }
}

fn failure(path: &Path, source: io::Error) -> Error {
    Error::Output {
        what: "fate log",
        path: path.to_owned(),
        source,
        remedy: "Give a path in an existing folder with room to --fates; 52 bytes per frame.",
    }
}

fn header(links: &[[&str; 2]]) -> Vec<u8> {
    let describe = |offset: usize| {
        let links: Vec<_> = links
            .iter()
            .map(|[from, to]| serde_json::json!({"from": from, "to": to}))
            .collect();
        serde_json::json!({
            "format": "flowsweep-wan fates 1", "offset": offset, "dtype": COLUMNS, "fates": NAMES, "links": links,
        })
        .to_string()
    };
    let offset = (describe(usize::MAX).len() + 1).next_multiple_of(512);
    let mut text = describe(offset).into_bytes();
    text.resize(offset - 1, b' ');
    text.push(b'\n');
    text
}

/// Returns the CRC-32 (IEEE 802.3, as in zlib) of the first [`CHECKED_BYTES`] of a frame.
pub fn crc32(frame: &[u8]) -> u32 {
    let checked = &frame[..frame.len().min(CHECKED_BYTES)];
    !checked.iter().fold(!0, |crc, byte| {
        CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(&[7; 64]), crc32(&[7; 1_500]));
    }

    #[test]
    fn header_says_where_the_records_begin_and_every_fate_has_a_name() {
        let header = header(&[["west", "east"], ["east", "west"]]);
        let value: serde_json::Value = serde_json::from_slice(&header).expect("JSON");
        assert_eq!(value["offset"], header.len());
        assert_eq!(header.last(), Some(&b'\n'));
        assert_eq!(NAMES[Fate::Duplicate as usize], "duplicate");
        assert_eq!(NAMES[Fate::Oversize as usize], "oversize");
    }
}
