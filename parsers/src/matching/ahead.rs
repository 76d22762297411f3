//! Reads the next packets of a capture point ahead of their use, so that the matcher's data for them are in the
//! processor's cache by then.

use std::collections::VecDeque;

use super::early_steps::{Step, ahead_at};
use super::jumps::Jump;
use super::matcher::Matcher;
use super::point::PointReader;
use super::sighting::{Recognition, Sighting};
use super::window::Side;
use crate::common::error::Error;

/// Packets read ahead.
const AHEAD: usize = 48;
/// How many packets before its turn the group and the streams of a packet are prefetched.
const FOUND: usize = 32;
/// How many packets before its turn the sighting that waits for it is prefetched.
const WAITING: usize = 16;

/// A time that differs by more than this from those of the packets before and after it is wrong.
const FAR_NS: u64 = 1_000_000_000;
/// Most consecutive packets with wrong times.
const FEW: usize = 8;

/// The next packets of one point, in order.
pub(super) struct Ahead<'a> {
    pub reader: PointReader<'a>,
    /// Steps of the clock that are already known.
    steps: &'a [Step],
    packets: VecDeque<Sighting>,
    /// The turn of the last packet taken.
    before: Option<i64>,
    /// How far the clock was put forward since the capture began, besides `steps`.
    put_forward: i64,
    /// The packets after a jump of times, if the next packet is the first of them.
    jump: Option<Jump>,
    /// How long the next packet waits for packets of other points, if none of them had one at the time of the jump.
    held_until: Option<i64>,
    /// Times jumped back, but no packet of another point showed that the clock was set.
    pub is_out_of_order: bool,
}

fn is_near(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= FAR_NS
}

impl<'a> Ahead<'a> {
    /// Reads the first packets.
    pub(super) fn new(
        reader: PointReader<'a>,
        steps: &'a [Step],
        recognition: &Recognition,
        matcher: &Matcher,
    ) -> Result<Self, Error> {
        let mut ahead = Self {
            reader,
            steps,
            packets: VecDeque::with_capacity(AHEAD),
            before: None,
            put_forward: 0,
            jump: None,
            held_until: None,
            is_out_of_order: false,
        };
        while ahead.packets.len() < AHEAD && ahead.read(recognition, matcher)? {}
        Ok(ahead)
    }

    /// Returns the time that decides when the next packet is read: its own or, if that is wrong, that of a neighbour.
    /// If the time were too late, all packets after it would wait; if it were too early, packets that wait for their
    /// other sighting would seem to have waited too long.
    pub(super) fn turn(&self) -> Option<i64> {
        let time = self.time(self.packets.front()?);
        let next = self.packets.iter().skip(1).take(FEW);
        let mut next = next.map(|packet| self.time(packet));
        let Some(before) = self.before else {
            // A silence may follow the first packet, so only a time that is too late can be recognised.
            return Some(next.next().map_or(time, |next| next.min(time)));
        };
        if is_near(time, before) {
            return Some(time);
        }
        if self.jump.is_some() && time < before {
            // Either the clock was set back, or the packets are out of order: packets of other points at this moment
            // decide.
            let until = self.held_until.unwrap_or(before);
            return Some(until.saturating_add(FAR_NS as i64));
        }
        Some(next.find(|&next| is_near(next, before)).unwrap_or(time))
    }

    /// Returns the time of a packet by the clock as it was at the start.
    pub(super) fn time(&self, packet: &Sighting) -> i64 {
        self.time_without_steps(packet)
            .saturating_sub(self.put_forward)
    }

    /// Returns the time of a packet, less the steps of the clock that are already known.
    fn time_without_steps(&self, packet: &Sighting) -> i64 {
        if self.steps.is_empty() {
            return packet.time;
        }
        packet
            .time
            .saturating_sub(ahead_at(self.steps, packet.number))
    }

    /// Returns how far the clock was put forward from the beginning of the capture to its end.
    pub(super) fn put_forward(&self) -> i64 {
        let known = self.steps.last().map_or(0, |step| step.ahead_ns);
        known.saturating_add(self.put_forward)
    }

    /// Returns whether the next packet waits for packets of other points, which may show that the clock was set back.
    pub(super) fn is_held(&self) -> bool {
        self.jump.is_some() && self.before > self.packets.front().map(|packet| self.time(packet))
    }

    /// Continues after the next packet waited in vain: it waits once more, until the other points' packets at `next`
    /// are read, or is then read at its own time, because no packet showed that the clock was set.
    pub(super) fn wait_or_give_up(&mut self, next: Option<i64>) {
        if next.is_some() && self.held_until.is_none() {
            self.held_until = next;
            return;
        }
        self.jump = None;
        self.is_out_of_order = true;
    }

    /// Compares the packets after a jump with one of another point, as [`Jump::meet`] does. Returns whether the jump is
    /// now explained: by a clock that was set, or by a silence.
    pub(super) fn compare(
        &mut self,
        packet: &Sighting,
        side: Side,
        common_time: i64,
        offset: i64,
    ) -> bool {
        let offset = offset.saturating_add(self.put_forward);
        let found = self.jump.as_mut();
        let found = found.and_then(|jump| jump.meet(packet, side, common_time, offset));
        let Some(put_forward) = found else {
            return false;
        };
        self.jump = None;
        // A smaller difference is a silence.
        if put_forward.unsigned_abs() > FAR_NS {
            self.put_forward = self.put_forward.saturating_add(put_forward);
        }
        true
    }

    /// Returns the next packet, and reads one more.
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
        let packet = self.packets.pop_front();
        self.jump = self.find_jump();
        self.held_until = None;
        Ok(packet)
    }

    /// Returns the packets after a jump of times, if the next packet is the first of them.
    fn find_jump(&self) -> Option<Jump> {
        let (before, next) = (self.before?, self.packets.front()?);
        if is_near(self.time(next), before) {
            return None;
        }
        let mut later = self.packets.iter().take(FEW + 1);
        if later.any(|packet| is_near(self.time(packet), before)) {
            return None;
        }
        let packets = self.packets.iter();
        Jump::new(packets.map(|packet| (packet.key, self.time_without_steps(packet))))
    }

    /// Reads a packet; returns false at the end.
    fn read(&mut self, recognition: &Recognition, matcher: &Matcher) -> Result<bool, Error> {
        let Some(packet) = self.reader.next(recognition)? else {
            return Ok(false);
        };
        matcher.prefetch(&packet);
        self.packets.push_back(packet);
        Ok(true)
    }
}
