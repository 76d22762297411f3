//! One capture point: its files, read as one capture, packet by packet.

use std::net::IpAddr;
use std::sync::Arc;

use super::sighting::{Recognition, Sighting};
use super::translation::Translation;
use crate::capture::file::{CaptureFile, first_time};
use crate::common::error::{Damage, Error};
use crate::common::progress::Progress;
use crate::decode::Packet;
use crate::records::Interface;
use crate::source::{Input, window};

/// Packets of each point that are read to find how the points' clocks and addresses differ.
pub(super) const LOOKED_AT: usize = 1 << 16;

/// A host with its captures.
#[derive(Debug, Clone)]
pub struct Point {
    /// Name of the host.
    pub name: String,
    /// Its captures: one file, or the parts of a rotated one.
    pub inputs: Vec<Input>,
    /// Addresses that it sends from and receives at.
    pub addresses: Vec<IpAddr>,
    /// Packets that its capture dropped, as far as counters outside the files show.
    pub dropped: u64,
    /// When the capture began and ended, by the host's clock, if that was recorded: packets do not show it.
    pub span: Option<(i64, i64)>,
    /// Points with the same number share a kernel, and thus a clock.
    pub kernel: Option<usize>,
}

/// Reads the packets of one point in the order of its files, and by time if files overlap.
pub(super) struct PointReader<'a> {
    /// In reverse order: the next input is the last entry.
    waiting: Vec<(Option<i64>, &'a Input)>,
    translation: &'a Translation,
    open: Vec<CaptureFile>,
    progress: &'a Progress,
    packet: Packet,
    /// Records read.
    pub records: u64,
    /// Records that are not IP packets or cannot be read.
    pub without_ip: u64,
    pub damage: Vec<Damage>,
    /// A file states that packets were dropped.
    pub has_drops: bool,
}

impl<'a> PointReader<'a> {
    pub(super) fn new(
        point: &'a Point,
        translation: &'a Translation,
        progress: &'a Progress,
    ) -> Result<Self, Error> {
        let mut waiting = Vec::with_capacity(point.inputs.len());
        for input in &point.inputs {
            waiting.push((first_time(input)?, input));
        }
        waiting.sort_by_key(|&(time, _)| time);
        waiting.reverse();
        Ok(Self {
            waiting,
            translation,
            open: Vec::new(),
            progress,
            packet: Packet::default(),
            records: 0,
            without_ip: 0,
            damage: Vec::new(),
            has_drops: false,
        })
    }

    /// Returns the next IP packet; none at the end.
    pub(super) fn next(&mut self, recognition: &Recognition) -> Result<Option<Sighting>, Error> {
        loop {
            let Some(place) = self.earliest()? else {
                return Ok(None);
            };
            let number = self.records + 1;
            let mut sighting = None;
            if let Some((record, bytes)) = self.open[place].decode_next(&mut self.packet) {
                self.records = number;
                self.translation.apply(&mut self.packet);
                sighting = Sighting::new((record.time, number), &self.packet, bytes, recognition);
            }
            if sighting.is_some() {
                return Ok(sighting);
            }
            self.without_ip += 1;
        }
    }

    /// Returns the index of the open file with the earliest next packet.
    fn earliest(&mut self) -> Result<Option<usize>, Error> {
        loop {
            let mut place = 0;
            while let Some(file) = self.open.get_mut(place) {
                if file.refill(false) {
                    place += 1;
                } else {
                    let mut file = self.open.remove(place);
                    self.damage.extend(file.damage());
                    let interfaces = file.reader.interfaces();
                    self.has_drops |= interfaces.iter().any(Interface::has_drops);
                }
            }
            let times = self.open.iter().map(CaptureFile::next_time);
            let earliest = times.enumerate().min_by_key(|&(_, time)| time);
            let next = self.waiting.pop_if(|&mut (first, _)| {
                earliest.is_none_or(|(_, time)| first.is_none_or(|first| first <= time))
            });
            let Some((_, input)) = next else {
                return Ok(earliest.map(|(place, _)| place));
            };
            let number = self.open.len();
            let room = window(number);
            let read = Arc::clone(&self.progress.read);
            self.open.push(CaptureFile::new(
                input,
                number,
                room,
                read,
                None,
                (false, None),
            )?);
        }
    }
}
