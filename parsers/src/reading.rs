//! Capture files to chunks of decoded packets, with the counts of each file and interface.
//!
//! Several files are one capture: the next packet is always the earliest that the open files hold next. A
//! file is opened when the packets of those before it have reached its first one, so that hundreds of rotated
//! files are read one after the other.

use std::sync::atomic::Ordering;

use crate::chunk::Chunk;
use crate::error::{Damage, Error};
use crate::input::Input;
use crate::open_file::OpenFile;
use crate::options::Options;
use crate::records::Reader;
use crate::run::{FileSummary, Progress};
use crate::tables::CaptureRow;

/// An input that waits for its turn.
pub(crate) struct Waiting {
    pub input: Input,
    /// Time of its first packet; where it is not known the file is opened at once.
    pub first_time: Option<i64>,
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
    pub options: &'a Options,
    progress: &'a Progress,
    /// The next input is the last.
    waiting: Vec<Waiting>,
    opened: usize,
    open: Vec<OpenFile>,
    finished: Vec<Finished>,
    /// Bytes of the inputs that were read whole.
    read_before: u64,
}

/// What was read beside the packets, in the order of the inputs.
#[derive(Default)]
pub(crate) struct Found {
    pub captures: Vec<CaptureRow>,
    pub files: Vec<FileSummary>,
    pub damage: Vec<Damage>,
}

impl<'a> Reading<'a> {
    /// `inputs` in the order of their first packets.
    pub(crate) fn new(
        mut inputs: Vec<Waiting>,
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        inputs.reverse();
        Self {
            options,
            progress,
            waiting: inputs,
            opened: 0,
            open: Vec::new(),
            finished: Vec::new(),
            read_before: 0,
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
            let alone = until == i64::MAX;
            let file = &mut self.open[index];
            file.take(chunk, size, until);
            if !file.refill(alone) {
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
            let heads = self.open.iter().map(OpenFile::next_time).enumerate();
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
        let mut file = OpenFile::new(&waiting.input, number)?;
        if file.refill(self.open.is_empty() && self.waiting.is_empty()) {
            // Files stay in the order of the inputs, which decides between equal times.
            self.open.push(file);
        } else {
            self.close(file);
        }
        Ok(())
    }

    fn close(&mut self, mut file: OpenFile) {
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
            // Totals of the interface, where there are any, count the same packets again.
            if row.interface.dropped_interface.is_none() {
                row.interface.dropped_kernel = row.interface.dropped_kernel.or(interface.lost);
            }
        }
        // A manifest speaks of one capture: with several interfaces its counters belong to none in particular.
        if let (Some(manifest), [row]) = (self.options.manifests.get(name), rows) {
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
