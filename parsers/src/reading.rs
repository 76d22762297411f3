//! Capture files to chunks of decoded packets, with the counts of each file and interface.
//!
//! Several files are one capture: the next packet is always the earliest that the open files hold next. A
//! file is opened when the packets of those before it have reached its first one, so that hundreds of rotated
//! files are read one after the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunk::Chunk;
use crate::error::{Damage, Error, Fault};
use crate::records::{HEAD, Reader, Record, Status};
use crate::run::{FileSummary, Manifest, Progress};
use crate::source::{Input, Source};
use crate::tables::CaptureRow;

/// Records that are looked for together.
const BATCH: usize = 4096;

/// An input that waits for its turn.
pub(crate) struct Waiting {
    pub input: Input,
    /// Time of its first packet; where it is not known the file is opened at once.
    pub first_time: Option<i64>,
}

/// An open file.
struct Open {
    /// Place in the order of the inputs.
    number: usize,
    name: String,
    source: Source,
    consumed: Arc<AtomicU64>,
    reader: Reader,
    /// Place in the window behind the records found.
    at: usize,
    /// Where in the window the records' offsets begin to count.
    base: usize,
    /// What was found behind the records.
    status: Status,
    records: Vec<Record>,
    /// How many of them were handed on.
    taken: usize,
    rows: Vec<CaptureRow>,
    kept: u64,
    last_time: i64,
}

/// What is known of a file once it was read.
struct Finished {
    number: usize,
    rows: Vec<CaptureRow>,
    file: FileSummary,
    damage: Option<Damage>,
}

/// Reads all inputs; holds what was found beside the packets.
pub(crate) struct Reading<'a> {
    manifests: &'a HashMap<String, Manifest>,
    progress: &'a Progress,
    /// The next input is the last.
    waiting: Vec<Waiting>,
    opened: usize,
    open: Vec<Open>,
    finished: Vec<Finished>,
    /// Bytes of the inputs that were read whole.
    read_before: u64,
    split: bool,
}

/// What was read beside the packets, in the order of the inputs.
#[derive(Default)]
pub(crate) struct Found {
    pub captures: Vec<CaptureRow>,
    pub files: Vec<FileSummary>,
    pub damage: Vec<Damage>,
}

impl<'a> Reading<'a> {
    /// `inputs` in the order of their first packets; `split` uses other threads as well.
    pub(crate) fn new(
        mut inputs: Vec<Waiting>,
        manifests: &'a HashMap<String, Manifest>,
        progress: &'a Progress,
        split: bool,
    ) -> Self {
        inputs.reverse();
        Self {
            manifests,
            progress,
            waiting: inputs,
            opened: 0,
            open: Vec::new(),
            finished: Vec::new(),
            read_before: 0,
            split,
        }
    }

