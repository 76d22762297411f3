//! Evidence from TCP about packets that one capture lacks: what was sent before, and what was acknowledged.

use std::collections::VecDeque;

use super::sighting::{Numbers, Sighting};
use crate::common::index::Index;
use crate::common::memory::prefetch;
use crate::decode::flag;

/// Most streams that are remembered; then those silent for [`SILENCE_NS`] are forgotten or, if there are none, all.
const STREAMS: usize = 1 << 18;
const SILENCE_NS: i64 = 60_000_000_000;
/// Most ranges of sequence numbers of each kind that are remembered for a stream.
const RANGES: usize = 256;

/// A range of sequence numbers; the end is exclusive.
type Range = (u32, u32);

/// One direction of a TCP connection.
#[derive(Debug, Default)]
struct Stream {
    /// Hash of the connection and this direction of it.
    direction: u64,
    last_time: i64,
    /// Number after the highest one in the sender's capture.
    sent: Option<u32>,
    /// Ranges that were sent more than once.
    resent: VecDeque<Range>,
    /// Number up to which, exclusively, the receiver's capture lacks nothing.
    received: Option<u32>,
    /// Ranges of the receiver's capture after `received`, with gaps between them.
    beyond: Vec<Range>,
    /// Number after the last range that was dropped from `beyond`, because there were too many gaps.
    forgotten: Option<u32>,
    /// Ranges that the receiver acknowledged although its capture lacks them.
    missing: VecDeque<Range>,
    /// Ranges that the receiver did not acknowledge although it had later data.
    reported: VecDeque<Range>,
}

/// What is known about a packet that the receiver's capture lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: its receiver has not acknowledged it, or the capture lacks at most a part of it.
    None,
    /// Its receiver acknowledged the data before it, and no more, although it had later data.
    Lost,
    /// Its receiver acknowledged it, and no other packet has its numbers.
    Received,
    /// Its receiver acknowledged its numbers, but more than one packet has them.
    ReceivedOnce,
}

/// All streams.
#[derive(Debug, Default)]
pub(super) struct Streams {
    numbers: Index,
    all: Vec<Stream>,
}

impl Streams {
    /// Prefetches the index entry for the stream of `direction`.
    pub(super) fn prefetch(&self, direction: u64) {
        self.numbers.prefetch(direction);
    }

    /// Prefetches the stream that probably belongs to `direction`.
    pub(super) fn prefetch_stream(&self, direction: u64) {
        if let Some(number) = self.numbers.guess(direction)
            && let Some(stream) = self.all.get(number as usize)
        {
            prefetch(stream);
        }
    }

    /// Notes a segment in its sender's capture; returns whether any of it was sent before.
    pub(super) fn send(&mut self, packet: &Sighting, tcp: Numbers) -> bool {
        let is_again = self.stream(packet.direction, packet.time).send(tcp);
        if tcp.has(flag::ACK)
            && let Some(opposite) = self.find(packet.opposite())
        {
            self.all[opposite].acknowledge(tcp.ack);
        }
        is_again
    }

    /// Notes a segment in its receiver's capture.
    pub(super) fn receive(&mut self, packet: &Sighting, tcp: Numbers) {
        self.stream(packet.direction, packet.time).receive(tcp);
    }

    /// Returns what is known about a segment that the receiver's capture lacks.
    pub(super) fn prove(&self, packet: &Sighting, tcp: Numbers) -> Proof {
        let Some(number) = self.find(packet.direction) else {
            return Proof::None;
        };
        let stream = &self.all[number];
        let overlaps = |range: &Range| before(tcp.seq, range.1) && before(range.0, tcp.end());
        let covers = |range: &Range| !before(tcp.seq, range.0) && !before(range.1, tcp.end());
        if tcp.length == 0 {
            Proof::None
        } else if !stream.missing.iter().any(overlaps) {
            if stream.reported.iter().any(covers) {
                Proof::Lost
            } else {
                Proof::None
            }
        } else if !stream.missing.iter().any(covers) {
            Proof::None
        } else if stream.resent.iter().any(overlaps) {
            Proof::ReceivedOnce
        } else {
            Proof::Received
        }
    }

    fn find(&self, direction: u64) -> Option<usize> {
        let is_same = |number: u32| self.all[number as usize].direction == direction;
        self.numbers
            .find(direction, is_same)
            .map(|number| number as usize)
    }

    fn stream(&mut self, direction: u64, time: i64) -> &mut Stream {
        let number = self.find(direction).unwrap_or_else(|| {
            if self.all.len() >= STREAMS {
                self.forget_silent(time);
            }
            self.add(Stream {
                direction,
                ..Stream::default()
            })
        });
        let stream = &mut self.all[number];
        stream.last_time = time;
        stream
    }

