//! A clock that was set during a capture: from then on, packets of its host are read at the times at which they passed
//! other points. `ahead` detects that times jump, and this module compares the packets after the jump with the packets
//! of other points at that time.

use std::collections::HashMap;

use super::sighting::Sighting;
use super::window::Side;

/// How many different packets after a jump must match those of other points.
const ENOUGH: usize = 8;
/// Times closer than this are of the same moment: queues delay packets.
const NEAR_NS: u64 = 1_000_000_000;

/// Packets of one point after a jump of its times.
#[derive(Debug)]
pub(super) struct Jump {
    /// Times of packets that look different from all others among them, by key.
    times: HashMap<u64, i64>,
    /// How far the clock seems to be ahead, from packets that other points sent or received.
    met: Vec<(Side, i64)>,
}

impl Jump {
    /// Collects the packets after a jump, as keys and times; returns none if too few of them differ from each other.
    pub(super) fn new(packets: impl Iterator<Item = (u64, i64)>) -> Option<Self> {
        let mut all: HashMap<u64, Option<i64>> = HashMap::new();
        for (key, time) in packets {
            let entry = all.entry(key);
            entry.and_modify(|time| *time = None).or_insert(Some(time));
        }
        let alone = all.into_iter();
        let times: HashMap<u64, i64> = alone.filter_map(|(key, time)| Some((key, time?))).collect();
        let met = Vec::with_capacity(ENOUGH);
        (times.len() >= ENOUGH).then_some(Self { times, met })
    }

    /// Compares a packet of another point, which passed there at `common_time` and is `side` of its path; `offset` is
    /// that of the clock before the jump. Returns how far the clock was put forward, as soon as enough packets agree.
    pub(super) fn meet(
        &mut self,
        packet: &Sighting,
        side: Side,
        common_time: i64,
        offset: i64,
    ) -> Option<i64> {
        let time = self.times.remove(&packet.key)?;
        let ahead = time.saturating_sub(offset).saturating_sub(common_time);
        self.met.push((side, ahead));
        if self.met.len() < ENOUGH {
            return None;
        }
        self.met.sort_unstable_by_key(|&(_, ahead)| ahead);
        let (_, usual) = self.met[self.met.len() / 2];
        let agree = self.met.iter();
        let agree = agree.filter(|(_, ahead)| ahead.abs_diff(usual) <= NEAR_NS);
        if agree.clone().count() < ENOUGH {
            return None;
        }
        // Packets that others sent seem later by their delay, packets that they received earlier.
        let seen_at = |wanted| agree.clone().filter(move |(side, _)| *side == wanted);
        let most = seen_at(Side::Sent).map(|&(_, ahead)| ahead).min();
        let least = seen_at(Side::Received).map(|&(_, ahead)| ahead).max();
        match (least, most) {
            (Some(least), Some(most)) => Some(least.midpoint(most)),
            (bound, None) | (None, bound) => bound,
        }
    }
}
