//! Reads capture files into chunks of decoded packets, and counts packets by file and interface.
//!
//! Several files form one capture: the next packet is always the earliest one of all open files. A file is opened only
//! when the packets of earlier files have reached its first one, so that hundreds of rotated files are read one after
//! the other.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::counts::{CaptureRow, Manifest, SiftedCounts};
use crate::capture::chunk::Chunk;
use crate::capture::file::CaptureFile;
use crate::capture::order::RecordOrder;
use crate::common::error::{Damage, Error};
use crate::common::progress::Progress;
use crate::common::suspicion::Suspicion;
use crate::decode::notice::Notice;
use crate::records::RecordReader;
use crate::sift::{Order, Sifter};
use crate::source::Input;
use crate::source::{Stamp, window};

/// An input that waits for its turn.
pub(crate) struct Waiting {
    pub input: Input,
    /// Time of its first packet; if it is unknown, the file is opened at once.
    pub first_time: Option<i64>,
    /// The identity of the file when it was read before.
    pub before: Option<Stamp>,
}

/// An open file. The greatest one has the earliest next packet; among equally early ones it is the first input.
struct QueuedFile {
    time: i64,
    file: Box<CaptureFile>,
}

impl Ord for QueuedFile {
    fn cmp(&self, other: &Self) -> Ordering {
        let later = other.time.cmp(&self.time);
        later.then_with(|| other.file.number.cmp(&self.file.number))
    }
}

impl PartialOrd for QueuedFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedFile {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for QueuedFile {}

/// A file that was read, and its number of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// The name of the file.
    pub file: String,
    /// Packets read.
    pub packets: u64,
}

/// Results of a file that was read to its end: rows of `captures`, summary, damage, identity on the disk.
struct Finished {
    number: usize,
    rows: Vec<CaptureRow>,
    file: FileSummary,
    damage: Option<Damage>,
    stamp: Option<Stamp>,
}

/// Reads all inputs, and collects what was found apart from the packets.
pub(crate) struct Reading<'a> {
    /// The capture agent's manifest of each file, by the file's name.
    manifests: &'a HashMap<String, Manifest>,
    without_fast: bool,
    /// How far out of order, in ns, each file may sort its records.
    reach_ns: Option<i64>,
    progress: &'a Progress,
    /// In reverse order: the next input is the last entry.
    waiting: Vec<Waiting>,
    opened: usize,
    open: BinaryHeap<QueuedFile>,
    finished: Vec<Finished>,
    notice: Notice,
    suspicion: Suspicion,
    /// The reading ends as soon as something odd is noticed.
    ends_early: bool,
    careful: Option<Box<Careful>>,
}

/// Packets read at once for sifting.
const SIFTED_AT_ONCE: usize = 1 << 10;

/// A careful reading, or one in the order of time.
struct Careful {
    /// Packets on their way to the sifter.
    chunk: Chunk,
    sifter: Sifter,
    ended: bool,
    /// By file and interface.
    counts: HashMap<(u32, u32), SiftedCounts>,
}

/// Results of all files besides their packets, in the order of the inputs.
#[derive(Default)]
pub(crate) struct Found {
    pub captures: Vec<CaptureRow>,
    pub files: Vec<FileSummary>,
    pub damage: Vec<Damage>,
    pub stamps: Vec<Option<Stamp>>,
}

impl<'a> Reading<'a> {
    /// `inputs` are in the order of their first packets. `without_fast`: records are found on the general path. Each
    /// file sorts records that are at most `reach_ns` out of order. What `notice` finds raises `suspicion`, which ends
    /// the reading if `ends_early`. A careful reading has a `sifter` and a chunk for it.
    pub(crate) fn new(
        mut inputs: Vec<Waiting>,
        manifests: &'a HashMap<String, Manifest>,
        (without_fast, reach_ns): (bool, Option<i64>),
        progress: &'a Progress,
        (notice, suspicion, ends_early): (Notice, Suspicion, bool),
        sifter: Option<(Sifter, Chunk)>,
    ) -> Self {
        inputs.reverse();
        progress.read.store(0, Relaxed);
        Self {
            manifests,
            without_fast,
            reach_ns,
            progress,
            waiting: inputs,
            opened: 0,
            open: BinaryHeap::new(),
            finished: Vec::new(),
            notice,
            suspicion,
            ends_early,
            careful: sifter.map(|(sifter, chunk)| {
                Box::new(Careful {
                    chunk,
                    sifter,
                    ended: false,
                    counts: HashMap::new(),
                })
            }),
        }
    }