    fn add(&mut self, stream: Stream) -> usize {
        let number = self.all.len();
        self.numbers.insert(stream.direction, number as u32);
        self.all.push(stream);
        number
    }

    /// Forgets the streams that are silent at `time`, or all if none is.
    fn forget_silent(&mut self, time: i64) {
        let all = std::mem::take(self).all;
        let is_kept = |stream: &Stream| time.saturating_sub(stream.last_time) < SILENCE_NS;
        if all.iter().all(is_kept) {
            return;
        }
        for stream in all.into_iter().filter(is_kept) {
            self.add(stream);
        }
    }
}

impl Stream {
    fn send(&mut self, tcp: Numbers) -> bool {
        if tcp.length == 0 {
            return false;
        }
        let first = tcp.has(flag::SYN) && self.sent != Some(tcp.end());
        if first {
            *self = Self {
                direction: self.direction,
                last_time: self.last_time,
                ..Self::default()
            };
        }
        let is_again = self.sent.is_some_and(|sent| before(tcp.seq, sent));
        if is_again {
            push(&mut self.resent, (tcp.seq, tcp.end()));
        }
        if self.sent.is_none_or(|sent| before(sent, tcp.end())) {
            self.sent = Some(tcp.end());
        }
        is_again
    }

    fn receive(&mut self, tcp: Numbers) {
        if tcp.has(flag::SYN) {
            self.received = Some(tcp.end());
            self.beyond.clear();
            self.forgotten = None;
            return;
        }
        let is_known = |received| !before(received, tcp.end());
        if tcp.length == 0 || self.received.is_some_and(is_known) {
            return;
        }
        self.add_beyond((tcp.seq, tcp.end()));
        self.close();
    }

    /// Adds a range, merged with those that it touches.
    fn add_beyond(&mut self, (mut begin, mut end): Range) {
        self.beyond.retain(|&(first, last)| {
            let is_apart = before(end, first) || before(last, begin);
            if !is_apart {
                begin = if before(first, begin) { first } else { begin };
                end = if before(end, last) { last } else { end };
            }
            is_apart
        });
        if self.beyond.len() == RANGES {
            for (_, last) in self.beyond.drain(..) {
                end = if before(end, last) { last } else { end };
            }
            self.forgotten = Some(end);
            return;
        }
        self.beyond.push((begin, end));
    }

    /// Advances `received` over ranges that follow without a gap.
    fn close(&mut self) {
        let Some(mut received) = self.received else {
            return;
        };
        while let Some(place) = self
            .beyond
            .iter()
            .position(|range| !before(received, range.0))
        {
            let range = self.beyond.swap_remove(place);
            if before(received, range.1) {
                received = range.1;
            }
        }
        self.received = Some(received);
    }

    /// Notes that the receiver has all numbers before `ack`, whatever its capture contains.
    fn acknowledge(&mut self, ack: u32) {
        let Some(mut received) = self.received else {
            self.received = Some(ack);
            self.close();
            return;
        };
        // The capture may have all bytes up to `forgotten`: an acknowledgement of them does not prove a gap.
        if let Some(forgotten) = self.forgotten.filter(|_| before(received, ack)) {
            received = if before(ack, forgotten) {
                ack
            } else {
                forgotten
            };
            self.forgotten = Some(forgotten).filter(|&end| before(ack, end));
            self.received = Some(received);
            self.close();
            received = self.received.unwrap_or(ack);
        }
        while before(received, ack) {
            // The first range after the gap, if it begins before `ack`.
            let next = self
                .beyond
                .iter()
                .copied()
                .filter(|range| before(range.0, ack))
                .min_by_key(|range| range.0.wrapping_sub(received));
            let end = next.map_or(ack, |range| range.0);
            push(&mut self.missing, (received, end));
            received = end;
            self.received = Some(received);
            self.close();
            received = self.received.unwrap_or(ack);
        }
        let behind = self.beyond.iter();
        let next = behind.min_by_key(|range| range.0.wrapping_sub(received));
        if received == ack
            && let Some(&(next, _)) = next
            && self.reported.back() != Some(&(ack, next))
        {
            push(&mut self.reported, (ack, next));
        }
    }
}

fn push(ranges: &mut VecDeque<Range>, range: Range) {
    // Adjacent ranges are merged: one acknowledgement covers several segments, and the next one more.
    if let Some(last) = ranges.back_mut()
        && last.1 == range.0
    {
        last.1 = range.1;
        return;
    }
    if ranges.len() == RANGES {
        ranges.pop_front();
    }
    ranges.push_back(range);
}

/// Returns whether one sequence number is before another, RFC 9293 3.4.
fn before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}
