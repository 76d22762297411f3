//! One capture file that is being read: its records, decoded into chunks, and what is known about it so far.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::counts::CaptureRow;
use crate::capture::chunk::Chunk;
use crate::capture::order::{HELD, RecordOrder};
use crate::common::error::{Damage, Error, Fault};
use crate::common::memory::prefetch;
use crate::common::threads::several_threads;
use crate::decode::links::Link;
use crate::decode::notice::Notice;
use crate::decode::{Packet, decode};
use crate::records::{HEAD, Record, RecordReader, Status, UNDESCRIBED};
use crate::source::Input;
use crate::source::{Source, Stamp};

/// Records that are found in one go: they stay in the nearest cache.
const BATCH: usize = 1024;
/// Most records that are sorted together. An order window of fewer packets would leave some of them in a different
/// order.
pub(crate) const MOST_SORTED: usize = HELD + BATCH;
/// Bytes in which to look for the first packet.
const FIRST: usize = 16 << 10;

/// An open file.
pub(crate) struct CaptureFile {
    /// Place in the order of the inputs.
    pub number: usize,
    pub name: String,
    source: Source,
    pub reader: RecordReader,
    /// Position in the window after the records found.
    at: usize,
    /// Position in the window to which the records' offsets refer.
    base: usize,
    /// State of the input after the records: more to read, its end, or damage.
    status: Status,
    records: Vec<Record>,
    /// How many of them have been handed on, ...
    taken: usize,
    /// ... and how many may be.
    ready: usize,
    order: Option<RecordOrder>,
    /// A time went back, and the records could not be sorted.
    pub went_back: bool,
    /// One row for each interface, then one for interfaces that no block describes, if they have packets.
    pub rows: Vec<CaptureRow>,
    pub kept: u64,
    last_time: i64,
}

impl CaptureFile {
    /// Opens `input` with a window of `room` bytes. `read` counts the bytes read. `before`: the identity of the file at
    /// an earlier opening. `without_fast`: records are found on the general path. `order` sorts them by time.
    pub(crate) fn new(
        input: &Input,
        number: usize,
        room: usize,
        read: Arc<AtomicU64>,
        before: Option<Stamp>,
        (without_fast, order): (bool, Option<RecordOrder>),
    ) -> Result<Self, Error> {
        let name = input.name().to_owned();
        let mut source = Source::open(input, room, read, before)?;
        let (reader, at) = detect(&name, &mut source, without_fast)?;
        Ok(Self {
            number,
            name,
            source,
            reader,
            at,
            base: at,
            status: Status::Full,
            records: Vec::new(),
            taken: 0,
            ready: 0,
            order,
            went_back: false,
            rows: Vec::new(),
            kept: 0,
            last_time: i64::MIN,
        })
    }

    /// Returns the time of the next packet; there is one after [`Self::refill`] returned true.
    pub(crate) fn next_time(&self) -> i64 {
        self.records
            .get(self.taken)
            .map_or(i64::MAX, |record| record.time)
    }

    /// Finds records if none are left; returns whether there are any. `alone`: no other file is open, so that this one
    /// may take more memory.
    pub(crate) fn refill(&mut self, alone: bool) -> bool {
        let ahead = alone && several_threads();
        while self.taken == self.ready {
            match self.status {
                Status::Full => self.forget_taken(),
                Status::Need(need) => {
                    self.forget_taken();
                    let held = self.at - self.base;
                    if ahead {
                        self.source.advance_ahead(self.base, held + need);
                    } else {
                        self.source.advance(self.base, held + need);
                    }
                    (self.base, self.at) = (0, held);
                }
                _ if self.ready < self.records.len() => {
                    self.ready = self.records.len();
                    break;
                }
                _ => return false,
            }
            let held = self.records.len();
            let bytes = self.source.bytes().get(self.at..).unwrap_or_default();
            let last = self.source.is_last();
            let (used, status) = self.reader.fill(bytes, last, &mut self.records, BATCH);
            let before = (self.at - self.base) as u32;
            let new = self.records[held..].iter_mut();
            for record in new.take_while(|_| before > 0) {
                record.at += before;
                record.data += before;
            }
            self.at += used;
            self.status = status;
            self.add_rows();
            let went_back = self.count(held);
            self.went_back |= self.sort(held).map_or(went_back, |is_sorted| !is_sorted);
        }
        true
    }

    /// Forgets the records that were handed on, and the bytes before the first remaining one.
    fn forget_taken(&mut self) {
        self.records.drain(..self.taken);
        if let Some(order) = &mut self.order {
            order.forget(self.taken);
        }
        (self.taken, self.ready) = (0, 0);
        let end = (self.at - self.base) as u32;
        let first = self.records.iter().map(|record| record.at).min();
        let before = first.unwrap_or(end);
        self.base += before as usize;
        for record in &mut self.records {
            record.at -= before;
            record.data -= before;
        }
    }

