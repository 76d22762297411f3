//! Decides whether equal packets at two places are one packet that passed both, or two that a host sent over
//! different paths.
//!
//! A router's load balancing gives the packets of one flow different next hops and TTLs, and a host may send equal
//! packets: keep-alives, a query that it repeats, acknowledgements. If the places lie on one path, other packets of
//! the flow pass them too, in the same order, each once. On two paths, a packet passes only one of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::beside::Terms;
use super::held::Held;
use super::seen::{LONGEST_NS, Seen, sender};
use super::sightings::{MANY, Move, OF_SENDER, Sightings, Tally};
use super::window::Window;
use crate::decode::segment::since;

/// Packets that are examined ahead, and moves whose evidence is remembered.
const LOOKED_AT: usize = 64;
const MOST_MOVES: usize = 1 << 16;
/// Contents of the whole capture that suffice.
const OF_ALL: u32 = 4;
/// If many contents prove it, they do so for as many packets more, within the time in which packets are remembered.
const TRUSTED: u8 = 63;

/// Evidence found at a time.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    tally: Tally,
    time: i64,
    /// How many packets more it suffices for, so that not each of them causes a look.
    trusted: u8,
}

/// The latest evidence of each sender and of the whole capture, by the places: used where few packets are ahead.
pub(super) struct Places {
    moves: HashMap<u64, Evidence, RandomState>,
    hashing: RandomState,
}

impl Places {
    /// Creates it without evidence; `hashing` makes the hashes of keys.
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            moves: HashMap::with_hasher(hashing.clone()),
            hashing: hashing.clone(),
        }
    }

    /// Returns whether neighbours pass the two places of `moved`; none if there are no neighbours that show it. `known`
    /// returns what was seen of a content a short time before.
    pub(super) fn are_on_one_path<'a>(
        &mut self,
        moved: &Move<'_>,
        terms: &Terms,
        ahead: &mut Window,
        known: impl Fn(u64, i64) -> Option<&'a Seen>,
    ) -> Option<bool> {
        let (packet, from, to) = (moved.packet, &moved.from, &moved.packet.identity);
        let same_sender = |other: &Held| {
            other.owner.key == packet.owner.key
                && other.side() == packet.side()
                && [from.way, to.way].contains(&other.identity.way)
        };
        let ways = (sender(packet), from.way, to.way);
        let own_key = self.hashing.hash_one(ways);
        let time = packet.segment.time;
        if let Some(latest) = self.moves.get_mut(&own_key)
            && latest.trusted > 0
            && since(time, latest.time) <= LONGEST_NS
        {
            latest.trusted -= 1;
            return Some(true);
        }
        let own = look(
            moved,
            true,
            &self.hashing,
            terms,
            ahead,
            &known,
            same_sender,
        );
        // A lower TTL is evidence, too.
        let enough = if to.ttl < from.ttl { 1 } else { OF_SENDER };
        let own = self.with_latest(own_key, own, time, enough);
        if own.count() >= enough {
            return Some(own.proves());
        }
        let refutes = |tally: Tally| tally.refutes().then_some(false);
        if packet.is_tcp() && !packet.takes_numbers() {
            // Hosts repeat acknowledgements as they are: packets of other hosts prove nothing about them.
            return refutes(own);
        }
        let hops = from.ttl.wrapping_sub(to.ttl);
        let layouts = (from.interface, from.link_bytes, to.interface, to.link_bytes);
        let all_key = self.hashing.hash_one((layouts, hops));
        let all = look(moved, false, &self.hashing, terms, ahead, &known, |other| {
            other.is_no_acknowledgement()
        });
        let all = self.with_latest(all_key, all, time, OF_ALL);
        if all.count() >= OF_ALL {
            return Some(all.proves());
        }
        refutes(own.plus(all))
    }

    /// Returns `found`, with what was found before if it is little; remembers it if it is `enough`.
    fn with_latest(&mut self, key: u64, found: Tally, time: i64, enough: u32) -> Tally {
        let before = self
            .moves
            .get(&key)
            .map_or(Tally::default(), |latest| latest.tally);
        if found.count() >= enough.max(before.count().min(MANY)) {
            if self.moves.len() >= MOST_MOVES {
                self.moves.clear();
            }
            let is_certain = found.count() >= MANY && found.proves();
            let latest = Evidence {
                tally: found,
                time,
                trusted: if is_certain { TRUSTED } else { 0 },
            };
            self.moves.insert(key, latest);
        }
        if found.count() < MANY {
            found.plus(before)
        } else {
            found
        }
    }
}

/// Returns what the `wanted` packets ahead show. `is_exact`: they pass the very places of `moved`; else, places that
/// are as many hops apart.
fn look<'a>(
    moved: &Move<'_>,
    is_exact: bool,
    hashing: &RandomState,
    terms: &Terms,
    ahead: &mut Window,
    known: impl Fn(u64, i64) -> Option<&'a Seen>,
    wanted: impl Fn(&Held) -> bool,
) -> Tally {
    let packet = moved.packet;
    let own = packet
        .identity
        .among(|content| known(content, packet.segment.time).is_some());
    let mut sightings = HashMap::with_capacity_and_hasher(LOOKED_AT, hashing.clone());
    let mut count = 0;
    let mut horizon = ahead.complete_until();
    let before = |content: u64, time: i64| {
        let seen = known(content, time)?;
        let skipped = seen.sent.saturating_sub(seen.times(packet.identity.point));
        let mut sighted = Sightings::new(seen.identity, seen.time, skipped);
        if skipped == 1 && seen.recorded == 1 && content != own {
            // The packet whose passage is awaited is the latest.
            sighted.skipped = 0;
            sighted.waiting.push_back(seen.time);
        }
        Some(sighted)
    };
    if is_exact && let Some(mut sighted) = before(own, packet.segment.time) {
        sighted.note(packet, moved, true, terms.within_ns);
        sightings.insert(own, sighted);
    }
    ahead.find_ahead(|other| {
        let is_alike = other.identity.is_alike(&packet.identity);
        if is_alike && !is_exact || !wanted(other) {
            return None;
        }
        let time = other.segment.time;
        let is_known = |content| sightings.contains_key(&content) || known(content, time).is_some();
        let content = if is_alike {
            own
        } else {
            other.identity.among(is_known)
        };
        if let Entry::Vacant(place) = sightings.entry(content)
            && let Some(sighted) = before(content, time)
        {
            place.insert(sighted);
        }
        match sightings.entry(content) {
            Entry::Occupied(mut sighted) => {
                sighted
                    .get_mut()
                    .note(other, moved, is_exact, terms.within_ns);
            }
            Entry::Vacant(place) => {
                let sighted = place.insert(Sightings::new(other.identity, time, 0));
                sighted.waiting.push_back(time);
                sighted.is_late = is_exact && other.identity.way == packet.identity.way;
            }
        }
        count += 1;
        (count == LOOKED_AT).then(|| horizon = time)
    });
    let due = horizon.saturating_sub(terms.usual_ns);
    let mut tally = Tally::default();
    for (content, sighted) in &sightings {
        sighted.judge(*content == own, due, &mut tally);
    }
    tally
}
