//! A clock that was set while its host captured: from then on, the host's packets are read at the times at which those
//! of the others say that they passed. `ahead` sees that times jump, and this compares the packets behind the jump with
//! what the other points have at the time.

use std::collections::HashMap;

use super::sighting::Sighting;
use super::window::Side;

/// So many different packets behind a jump must be those that others have.
const ENOUGH: usize = 8;
/// Nearer times are those of one moment, of packets that waited in queues.
const NEAR_NS: u64 = 1_000_000_000;

/// Packets of one point behind a jump of its times.
#[derive(Debug)]
pub(super) struct Jump {
    /// Times of those that look like no other one among them, by their keys.
    times: HashMap<u64, i64>,
    /// By how much the clock seems to be ahead of the others', from packets that others sent, or received.
    met: Vec<(Side, i64)>,
}

impl Jump {
    /// Collects the packets behind a jump; none where too few of them differ from each other.
    pub(super) fn new<'a>(packets: impl Iterator<Item = &'a Sighting>) -> Option<Self> {
        let mut all: HashMap<u64, Option<i64>> = HashMap::new();
        for packet in packets {
            let entry = all.entry(packet.key);
            entry
                .and_modify(|time| *time = None)
                .or_insert(Some(packet.time));
        }
        let alone = all.into_iter();
        let times: HashMap<u64, i64> = alone.filter_map(|(key, time)| Some((key, time?))).collect();
        let met = Vec::with_capacity(ENOUGH);
        (times.len() >= ENOUGH).then_some(Self { times, met })
    }

    /// Compares a packet of another point, which passed there at `common_time` and is `side` of its path; `offset` is that of
    /// the clock before the jump. Returns by how much the clock was put forward, as soon as enough packets agree on it.
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
        // What others sent seems later by its delay, and what they received earlier.
        let seen_at = |wanted| agree.clone().filter(move |(side, _)| *side == wanted);
        let most = seen_at(Side::Sent).map(|&(_, ahead)| ahead).min();
        let least = seen_at(Side::Received).map(|&(_, ahead)| ahead).max();
        match (least, most) {
            (Some(least), Some(most)) => Some(least.midpoint(most)),
            (bound, None) | (None, bound) => bound,
        }
    }
}
