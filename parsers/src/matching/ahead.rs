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

/// The next packets of one point in their order.
pub(super) struct Ahead<'a> {
    pub reader: PointReader<'a>,
    packets: VecDeque<Sighting>,
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
        };
        while ahead.packets.len() < AHEAD && ahead.read(recognition, matcher)? {}
        Ok(ahead)
    }

    /// Shows the next packet without taking it.
    pub(super) fn first(&self) -> Option<&Sighting> {
        self.packets.front()
    }

    /// Takes the next packet, and reads one more.
    pub(super) fn take(
        &mut self,
        recognition: &Recognition,
        matcher: &Matcher,
    ) -> Result<Option<Sighting>, Error> {
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
