//! Follows one content through a capture: where it was seen, and whether its packets passed two places in order.

use std::collections::VecDeque;

use super::held::Held;
use super::identity::Identity;
use crate::decode::segment::since;

/// Contents of the same sender that suffice.
pub(super) const OF_SENDER: u32 = 2;
/// With this many contents, a quarter of them suffices: an overloaded mirror loses copies.
pub(super) const MANY: u32 = 8;
/// Passages of one content that prove as much as other contents, if they take equally long, ...
const PASSAGES: u32 = 6;
/// ... but for this time, and a part of the delay and of the time between packets.
const JITTER_NS: i64 = 5_000;

/// A packet that may have passed a second place, and the packet alike at the first one.
pub(super) struct Move<'a> {
    /// At the second place.
    pub(super) packet: &'a Held,
    /// At the first place.
    pub(super) from: Identity,
}

/// What neighbours show: how many passed both places, only one, and both in another order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    passed: u32,
    once: u32,
    otherwise: u32,
    /// Packets at the first place that may yet come to the second one.
    pending: u32,
}

impl Tally {
    /// Returns the number of neighbours that show anything.
    pub(super) fn count(self) -> u32 {
        self.passed + self.once + self.otherwise
    }

    /// Returns whether it shows that packets pass both places.
    pub(super) fn proves(self) -> bool {
        let all = self.count();
        let enough = if all < MANY { 3 * all } else { all };
        // Where copies come later than can be examined, half of the packets ahead are copies of known ones.
        4 * self.passed >= enough.max(all + self.pending)
            && self.passed >= 7 * self.otherwise
            && all > 0
    }

    /// Returns whether a packet passed only one of the places, or both in another order.
    pub(super) fn refutes(self) -> bool {
        self.once + self.otherwise > 0
    }

    /// Adds the neighbours of another look.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            once: self.once + other.once,
            otherwise: self.otherwise + other.otherwise,
            pending: self.pending + other.pending,
        }
    }
}

/// Sightings of one content, in the order of time.
pub(super) struct Sightings {
    first: Identity,
    /// Packets at the first place whose passage at the second one is unknown, since before the look, ...
    pub(super) skipped: u32,
    /// ... and times of those after.
    pub(super) waiting: VecDeque<i64>,
    latest: i64,
    count: u32,
    passages: u32,
    /// Limits of their delay, and the shortest time between two packets at the first place.
    least_ns: i64,
    most_ns: i64,
    interval_ns: i64,
    /// Packets at the first place that came to no other one.
    missing: u32,
    /// It was seen at the second place first, ...
    pub(super) is_late: bool,
    /// ... and at the first one then, or more often at the second one.
    is_odd: bool,
}

impl Sightings {
    /// Begins with the sighting `first`, before which `skipped` packets passed the first place.
    pub(super) fn new(first: Identity, time: i64, skipped: u32) -> Self {
        Self {
            first,
            skipped,
            waiting: VecDeque::new(),
            latest: time,
            count: 1,
            passages: 0,
            least_ns: i64::MAX,
            most_ns: 0,
            interval_ns: i64::MAX,
            missing: 0,
            is_late: false,
            is_odd: false,
        }
    }

    /// Takes the next sighting; a passage takes at most `within_ns`.
    pub(super) fn note(&mut self, other: &Held, moved: &Move<'_>, is_exact: bool, within_ns: i64) {
        let time = other.segment.time;
        let (from, to) = (&moved.from, &moved.packet.identity);
        let follows = |one: &Identity, two: &Identity| {
            if is_exact {
                return one.way == from.way && two.way == to.way;
            }
            let place = |own: &Identity| (own.interface, own.link_bytes);
            one.way != two.way
                && (place(one), place(two)) == (place(from), place(to))
                && one.ttl.wrapping_sub(two.ttl) == from.ttl.wrapping_sub(to.ttl)
        };
        let is_old = |&sent: &i64| since(time, sent) > within_ns;
        while self.waiting.front().is_some_and(is_old) {
            self.waiting.pop_front();
            self.missing += 1;
        }
        if follows(&self.first, &other.identity) {
            self.count += 1;
            if self.skipped > 0 {
                self.skipped -= 1;
            } else if let Some(sent) = self.waiting.pop_front() {
                let delay = since(time, sent);
                self.passages += 1;
                self.least_ns = self.least_ns.min(delay);
                self.most_ns = self.most_ns.max(delay);
            } else {
                self.is_odd = true;
            }
        } else if other.identity.way == self.first.way {
            self.count += 1;
            self.interval_ns = self.interval_ns.min(since(time, self.latest));
            self.waiting.push_back(time);
            self.latest = time;
        } else if follows(&other.identity, &self.first) {
            self.is_odd = true;
        }
    }

    /// Returns whether the delays are those of one path: equal, or short beside the times between packets.
    fn is_steady(&self) -> bool {
        let jitter_ns = JITTER_NS + (self.most_ns / 4).min(self.interval_ns / 2);
        self.most_ns.saturating_sub(self.least_ns) <= jitter_ns
            || self.most_ns <= self.interval_ns / 4
    }

    /// Adds what it shows to `tally`: packets since `due` at the first place may yet come to the second one.
    pub(super) fn judge(&self, is_own: bool, due: i64, tally: &mut Tally) {
        let missing = self.waiting.iter().filter(|&&sent| sent < due).count() as u32;
        let missing = missing + self.missing;
        let repeats = self.count > 3;
        if self.is_odd || repeats && self.passages > 0 && !self.is_steady() {
            tally.otherwise += 1;
        } else if self.passages > 0 && missing <= self.passages {
            let proof = if self.passages >= PASSAGES {
                OF_SENDER
            } else {
                u32::from(!is_own)
            };
            tally.passed += proof;
        } else if self.passages > 0 || missing > 1 {
            tally.otherwise += 1;
        } else if !is_own && (missing == 1 || self.is_late) {
            tally.once += 1;
        } else if !is_own {
            tally.pending += 1;
        }
    }
}
