//! Reads the next packets of a capture point ahead of their use, so that what the matcher looks up for them is in the
//! processor's cache by then.

use std::collections::VecDeque;

use super::matcher::Matcher;
use super::point::PointReader;
use super::sighting::{Recognition, Sighting};
use crate::common::error::Error;

/// Packets read ahead.
const AHEAD: usize = 48;
/// How many packets before its turn the group and the stream of a packet are prefetched.
const FOUND: usize = 32;
/// How many packets before its turn the sighting that waits for it is prefetched.
const WAITING: usize = 16;

/// A time that differs by more than this from those of the packets before and after it is wrong.
const FAR_NS: u64 = 1_000_000_000;
/// Most consecutive packets with wrong times.
const FEW: usize = 8;

/// The next packets of one point in their order.
pub(super) struct Ahead<'a> {
    pub reader: PointReader<'a>,
    packets: VecDeque<Sighting>,
    /// The turn of the packet that was taken last.
    before: Option<i64>,
}

fn is_near(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= FAR_NS
}

impl<'a> Ahead<'a> {
    /// Reads the first packets.
    pub(super) fn new(
        reader: PointReader<'a>,
        recognition: &Recognition,
        matcher: &Matcher,
    ) -> Result<Self, Error> {
        let mut ahead = Self {
            reader,
            packets: VecDeque::with_capacity(AHEAD),
            before: None,
        };
        while ahead.packets.len() < AHEAD && ahead.read(recognition, matcher)? {}
        Ok(ahead)
    }

    /// The time that decides when the next packet is read: its own or, if that is wrong, that of a neighbour. With a
    /// time that is too late, all packets after it would wait; with one that is too early, packets that wait for their
    /// other sighting would seem to have waited too long.
    pub(super) fn turn(&self) -> Option<i64> {
        let time = self.packets.front()?.time;
        let next = self.packets.iter().skip(1).take(FEW);
        let mut next = next.map(|packet| packet.time);
        let Some(before) = self.before else {
            // A silence may follow the first packet, so only a time that is too late shows.
            return Some(next.next().map_or(time, |next| next.min(time)));
        };
        if is_near(time, before) {
            return Some(time);
        }
        Some(next.find(|&next| is_near(next, before)).unwrap_or(time))
    }

    /// Takes the next packet, and reads one more.
    pub(super) fn take(
        &mut self,
        recognition: &Recognition,
        matcher: &Matcher,
    ) -> Result<Option<Sighting>, Error> {
        self.before = self.turn();
        self.read(recognition, matcher)?;
        if let Some(packet) = self.packets.get(FOUND) {
            matcher.prefetch_found(packet);
        }
        if let Some(packet) = self.packets.get(WAITING) {
            matcher.prefetch_waiting(packet);
        }
        Ok(self.packets.pop_front())
    }

    /// Reads a packet; false at the end.
    fn read(&mut self, recognition: &Recognition, matcher: &Matcher) -> Result<bool, Error> {
        let Some(packet) = self.reader.next(recognition)? else {
            return Ok(false);
        };
        matcher.prefetch(&packet);
        self.packets.push_back(packet);
        Ok(true)
    }
}
