//! All TCP connections between two endpoints: their lives, and what distinguishes copies from retransmissions.

use super::held::Held;
use super::identity::Identity;
use super::life::{Life, distance};
use super::parts::Parts;
use crate::decode::segment::since;
use crate::decode::{Sack, flag};

/// Lives that are remembered, so that two that run side by side are kept apart.
const MOST_LIVES: usize = 4;
/// A copy follows sooner than this at the same place, ...
const HERE_NS: i64 = 5_000_000;
/// ... after a router, whose queue it may have to pass, ...
const ELSEWHERE_NS: i64 = 50_000_000;
/// ... and where the round trip time is not known.
const UNKNOWN_NS: (i64, i64) = (500_000, 10_000_000);

/// Where the packets of a pair were seen whose times are comparable, once one of them has a distant copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vantage {
    /// All at one place, whose copies come late.
    Anywhere,
    /// Those of this interface.
    Interface(u32),
    /// It is unknown which.
    Unknown,
}

/// What a side lacked when it sent a SACK (RFC 2018).
#[derive(Debug, Clone, Copy)]
struct Holes {
    time: i64,
    ack: u32,
    /// The blocks that it had received, and how many of them are valid.
    blocks: [Sack; 4],
    count: u8,
}

/// The connections of one key.
#[derive(Debug)]
pub(super) struct Pair {
    /// The latest life.
    pub latest: Life,
    /// Earlier lives that may go on.
    pub earlier: Vec<Life>,
    /// Time of the SYN, then the least from one to the initiator's first acknowledgement: a round trip past any capture
    /// point.
    syn_time: Option<i64>,
    round_trip_ns: Option<i64>,
    /// Side of the initiator.
    initiator: usize,
    /// Content and identification of the last packet of each side.
    last: [Option<(u64, u16)>; 2],
    /// The side gives each packet another identification: the last two differed.
    counts: [bool; 2],
    /// How often the last packets of each side that take numbers were recorded, the latest first: several, because an
    /// overloaded mirror loses copies.
    recorded: [[u8; 4]; 2],
    /// A packet of each side that waits for its acknowledgement: the number after it, and when it was sent.
    waiting: [Option<(u32, i64)>; 2],
    /// The shortest time from a packet of each side to its acknowledgement.
    halves: [Option<i64>; 2],
    /// The latest SACK of each side.
    holes: [Option<Holes>; 2],
    /// The latest connection has ended, and its packets are recorded once more.
    is_replayed: bool,
    /// Known once a packet has a distant copy.
    pub vantage: Option<Vantage>,
    /// Segments that may be divided on their way.
    parts: Option<Box<Parts>>,
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
            recorded: [[0; 4]; 2],
            waiting: [None; 2],
            halves: [None; 2],
            holes: [None; 2],
            is_replayed: false,
            vantage: None,
            parts: None,
        }
    }

    /// Begins another life with `packet`; returns its number.
    pub(super) fn begin(&mut self, packet: &Held) -> u32 {
        let number = self.latest.number + 1;
        let life = Life::new(number, packet.segment.time);
        let before = std::mem::replace(&mut self.latest, life);
        if self.earlier.len() == MOST_LIVES {
            self.earlier.remove(0);
        }
        self.earlier.push(before);
        self.is_replayed = false;
        self.syn_time = None;
        self.latest.number
    }

    /// Returns all lives, the latest first.
    pub(super) fn lives(&mut self) -> impl Iterator<Item = &mut Life> {
        std::iter::once(&mut self.latest).chain(self.earlier.iter_mut().rev())
    }

    /// Returns the life whose numbers `packet` fits best.
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

    /// Returns whether `packet` opens a connection after one that has ended: then it is no copy of an earlier packet.
    pub(super) fn opens_anew(&self, packet: &Held) -> bool {
        packet.segment.flags() & (flag::SYN | flag::ACK) == flag::SYN
            && self.latest.has_ended()
            && !self.latest.was_refused()
    }

    /// Returns whether `packet`, which equals one of the latest connection and was recorded after its end, is a copy.
    /// It is if the handshake was recorded again with the same identification or timestamp, which a host gives to one
    /// packet only. `follows` returns whether the packet after a SYN was seen before, too.
    pub(super) fn is_replay(&mut self, packet: &Held, follows: impl FnOnce() -> bool) -> bool {
        if !self.latest.has_ended() || self.latest.was_refused() || packet.segment.has(flag::RST) {
            return self.is_replayed && self.latest.has_ended();
        }
        if packet.segment.has(flag::SYN) {
            let is_stamped = packet
                .options
                .as_deref()
                .is_some_and(|options| options.stamped);
            let is_own = is_stamped || packet.identity.ident != 0;
            self.is_replayed |= is_own && (packet.segment.has(flag::ACK) || follows());
        }
        self.is_replayed
    }

    /// Returns the least known time from a packet to its answer, past any capture point: a handshake may take much
    /// longer than later packets, as where a proxy connects first or a host is busy.
    pub(super) fn round_trip_ns(&self) -> Option<i64> {
        let halves = self.halves[0].zip(self.halves[1]);
        let both = halves.map(|(one, two)| one.saturating_add(two));
        self.round_trip_ns.into_iter().chain(both).min()
    }

    /// Returns how soon a copy of a packet without identification follows, at the same place and at another one: much
    /// sooner than a host could send it again.
    pub(super) fn copies_within_ns(&self) -> (i64, i64) {
        self.round_trip_ns().map_or(UNKNOWN_NS, |ns| {
            ((ns / 4).min(HERE_NS), (ns / 2).min(ELSEWHERE_NS))
        })
    }

    /// Returns whether the receiver of `packet` reported after `time` that it lacks its bytes, and has later ones.
    pub(super) fn was_missing(&self, packet: &Held, time: i64) -> bool {
        let Some(holes) = &self.holes[1 - packet.side()] else {
            return false;
        };
        let (seq, end) = (packet.segment.seq, packet.end());
        let blocks = &holes.blocks[..usize::from(holes.count)];
        let is_before = |block: &Sack| distance(end, block.0) >= 0;
        let is_apart = |block: &Sack| is_before(block) || distance(block.1, seq) >= 0;
        holes.time > time
            && distance(holes.ack, seq) >= 0
            && blocks.iter().any(is_before)
            && blocks.iter().all(is_apart)
    }

    /// Returns whether the identification of `packet` distinguishes it from a retransmission.
    pub(super) fn is_identified(&self, packet: &Held) -> bool {
        packet.identity.ident != 0 && self.counts[packet.side()]
    }

    /// Returns how often the latest packets of the sender of `packet` that take numbers were recorded.
    pub(super) fn recorded(&self, packet: &Held) -> u32 {
        let latest = self.recorded[packet.side()];
        let [now, before, ..] = latest;
        // A host without a connection answers each packet with the same RST. A packet recorded twice may have been
        // doubled by the network, and then there are two answers.
        if packet.segment.has(flag::RST) && before > 0 {
            return now.min(before).into();
        }
        latest.into_iter().max().unwrap_or(0).into()
    }

    /// Returns whether the last packet of a side that takes numbers was recorded more than once.
    pub(super) fn was_copied(&self, side: usize) -> bool {
        self.recorded[side][0] > 1
    }

    /// Returns whether `packet`, which is no copy, was or may have been seen first at another place than others.
    pub(super) fn is_elsewhere(&self, packet: &Held) -> bool {
        match self.vantage {
            None | Some(Vantage::Anywhere) => false,
            Some(Vantage::Interface(interface)) => packet.identity.interface != interface,
            Some(Vantage::Unknown) => true,
        }
    }

    /// Notes a packet that was found to be a copy.
    pub(super) fn note_copy(&mut self, packet: &Held) {
        let [now, ..] = &mut self.recorded[packet.side()];
        *now = now.saturating_add(u8::from(packet.takes_numbers()));
    }

    /// Returns the number of the large segment that `packet` is a part of, and where the segment was seen.
    pub(super) fn part_of(&mut self, packet: &Held) -> Option<(u64, Identity)> {
        let round_trip_ns = self.round_trip_ns();
        self.parts.as_mut()?.find(packet, round_trip_ns)
    }

    /// Returns whether large segments were recorded, whose parts may pass another place.
    pub(super) fn is_divided(&self) -> bool {
        self.parts.is_some()
    }

    /// Notes a packet that is no copy.
    pub(super) fn note(&mut self, packet: &Held) {
        if Parts::wants(packet) {
            self.parts.get_or_insert_default().note(packet);
        }
        let (side, segment) = (packet.side(), &packet.segment);
        if packet.takes_numbers() {
            self.recorded[side].rotate_right(1);
            self.recorded[side][0] = 1;
        }
        self.time(packet);
        if let Some(ack) = segment.acknowledgement()
            && let Some(options) = packet.options.as_deref()
            && options.sack_count > 0
        {
            self.holes[side] = Some(Holes {
                time: segment.time,
                ack,
                blocks: options.sacks,
                count: options.sack_count,
            });
        }
        let this = (packet.identity.content, packet.identity.ident);
        if let Some(last) = self.last[side].replace(this) {
            self.counts[side] = last.1 != this.1;
        }
        if segment.flags() & (flag::SYN | flag::ACK) == flag::SYN {
            // Of several SYNs it is unknown which one is answered.
            self.syn_time = self.syn_time.is_none().then_some(segment.time);
            self.initiator = side;
        } else if side == self.initiator
            && segment.has(flag::ACK)
            && let Some(syn_time) = self.syn_time.take()
        {
            let known = self.round_trip_ns.unwrap_or(i64::MAX);
            self.round_trip_ns = Some(since(segment.time, syn_time).max(0).min(known));
        }
    }

    /// Measures the time from packets to their acknowledgements.
    fn time(&mut self, packet: &Held) {
        let (side, peer) = (packet.side(), 1 - packet.side());
        let time = packet.segment.time;
        if let Some(ack) = packet.segment.acknowledgement()
            && let Some((end, sent)) = self.waiting[peer]
            && distance(end, ack) >= 0
        {
            let half = since(time, sent).max(0);
            self.halves[peer] = Some(self.halves[peer].map_or(half, |known| known.min(half)));
            self.waiting[peer] = None;
        }
        if packet.takes_numbers() {
            self.waiting[side].get_or_insert((packet.end(), time));
        }
    }
}
