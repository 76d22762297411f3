//! Turns a stream of packets into a series of pcap files, none larger than asked.

use std::io;
use std::path::PathBuf;

use crate::file::{Finished, Format, PcapFile};
use crate::names;
use crate::sys::libpcap::Packet;

/// Files of one capture.
pub struct Recorder {
    base: PathBuf,
    format: Format,
    /// Largest size of one file's pcap before compression.
    rotate_bytes: Option<u64>,
    current: Option<PcapFile>,
    finished: Vec<Finished>,
    /// Packets handed in.
    taken: u64,
    error: Option<io::Error>,
}

/// What was series.
#[derive(Debug)]
pub struct Series {
    /// Every file, in order.
    pub files: Vec<Finished>,
    /// Packets that were handed in but are in no file.
    pub lost: u64,
    /// Why packets were lost.
    pub error: Option<io::Error>,
}

impl Series {
    /// Packets in all files.
    pub fn packets(&self) -> u64 {
        self.files.iter().map(|file| file.packets).sum()
    }
}

impl Recorder {
    /// Creates the first file.
    pub fn create(base: PathBuf, format: Format, rotate_bytes: Option<u64>) -> io::Result<Self> {
        Ok(Self {
            current: Some(PcapFile::create(&base, format)?),
            base,
            format,
            rotate_bytes,
            finished: Vec::new(),
            taken: 0,
            error: None,
        })
    }

    /// Packets handed in so far.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// True after a packet could not be written; no further one will be.
    pub const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Records a packet, in a new file where it does not fit into the current one.
    pub fn write(&mut self, packet: &Packet<'_>) {
        self.taken += 1;
        if self.error.is_some() {
            return;
        }
        let result = self
            .rotate_for(packet)
            .and_then(|()| match &mut self.current {
                Some(file) => file.write(packet),
                None => Ok(()),
            });
        self.error = result.err();
    }

    fn rotate_for(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let (Some(limit), Some(file)) = (self.rotate_bytes, &self.current) else {
            return Ok(());
        };
        if file.is_empty() || file.pcap_bytes() + PcapFile::record_bytes(packet) <= limit {
            return Ok(());
        }
        self.end_current()?;
        let path = names::numbered(&self.base, self.finished.len() as u32);
        self.current = Some(PcapFile::create(&path, self.format)?);
        Ok(())
    }

    fn end_current(&mut self) -> io::Result<()> {
        let Some(file) = self.current.take() else {
            return Ok(());
        };
        let (finished, lost) = file.finish()?;
        self.finished.push(finished);
        lost.map_or(Ok(()), Err)
    }

    /// Makes everything so far readable on disk.
    pub fn flush(&mut self) {
        if self.error.is_none()
            && let Some(file) = &mut self.current
        {
            self.error = file.flush().err();
        }
    }

    /// Ends the last file.
    pub fn finish(mut self) -> Series {
        let result = self.end_current();
        let mut series = Series {
            files: self.finished,
            lost: 0,
            error: self.error.or(result.err()),
        };
        series.lost = self.taken.saturating_sub(series.packets());
        series
    }
}
