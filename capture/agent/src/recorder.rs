//! Turns a stream of packets into a series of pcap files within the requested limits.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use flowsweep_common::output;

use crate::file::{Finished, Format, PcapFile};
use crate::limits::{Limits, WhenFull};
use crate::names;
use crate::reserve::Reserve;
use crate::sys::libpcap::Packet;
use crate::sys::linux;

/// Packets may wait this long in the kernel: their times are before those of the clock, and it was not set back.
const LATENESS_NS: u64 = 10_000_000_000;

/// Why no further packet is recorded.
#[derive(Debug)]
pub enum Halt {
    /// A file could not be written.
    Failed(io::Error),
    /// The files take all the disk space that they may.
    DiskBound,
}

/// Files that made room for newer ones.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Files.
    pub files: u64,
    /// Packets in them.
    pub packets: u64,
}

/// Files of one capture.
pub struct Recorder {
    base: PathBuf,
    format: Format,
    limits: Limits,
    /// When the capture began, and when the current file ends, ns since 1970; the latter never without --rotate-time.
    start_ns: u64,
    due_ns: u64,
    /// An earlier time shows that the clock was set back: otherwise no file would end until it is `due_ns` again.
    earliest_ns: u64,
    current: Option<PcapFile>,
    /// Number of the next file.
    next: u32,
    finished: VecDeque<Finished>,
    /// Bytes and packets in them.
    finished_bytes: u64,
    finished_packets: u64,
    removed: Removed,
    /// Packets handed in.
    taken: u64,
    halt: Option<Halt>,
    /// Space for the end of the last file.
    reserve: Reserve,
}

/// The files of a recording, the packets in them, and the files removed.
#[derive(Debug)]
pub struct Series {
    /// Every file that is still there, in order; the last may be unfinished.
    pub files: Vec<Finished>,
    /// Packets in these files.
    pub packets: u64,
    /// Files that were removed to make room.
    pub removed: Removed,
}

impl Recorder {
    /// Creates the first file; periods begin at `start_ns`, ns since 1970.
    pub fn create(
        base: PathBuf,
        format: Format,
        limits: Limits,
        start_ns: u64,
    ) -> io::Result<Self> {
        let mut recorder = Self {
            current: Some(PcapFile::create(&base, format)?),
            reserve: Reserve::beside(&base),
            base,
            format,
            limits,
            start_ns,
            due_ns: u64::MAX,
            earliest_ns: 0,
            next: 1,
            finished: VecDeque::new(),
            finished_bytes: 0,
            finished_packets: 0,
            removed: Removed::default(),
            taken: 0,
            halt: None,
        };
        recorder.set_due(start_ns);
        Ok(recorder)
    }

    /// Returns the packets handed in so far.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns why no further packet is recorded; packets handed in since are lost.
    pub const fn halt(&self) -> Option<&Halt> {
        self.halt.as_ref()
    }

    /// Records a packet, in a new file where it does not belong in the current one.
    #[inline]
    pub fn write(&mut self, packet: &Packet<'_>) {
        self.taken += 1;
        if self.halt.is_some() {
            return;
        }
        let result = self.make_room(packet).and_then(|()| {
            self.current
                .as_mut()
                .map_or(Ok(()), |file| file.write(packet).map_err(Halt::Failed))
        });
        if let Err(halt) = result {
            self.stop(halt);
        }
    }

    #[inline]
    fn make_room(&mut self, packet: &Packet<'_>) -> Result<(), Halt> {
        if self.due_ns != u64::MAX {
            let fraction_ns = u64::from(packet.fraction) * u64::from(self.format.resolution_ns);
            let stamp_ns = u64::from(packet.seconds) * 1_000_000_000 + fraction_ns;
            if self.is_outside_period(stamp_ns) {
                self.end_period(stamp_ns)?;
            }
        }
        let record = PcapFile::record_bytes(packet);
        if let (Some(limit), Some(file)) = (self.limits.rotate_bytes, &self.current)
            && !file.is_empty()
            && file.pcap_bytes() + record > limit
        {
            self.rotate()?;
        }
        match self.limits.disk {
            Some((bytes, when_full)) => self.keep_bound(record, bytes, when_full),
            None => Ok(()),
        }
    }

    /// Ensures that the files take at most `bytes` with a further record.
    fn keep_bound(&mut self, record: u64, bytes: u64, when_full: WhenFull) -> Result<(), Halt> {
        if self.total_at_most(record) <= bytes {
            return Ok(());
        }
        // Compressed bytes take less than they might: a flush shows how many.
        if let Some(file) = &mut self.current {
            file.flush().map_err(Halt::Failed)?;
        }
        while self.total_at_most(record) > bytes {
            if when_full == WhenFull::Stop || !self.remove_oldest()? {
                return Err(Halt::DiskBound);
            }
        }
        Ok(())
    }