    /// Counts the new records, from `held` on, in the order of the file; returns whether a time went back.
    fn count(&mut self, held: usize) -> bool {
        let mut went_back = false;
        let mut rest = &self.records[held..];
        while let Some(first) = rest.first() {
            let same = |record: &&Record| record.interface == first.interface;
            let (records, others) = if self.rows.len() > 1 {
                rest.split_at(rest.iter().take_while(same).count())
            } else {
                (rest, &[][..])
            };
            rest = others;
            let last = self.rows.len().saturating_sub(1);
            if let Some(row) = self.rows.get_mut((first.interface as usize).min(last)) {
                went_back |= row.count(records, self.last_time);
            }
            self.last_time = records[records.len() - 1].time;
        }
        went_back
    }

    /// Sorts the records by time if that is wanted; the new ones begin at `held`. Returns whether that was possible.
    fn sort(&mut self, held: usize) -> Option<bool> {
        let Some(order) = &mut self.order else {
            self.ready = self.records.len();
            return None;
        };
        let rows = &mut self.rows;
        let last = rows.len().saturating_sub(1);
        let is_sorted = order.sort(&mut self.records, held, |record| {
            if let Some(row) = rows.get_mut((record.interface as usize).min(last)) {
                row.sifted.reordered_packets += 1;
            }
        });
        self.ready = order.release(&self.records, (self.at - self.base) as u32);
        Some(is_sorted)
    }

    /// Adds a row for each interface that became known.
    fn add_rows(&mut self) {
        let described = self.reader.interfaces();
        let undescribed = usize::from(self.reader.undescribed().is_some());
        if self.rows.len() == described.len() + undescribed {
            return;
        }
        let last = self.rows.pop_if(|row| row.number == UNDESCRIBED);
        for (number, interface) in described.iter().enumerate().skip(self.rows.len()) {
            let row = CaptureRow::new(&self.name, number as u32, interface.clone());
            self.rows.push(row);
        }
        let new = || CaptureRow::undescribed(&self.name);
        self.rows
            .extend(last.or_else(|| (undescribed > 0).then(new)));
    }

    /// Decodes packets into `chunk` until it has `size`, or up to and including the first one later than `until`.
    pub(crate) fn take(&mut self, chunk: &mut Chunk, size: usize, until: i64, notice: &mut Notice) {
        let room = size - chunk.count();
        let left = &self.records[self.taken..self.ready];
        let mut count = left.len().min(room);
        if until < i64::MAX {
            // The first one is always taken: no other file has an earlier one.
            let behind = left[..count]
                .iter()
                .skip(1)
                .position(|record| record.time > until);
            count = behind.map_or(count, |position| position + 1);
        }
        let records = &left[..count];
        let bytes = self.source.bytes().get(self.base..).unwrap_or_default();
        let start = self.source.start() + self.base as u64;
        let numbers = self.order.as_ref().map_or(&[][..], |order| {
            &order.numbers()[self.taken..self.taken + count]
        });
        notice.back |= self.went_back;
        chunk.append(
            (records, numbers),
            self.reader.interfaces(),
            (bytes, start),
            (self.number, &mut self.rows),
            notice,
        );
        self.taken += count;
        // Packets of other files come before the next one of this file.
        if let Some(next) = self.records.get(self.taken)
            && let Some(head) = bytes.get(next.data as usize..)
            && let (Some(first), Some(second)) = (head.first(), head.get(64))
        {
            prefetch(first);
            prefetch(second);
        }
        self.kept += count as u64;
    }

    /// Decodes the next packet into `packet`; returns its record and captured bytes. Requires that [`Self::refill`]
    /// returned true.
    pub(crate) fn decode_next(&mut self, packet: &mut Packet) -> Option<(Record, &[u8])> {
        let record = *self.records.get(self.taken)?;
        self.taken += 1;
        self.kept += 1;
        let interface = self.reader.interfaces().get(record.interface as usize);
        let link = interface.and_then(|interface| Link::find(interface.link_type));
        let bytes = self.source.bytes().get(self.base..).unwrap_or_default();
        decode(&record, link, bytes, false, packet);
        let data = record.data as usize;
        let captured = bytes.get(data..data + record.captured as usize);
        Some((record, captured.unwrap_or_default()))
    }

    /// Returns the identity of the file; none for a pipe.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.source.stamp()
    }

    /// Returns why reading stopped before the end of the file, if it did.
    pub(crate) fn damage(&mut self) -> Option<Damage> {
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
            changed: fault.changed,
        })
    }
}

fn detect(
    name: &str,
    source: &mut Source,
    without_fast: bool,
) -> Result<(RecordReader, usize), Error> {
    source.advance(0, HEAD);
    RecordReader::detect(name, source.bytes(), without_fast).map_err(|error| {
        match (error, source.fault()) {
            (Error::NotACapture { file, expected, .. }, Some(Fault { found, .. })) => {
                Error::NotACapture {
                    file,
                    found,
                    expected,
                    remedy: "copy the file again; its compressed form is damaged or cut".to_owned(),
                }
            }
            (error, _) => error,
        }
    })
}

/// Returns the time of the first packet; none for a capture without packets.
pub(crate) fn first_time(input: &Input) -> Result<Option<i64>, Error> {
    let mut source = Source::open(input, FIRST, Arc::default(), None)?;
    let (mut reader, mut at) = detect(input.name(), &mut source, false)?;
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