    /// Appends packets to `chunk` until it holds `size` or all inputs are read; whether there may be more.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk, size: usize) -> Result<bool, Error> {
        while chunk.count() < size {
            if self.progress.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let Some((index, until)) = self.next_file()? else {
                return Ok(false);
            };
            let file = &mut self.open[index];
            file.take(chunk, size, until, self.split);
            if !file.refill() {
                let file = self.open.remove(index);
                self.close(file);
            }
            let open: u64 = self
                .open
                .iter()
                .map(|file| file.consumed.load(Ordering::Relaxed))
                .sum();
            self.progress
                .read
                .store(self.read_before + open, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// The open file with the earliest next packet, and up to which time it is the earliest.
    fn next_file(&mut self) -> Result<Option<(usize, i64)>, Error> {
        loop {
            let heads = self.open.iter().map(Open::next_time).enumerate();
            let earliest = heads.clone().min_by_key(|&(index, time)| (time, index));
            // One that begins no later is opened first; the first packet of one given later comes later.
            if let Some(next) = self.waiting.last()
                && earliest
                    .is_none_or(|(_, time)| next.first_time.is_none_or(|first| first <= time))
            {
                let input = self.waiting.pop();
                self.open_file(input)?;
                continue;
            }
            let Some((index, _)) = earliest else {
                return Ok(None);
            };
            let others = heads
                .filter(|&(other, _)| other != index)
                .map(|(_, time)| time);
            let waiting = self.waiting.last().and_then(|next| next.first_time);
            let until = others.chain(waiting).min().unwrap_or(i64::MAX);
            return Ok(Some((index, until)));
        }
    }

    fn open_file(&mut self, waiting: Option<Waiting>) -> Result<(), Error> {
        let Some(waiting) = waiting else {
            return Ok(());
        };
        let number = self.opened;
        self.opened += 1;
        let mut file = Open::new(&waiting.input, number)?;
        if file.refill() {
            // Files stay in the order of the inputs, which decides between equal times.
            self.open.push(file);
        } else {
            self.close(file);
        }
        Ok(())
    }

    fn close(&mut self, mut file: Open) {
        self.read_before += file.consumed.load(Ordering::Relaxed);
        let damage = file.damage();
        let mut rows = std::mem::take(&mut file.rows);
        if rows.is_empty() {
            rows.push(CaptureRow::without_interface(&file.name));
        }
        for row in &mut rows {
            row.truncated_tail = damage.is_some();
        }
        self.note_drops(&mut rows, &file.reader, &file.name);
        self.finished.push(Finished {
            number: file.number,
            rows,
            file: FileSummary {
                file: file.name,
                packets: file.kept,
            },
            damage,
        });
    }

    /// Drop counters of the file itself come first, then those of the manifest.
    fn note_drops(&self, rows: &mut [CaptureRow], reader: &Reader, name: &str) {
        for (row, interface) in rows.iter_mut().zip(reader.interfaces()) {
            row.interface = interface.clone();
        }
        // A manifest speaks of one capture: with several interfaces its counters belong to none in particular.
        if let (Some(manifest), [row]) = (self.manifests.get(name), rows) {
            row.interface.dropped_kernel = manifest.dropped_kernel.or(row.interface.dropped_kernel);
            row.interface.dropped_interface = manifest
                .dropped_interface
                .or(row.interface.dropped_interface);
        }
    }

    /// What was found in all inputs.
    pub(crate) fn finish(mut self) -> Found {
        self.finished.sort_by_key(|file| file.number);
        let mut found = Found::default();
        for mut file in self.finished {
            found.captures.append(&mut file.rows);
            found.files.push(file.file);
            found.damage.extend(file.damage);
        }
        found
    }
}

impl Open {
    fn new(input: &Input, number: usize) -> Result<Self, Error> {
        let consumed = Arc::default();
        let name = input.name().to_owned();
        let mut source = Source::open(input, Arc::clone(&consumed))?;
        let (reader, at) = detect(&name, &mut source)?;
        Ok(Self {
            number,
            name,
            source,
            consumed,
            reader,
            at,
            base: at,
            status: Status::Full,
            records: Vec::with_capacity(BATCH),
            taken: 0,
            rows: Vec::new(),
            kept: 0,
            last_time: i64::MIN,
        })
    }

    /// Time of the next packet; there is one after [`Self::refill`] said so.
    fn next_time(&self) -> i64 {
        self.records
            .get(self.taken)
            .map_or(i64::MAX, |record| record.time)
    }

    /// Finds records where none are left; whether there are any.
    fn refill(&mut self) -> bool {
        while self.taken == self.records.len() {
            match self.status {
                Status::Full => {}
                Status::Need(need) => {
                    self.source.advance(self.at, need);
                    self.at = 0;
                }
                _ => return false,
            }
            self.records.clear();
            self.taken = 0;
            self.base = self.at;
            let bytes = self.source.bytes().get(self.at..).unwrap_or_default();
            let (used, status) =
                self.reader
                    .fill(bytes, self.source.is_last(), &mut self.records, BATCH);
            self.at += used;
            self.status = status;
            let known = self.rows.len();
            for (number, interface) in self.reader.interfaces().iter().enumerate().skip(known) {
                self.rows.push(CaptureRow::new(
                    &self.name,
                    number as u32,
                    interface.clone(),
                ));
            }
        }
        true
    }

    /// Decodes packets into `chunk`: up to `size` there, and up to the first one behind `until`.
    fn take(&mut self, chunk: &mut Chunk, size: usize, until: i64, split: bool) {
        let room = size - chunk.count();
        let left = &self.records[self.taken..];
        let mut count = left.len().min(room);
        if until < i64::MAX {
            // The first is taken in any case: nobody has an earlier one.
            let behind = left[..count]
                .iter()
                .skip(1)
                .position(|record| record.time > until);
            count = behind.map_or(count, |position| position + 1);
        }
        let records = &left[..count];
        let bytes = self.source.bytes().get(self.base..).unwrap_or_default();
        let start = self.source.start() + self.base as u64;
        chunk.room(count).decode(
            records,
            self.reader.interfaces(),
            (bytes, start),
            self.last_time,
            &mut self.rows,
            split,
        );
        if let Some(last) = records.last() {
            self.last_time = last.time;
        }
        self.taken += count;
        self.kept += count as u64;
    }

    /// Why reading ended before the end of the file, if it did.
    fn damage(&mut self) -> Option<Damage> {
        let status = std::mem::replace(&mut self.status, Status::End);
        let fault = match status {
            Status::Cut(fault) => Some(self.source.fault().unwrap_or(fault)),
            Status::Damaged(fault) => Some(fault),
            Status::End | Status::Full | Status::Need(_) => self.source.fault(),
        }?;
        let offset = self.source.start() + self.at as u64;
        Some(Damage {
            file: self.name.clone(),
            packet: self.kept + 1,
            offset,
            found: fault.found,
            expected: fault.expected,
            kept: self.kept,
            unread: self
                .source
                .length()
                .map(|length| length.saturating_sub(offset)),
        })
    }
}

fn detect(name: &str, source: &mut Source) -> Result<(Reader, usize), Error> {
    source.advance(0, HEAD);
    Reader::detect(name, source.bytes()).map_err(|error| match (error, source.fault()) {
        (Error::NotACapture { file, expected, .. }, Some(Fault { found, .. })) => {
            Error::NotACapture {
                file,
                found,
                expected,
                remedy: "copy the file again; its compressed form is damaged or cut".to_owned(),
            }
        }
        (error, _) => error,
    })
}

/// Time of the first packet; none for a capture without one.
pub(crate) fn first_time(input: &Input) -> Result<Option<i64>, Error> {
    let mut source = Source::open(input, Arc::default())?;
    let (mut reader, mut at) = detect(input.name(), &mut source)?;
    let mut records = Vec::new();
    loop {
        let bytes = source.bytes().get(at..).unwrap_or_default();
        let (used, status) = reader.fill(bytes, source.is_last(), &mut records, 1);
        if let Some(record) = records.first() {
            return Ok(Some(record.time));
        }
        at += used;
        let Status::Need(need) = status else {
            return Ok(None);
        };
        source.advance(at, need);
        at = 0;
    }
}