    fn total_at_most(&self, record: u64) -> u64 {
        let current = self.current.as_ref();
        self.finished_bytes + current.map_or(0, |file| file.bytes_at_most(record))
    }

    /// Removes the oldest whole file; returns false when there is none.
    fn remove_oldest(&mut self) -> Result<bool, Halt> {
        let Some(oldest) = self.finished.pop_front() else {
            return Ok(false);
        };
        self.finished_bytes -= oldest.bytes;
        self.finished_packets -= oldest.packets;
        self.removed.files += 1;
        self.removed.packets += oldest.packets;
        match fs::remove_file(self.base.with_file_name(&oldest.file)) {
            // Someone else removed it: it takes no space here.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Halt::Failed(error)),
            _ => Ok(true),
        }
    }

    /// Ends the file of a period that is over although no packet came since.
    pub fn tick(&mut self, now: SystemTime) {
        let now_ns = now
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64;
        if self.is_outside_period(now_ns) && self.halt.is_none() {
            let result = self.end_period(now_ns);
            if let Err(halt) = result {
                self.stop(halt);
            }
        }
    }

    /// Begins a new file for the period of `now_ns`; a period without packets has no file.
    fn end_period(&mut self, now_ns: u64) -> Result<(), Halt> {
        self.set_due(now_ns);
        if self.current.as_ref().is_some_and(PcapFile::is_empty) {
            return Ok(());
        }
        self.rotate()
    }

    fn is_outside_period(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns || now_ns < self.earliest_ns
    }

    fn set_due(&mut self, now_ns: u64) {
        if let Some(period) = self.limits.rotate_time {
            let period_ns = (period.as_nanos() as u64).max(1);
            // Before the start if the clock was set back: periods keep their grid.
            if now_ns < self.start_ns {
                let missing = (self.start_ns - now_ns).div_ceil(period_ns);
                self.start_ns = self.start_ns.saturating_sub(missing * period_ns);
            }
            let passed = (now_ns - self.start_ns) / period_ns;
            self.due_ns = self.start_ns + (passed + 1) * period_ns;
            self.earliest_ns = self.due_ns.saturating_sub(2 * period_ns + LATENESS_NS);
        }
    }

    fn rotate(&mut self) -> Result<(), Halt> {
        // Ends one file before it begins the next: two compressors at once would take half as much memory again. In
        // between, the manifest's lock shows other captures that the files are in use. It does not wait for the disk:
        // packets go on coming.
        self.end_current(false).map_err(Halt::Failed)?;
        let path = names::numbered(&self.base, self.next);
        self.current = Some(PcapFile::create(&path, self.format).map_err(Halt::Failed)?);
        self.next += 1;
        Ok(())
    }

    fn end_current(&mut self, durable: bool) -> io::Result<()> {
        let Some(file) = self.current.take() else {
            return Ok(());
        };
        let (finished, lost) = file.finish(durable)?;
        self.finished_bytes += finished.bytes;
        self.finished_packets += finished.packets;
        self.finished.push_back(finished);
        lost.map_or(Ok(()), Err)
    }

    /// Makes everything so far readable on disk.
    pub fn flush(&mut self) {
        if self.halt.is_some() {
            return;
        }
        if let Some(Err(error)) = self.current.as_mut().map(PcapFile::flush) {
            self.stop(Halt::Failed(error));
        }
    }

    fn stop(&mut self, halt: Halt) {
        self.halt.get_or_insert(halt);
        self.reserve.release();
    }

    /// Ends the last file, and waits until all are on the disk.
    pub fn finish(&mut self) {
        self.reserve.release();
        let ended = self.end_current(true);
        if let Err(error) = ended.and_then(|()| self.sync()) {
            self.stop(Halt::Failed(error));
        }
    }

    fn sync(&self) -> io::Result<()> {
        let folder = output::folder_of(&self.base);
        if self.finished.len() > 1 {
            linux::sync_file_system(&folder)?;
        }
        output::sync_folder(&folder)
    }

    /// Removes the file of a capture that could not begin.
    pub fn discard(self) {
        if let Some(file) = self.current {
            file.discard();
        }
    }

    /// Returns what is safe on the disk.
    pub fn series(&self) -> Series {
        let unfinished = self.current.as_ref().map(PcapFile::so_far);
        let unfinished_packets = unfinished.as_ref().map_or(0, |file| file.packets);
        Series {
            files: self.finished.iter().cloned().chain(unfinished).collect(),
            packets: self.finished_packets + unfinished_packets,
            removed: self.removed,
        }
    }
}

#[cfg(test)]
mod tests;