    /// Appends packets to `chunk` until it has `size` or all inputs are read; returns whether there may be more.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk, size: usize) -> Result<bool, Error> {
        let Some(mut careful) = self.careful.take() else {
            return self.read(chunk, size);
        };
        let outcome = self.fill_carefully(&mut careful, chunk, size);
        self.careful = Some(careful);
        outcome
    }

    fn fill_carefully(
        &mut self,
        careful: &mut Careful,
        chunk: &mut Chunk,
        size: usize,
    ) -> Result<bool, Error> {
        while chunk.count() < size {
            if let Some(sifted) = careful
                .sifter
                .next(careful.ended && careful.chunk.is_taken())
            {
                if let Some(original) = sifted.copy_of {
                    let place = sifted.packet.place;
                    let counts = careful
                        .counts
                        .entry((place.file, place.interface))
                        .or_default();
                    counts.duplicate_packets += 1;
                    counts.duplicate_bytes += i64::from(sifted.packet.segment.wire);
                    counts.distant_duplicates += i64::from(original.is_distant());
                }
                chunk.push(sifted);
            } else if let Some(packet) = careful.chunk.take_first() {
                let place = (packet.place.file, packet.place.interface);
                let order = careful.sifter.take(packet);
                if order != Order::InTime {
                    let counts = careful.counts.entry(place).or_default();
                    counts.reordered_packets += i64::from(order == Order::Reordered);
                    counts.late_packets += i64::from(order == Order::TooLate);
                }
            } else if careful.ended {
                return Ok(false);
            } else {
                careful.chunk.begin(SIFTED_AT_ONCE);
                careful.ended = !self.read(&mut careful.chunk, SIFTED_AT_ONCE)?;
            }
        }
        Ok(true)
    }

    /// Returns how many bytes `more` packets may take at once.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        let careful = self.careful.as_ref();
        careful.map_or(0, |careful| careful.sifter.growth(more))
    }

    fn read(&mut self, chunk: &mut Chunk, size: usize) -> Result<bool, Error> {
        while chunk.count() < size {
            self.progress.go_on()?;
            self.notice.report(&self.suspicion);
            if self.ends_early && self.suspicion.is_raised() {
                return Ok(false);
            }
            self.open_files()?;
            let Some(QueuedFile { mut file, .. }) = self.open.pop() else {
                return Ok(false);
            };
            let others = self.open.peek().map(|open| open.time);
            let waiting = self.waiting.last().and_then(|next| next.first_time);
            let until = others.into_iter().chain(waiting).min();
            file.take(chunk, size, until.unwrap_or(i64::MAX), &mut self.notice);
            self.go_on(file);
        }
        Ok(true)
    }

    /// Opens inputs that begin no later than the earliest next packet. Inputs are sorted by their first packets.
    fn open_files(&mut self) -> Result<(), Error> {
        while let Some(next) = self.waiting.pop_if(|next| {
            let earliest = self.open.peek().map(|open| open.time);
            earliest.is_none_or(|time| next.first_time.is_none_or(|first| first <= time))
        }) {
            let order = self.reach_ns.map(RecordOrder::new);
            let room = window(self.open.len()) << u32::from(order.is_some());
            let read = Arc::clone(&self.progress.read);
            let file = CaptureFile::new(
                &next.input,
                self.opened,
                room,
                read,
                next.before,
                (self.without_fast, order),
            )?;
            self.opened += 1;
            self.go_on(Box::new(file));
        }
        Ok(())
    }

    /// Reads on in `file`, and queues it by the time of its next packet.
    fn go_on(&mut self, mut file: Box<CaptureFile>) {
        let alone = self.open.is_empty();
        if file.refill(alone) {
            let time = file.next_time();
            self.open.push(QueuedFile { time, file });
        } else {
            self.close(*file);
        }
    }

    fn close(&mut self, mut file: CaptureFile) {
        let (damage, stamp) = (file.damage(), file.stamp());
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
            stamp,
        });
    }

    /// Sets the drop counters: those of the manifest, if any, else those of the file.
    fn note_drops(&self, rows: &mut [CaptureRow], reader: &RecordReader, name: &str) {
        let interfaces = reader.interfaces().iter().chain(reader.undescribed());
        for (row, interface) in rows.iter_mut().zip(interfaces) {
            row.interface = interface.clone();
            // Totals of the interface, if any, include these packets already.
            if row.interface.dropped_interface.is_none() {
                row.interface.dropped_kernel = row.interface.dropped_kernel.or(interface.lost);
            }
        }
        // A manifest describes one capture: with several interfaces its counters cannot be assigned to one of them.
        if let (Some(manifest), [row]) = (self.manifests.get(name), rows) {
            row.interface.dropped_kernel = manifest.dropped_kernel.or(row.interface.dropped_kernel);
            row.interface.dropped_interface = manifest
                .dropped_interface
                .or(row.interface.dropped_interface);
        }
    }

    /// Returns what was found in all inputs.
    pub(crate) fn finish(mut self) -> Found {
        self.finished.sort_by_key(|file| file.number);
        let counts = self.careful.map(|careful| careful.counts);
        for ((file, interface), counts) in counts.into_iter().flatten() {
            if let Some(Finished { rows, .. }) = self.finished.get_mut(file as usize) {
                // The row of undescribed interfaces is the last one.
                let place = (interface as usize).min(rows.len() - 1);
                rows[place].sifted = counts;
            }
        }
        let mut found = Found::default();
        for mut file in self.finished {
            found.captures.append(&mut file.rows);
            found.files.push(file.file);
            found.damage.extend(file.damage);
            found.stamps.push(file.stamp);
        }
        found
    }
}
