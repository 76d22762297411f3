//! All TCP connections between two endpoints: their lives, and what tells copies from packets that were sent again.

use super::held::Held;
use super::life::Life;
use crate::decode::flag;
use crate::decode::segment::since;

/// Lives that are remembered, so that two that run side by side are told apart.
const MOST_LIVES: usize = 4;
/// A copy at the same place follows sooner than this: packets of a queue that was held up may follow each other in less
/// than a round trip time, though they were sent a timeout apart.
const SOON_NS: i64 = 500_000;
/// Behind a router, whose queue it may have to pass.
const LATEST_NS: i64 = 50_000_000;
const USUAL_NS: i64 = 10_000_000;

/// The connections of one key.
#[derive(Debug)]
pub(super) struct Pair {
    /// The latest life.
    pub latest: Life,
    /// Those before it that may go on.
    pub earlier: Vec<Life>,
    /// When the SYN was sent, then the time to the initiator's first acknowledgement: both ways past any capture point.
    syn_time: Option<i64>,
    round_trip_ns: Option<i64>,
    /// Side of the initiator.
    initiator: usize,
    /// Content and identification of the last packet of each side.
    last: [Option<(u64, u16)>; 2],
    /// The side gives each packet another identification, as the last two had.
    counts: [bool; 2],
    /// Whether the latest packets that take numbers were copied: one bit each.
    copied: u8,
}

impl Pair {
    pub(super) fn new(started: i64) -> Self {
        Self {
            latest: Life::new(0, started),
            earlier: Vec::new(),
            syn_time: None,
            round_trip_ns: None,
            initiator: 0,
            last: [None; 2],
            counts: [false; 2],
            copied: 0,
        }
    }

    /// Begins another life with `packet`; its number.
    pub(super) fn begin(&mut self, packet: &Held) -> u32 {
        let number = self.latest.number + 1;
        let life = Life::new(number, packet.segment.time);
        let before = std::mem::replace(&mut self.latest, life);
        if self.earlier.len() == MOST_LIVES {
            self.earlier.remove(0);
        }
        self.earlier.push(before);
        self.syn_time = None;
        self.latest.number
    }

    /// All lives, the latest first.
    pub(super) fn lives(&mut self) -> impl Iterator<Item = &mut Life> {
        std::iter::once(&mut self.latest).chain(self.earlier.iter_mut().rev())
    }

    /// The life whose numbers `packet` fits best.
    pub(super) fn nearest(&mut self, packet: &Held) -> &mut Life {
        let mut best = (self.latest.misfit(packet), usize::MAX);
        for (place, life) in self.earlier.iter().enumerate().rev() {
            best = best.min((life.misfit(packet), place.min(usize::MAX - 1)));
            if life.misfit(packet) == self.latest.misfit(packet) {
                best.1 = usize::MAX;
            }
        }
        match self.earlier.get_mut(best.1) {
            Some(life) => life,
            None => &mut self.latest,
        }
    }

    /// Whether `packet` opens a connection behind one that has ended, so that it is no copy of an earlier packet.
    pub(super) fn opens_anew(&self, packet: &Held) -> bool {
        packet.segment.flags() & (flag::SYN | flag::ACK) == flag::SYN
            && self.latest.has_ended()
            && !self.latest.was_refused()
    }

    /// How soon a copy of a packet without identification follows at the same place: much sooner than a host could send it
    /// again.
    pub(super) fn copies_here_within_ns(&self) -> i64 {
        let part = self.round_trip_ns.map(|ns| ns / 4);
        part.map_or(SOON_NS, |part| part.min(SOON_NS))
    }

    /// The same at another place.
    pub(super) fn copies_elsewhere_within_ns(&self) -> i64 {
        let part = self.round_trip_ns.map(|ns| ns / 2);
        part.map_or(USUAL_NS, |part| part.min(LATEST_NS))
    }

    /// Whether the identification of `packet` tells it from one that was sent again.
    pub(super) fn is_identified(&self, packet: &Held) -> bool {
        packet.identity.ident != 0 && self.counts[packet.side()]
    }

    /// Whether one of the latest packets that take numbers was copied.
    pub(super) fn copies_go_on(&self) -> bool {
        self.copied & 3 != 0
    }

    /// Notes a packet that was found to be a copy.
    pub(super) fn note_copy(&mut self, packet: &Held) {
        self.copied |= u8::from(packet.takes_numbers());
    }

    /// Notes a packet that is none.
    pub(super) fn note(&mut self, packet: &Held) {
        let (side, segment) = (packet.side(), &packet.segment);
        if packet.takes_numbers() {
            self.copied <<= 1;
        }
        let this = (packet.identity.content, packet.identity.ident);
        if let Some(last) = self.last[side].replace(this) {
            self.counts[side] = last.1 != this.1;
        }
        if segment.flags() & (flag::SYN | flag::ACK) == flag::SYN {
            // Of several nobody knows which one is answered.
            self.syn_time = self.syn_time.is_none().then_some(segment.time);
            self.initiator = side;
        } else if side == self.initiator
            && segment.has(flag::ACK)
            && let Some(syn_time) = self.syn_time.take()
        {
            self.round_trip_ns = Some(since(segment.time, syn_time).max(0));
        }
    }
}
