//! Capture files to batches of decoded packets, with the counts of each file and interface.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::decode::{Packet, decode};
use crate::error::{Damage, Error, Fault};
use crate::records::{HEAD, Reader, Record, Status};
use crate::run::{FileSummary, Manifest, Progress};
use crate::source::{Input, Source, Window};
use crate::tables::CaptureRow;

/// Packets that go from stage to stage together: few enough that they stay in the cache.
const BATCH: usize = 512;

/// Decoded packets in the order of the capture. Batches are used again: a packet is larger than moving it
/// is worth.
#[derive(Default)]
pub(crate) struct Batch {
    packets: Vec<Packet>,
    count: usize,
}

impl Batch {
    pub(crate) fn packets(&self) -> &[Packet] {
        self.packets.get(..self.count).unwrap_or_default()
    }

    fn decode(&mut self, records: &[Record], reader: &Reader, bytes: &[u8], start: u64) {
        let interfaces = reader.interfaces();
        if self.packets.len() < records.len() {
            self.packets.resize_with(records.len(), Packet::default);
        }
        self.count = records.len();
        for (record, packet) in records.iter().zip(&mut self.packets) {
            let link_type = interfaces
                .get(record.interface as usize)
                .map_or(u32::MAX, |interface| interface.link_type);
            decode(record, link_type, bytes, start, packet);
        }
    }
}

/// Takes a batch and gives one to be filled.
pub(crate) type Exchange<'a> = &'a mut dyn FnMut(Batch) -> Result<Batch, Error>;

/// What reading found, beside the packets.
pub(crate) struct Reading<'a> {
    manifests: &'a HashMap<String, Manifest>,
    progress: &'a Progress,
    pub captures: Vec<CaptureRow>,
    pub files: Vec<FileSummary>,
    pub damage: Vec<Damage>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(manifests: &'a HashMap<String, Manifest>, progress: &'a Progress) -> Self {
        Self {
            manifests,
            progress,
            captures: Vec::new(),
            files: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Reads `inputs` one after the other.
    pub(crate) fn read_all(
        &mut self,
        inputs: &[Input],
        exchange: Exchange<'_>,
    ) -> Result<(), Error> {
        let mut before = 0;
        for input in inputs {
            let own = Arc::new(AtomicU64::new(0));
            self.read_file(input, &own, before, exchange)?;
            before += own.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        input: &Input,
        consumed: &Arc<AtomicU64>,
        before: u64,
        exchange: Exchange<'_>,
    ) -> Result<(), Error> {
        let name = input.name();
        let failed = |error| Error::io(format!("cannot read {name}"), error);
        let mut source = Source::open(input, Arc::clone(consumed))?;
        let mut window = source.window(0, HEAD).map_err(failed)?;
        let (mut reader, mut at) = detect(name, &window, &mut source)?;
        let mut rows: Vec<CaptureRow> = Vec::new();
        let mut records: Vec<Record> = Vec::with_capacity(BATCH);
        let mut batch = Batch::default();
        let mut kept = 0;
        let mut last_time = i64::MIN;
        let fault = loop {
            records.clear();
            let bytes = window.bytes().get(at..).unwrap_or_default();
            let start = window.start + at as u64;
            let (used, status) = reader.fill(bytes, window.last, &mut records, BATCH);
            add_rows(&mut rows, name, &reader);
            batch.decode(&records, &reader, bytes, start);
            for packet in batch.packets() {
                if let Some(row) = rows.get_mut(packet.interface as usize) {
                    row.count(packet, last_time);
                }
                last_time = packet.time;
            }
            batch = exchange(batch)?;
            kept += records.len() as u64;
            at += used;
            self.progress
                .read
                .store(before + consumed.load(Ordering::Relaxed), Ordering::Relaxed);
            if self.progress.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            match status {
                Status::Full => {}
                Status::Need(need) => {
                    window = source
                        .window(window.start + at as u64, need)
                        .map_err(failed)?;
                    at = 0;
                }
                Status::End => break source.fault(),
                Status::Cut(fault) => break Some(source.fault().unwrap_or(fault)),
                Status::Damaged(fault) => break Some(fault),
            }
        };
        add_rows(&mut rows, name, &reader);
        if rows.is_empty() {
            rows.push(CaptureRow::without_interface(name));
        }
        self.note_drops(&mut rows, &reader, name);
        if let Some(fault) = fault {
            let offset = window.start + at as u64;
            for row in &mut rows {
                row.truncated_tail = true;
            }
            self.damage.push(Damage {
                file: name.to_owned(),
                packet: kept + 1,
                offset,
                found: fault.found,
                expected: fault.expected,
                kept,
                unread: source.length().map(|length| length.saturating_sub(offset)),
            });
        }
        self.captures.append(&mut rows);
        self.files.push(FileSummary {
            file: name.to_owned(),
            packets: kept,
        });
        Ok(())
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
}

fn detect(name: &str, window: &Window, source: &mut Source) -> Result<(Reader, usize), Error> {
    Reader::detect(name, window.bytes()).map_err(|error| match (error, source.fault()) {
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

/// Rows for interfaces that came up since the last batch.
fn add_rows(rows: &mut Vec<CaptureRow>, name: &str, reader: &Reader) {
    for (number, interface) in reader.interfaces().iter().enumerate().skip(rows.len()) {
        rows.push(CaptureRow::new(name, number as u32, interface.clone()));
    }
}

/// Time of the first packet; none for a capture without one.
pub(crate) fn first_time(input: &Input) -> Result<Option<i64>, Error> {
    let failed = |error| Error::io(format!("cannot read {}", input.name()), error);
    let mut source = Source::open(input, Arc::default())?;
    let mut window = source.window(0, HEAD).map_err(failed)?;
    let (mut reader, mut at) = detect(input.name(), &window, &mut source)?;
    let mut records = Vec::new();
    loop {
        let bytes = window.bytes().get(at..).unwrap_or_default();
        let (used, status) = reader.fill(bytes, window.last, &mut records, 1);
        if let Some(record) = records.first() {
            return Ok(Some(record.time));
        }
        at += used;
        let Status::Need(need) = status else {
            return Ok(None);
        };
        window = source
            .window(window.start + at as u64, need)
            .map_err(failed)?;
        at = 0;
    }
}
