//! How often the packets beside one are recorded: what settles whether two that look alike are one and its copy.

use std::collections::HashMap;

use super::held::Held;
use super::parts::Parts;
use super::window::Window;
use crate::decode::flag;

/// Packets that are looked at ahead.
const LOOKED_AT: usize = 64;
/// Contents that say enough: of the same sender, and of the whole capture.
const OF_SENDER: usize = 2;
const OF_ALL: usize = 4;
/// Of so many segments of a sender a quarter says enough: a mirror that is overloaded loses copies, and a host does not
/// send so much again before a round trip has passed.
const MANY: usize = 8;

/// Terms on which other packets say how often the one in question was recorded.
pub(super) struct Terms {
    /// A copy comes at most so long after its original.
    pub(super) within_ns: i64,
    /// A copy usually comes so long after its original: twice the wait of the one in question.
    pub(super) usual_ns: i64,
    /// Contents that the other packets of a handshake must have, to say enough of a SYN.
    pub(super) handshake_contents: usize,
}

/// What the last look at the whole capture said: it holds on where little is ahead.
#[derive(Debug, Default)]
pub(super) struct Beside {
    usual_of_all: u32,
}

impl Beside {
    /// How often most packets beside `packet` are recorded; 0 where nothing is known. Of the same sender first: a mirror
    /// may see one direction alone. `known` says how often a content was recorded before, if at most so long ago.
    pub(super) fn recorded(
        &mut self,
        packet: &Held,
        terms: &Terms,
        ahead: &mut Window,
        known: impl Fn(u64, i64) -> u32,
    ) -> u32 {
        let same_sender = |other: &Held| {
            other.is_no_acknowledgement()
                && other.owner.key == packet.owner.key
                && other.side() == packet.side()
        };
        let own = look(packet, terms, ahead, &known, same_sender);
        // A SYN is sent again after a tenth of a second at the soonest.
        let enough = if packet.segment.has(flag::SYN) {
            1
        } else {
            OF_SENDER
        };
        if packet.is_tcp() && own.len() >= MANY {
            return reached(own, 3);
        }
        if own.len() >= enough {
            return usual(own);
        }
        if packet.is_tcp() && packet.segment.has(flag::SYN) {
            let answers = |other: &Held| {
                let flags = other.segment.flags() & (flag::ACK | flag::RST);
                other.shares_ends(packet) && flags == flag::ACK
            };
            let handshake_contents = look(packet, terms, ahead, &known, answers);
            if handshake_contents.len() >= terms.handshake_contents {
                return usual(handshake_contents);
            }
        }
        if packet.is_tcp() && !packet.is_no_acknowledgement() {
            // Acknowledgements are repeated as such: what other hosts send says nothing of them.
            return 0;
        }
        let all = look(packet, terms, ahead, &known, Held::is_no_acknowledgement);
        if all.len() >= OF_ALL {
            self.usual_of_all = usual(all);
        }
        self.usual_of_all
    }
}

/// How often each content ahead of `packet` is recorded, but for its own and those whose copies may lie further ahead.
fn look(
    packet: &Held,
    terms: &Terms,
    ahead: &mut Window,
    known: impl Fn(u64, i64) -> u32,
    wanted: impl Fn(&Held) -> bool,
) -> Vec<u32> {
    let mut seen: HashMap<u64, (usize, i64, u32)> = HashMap::with_capacity(LOOKED_AT);
    let mut count = 0;
    let mut parts = Parts::default();
    let complete_until = ahead.complete_until();
    ahead.find_ahead(|other| {
        if other.identity.is_alike(&packet.identity) || !wanted(other) {
            return None;
        }
        let time = other.segment.time;
        let is_known = |content| seen.contains_key(&content) || known(content, time) > 0;
        let content = other.identity.among(is_known);
        let part_of = parts.find(other, None);
        if let Some((_, large)) = part_of {
            // What was divided is recorded once as a whole, and each part of it for the second time.
            seen.remove(&large.content);
        } else if Parts::wants(other) {
            parts.note(other);
        }
        let (_, last, times) = seen.entry(content).or_insert_with(|| {
            (
                count,
                time,
                known(content, time) + u32::from(part_of.is_some()),
            )
        });
        if time.saturating_sub(*last) <= terms.within_ns {
            *times += 1;
            *last = time;
        }
        count += 1;
        (count == LOOKED_AT).then_some(())
    });
    let judged = if count == LOOKED_AT {
        LOOKED_AT / 2
    } else {
        LOOKED_AT
    };
    let is_judged = |(place, last, _): &(usize, i64, u32)| {
        *place < judged && last.saturating_add(terms.usual_ns) < complete_until
    };
    let judged = seen.into_values().filter(is_judged);
    judged.map(|(.., times)| times).collect()
}

/// What three quarters of the numbers reach.
fn usual(numbers: Vec<u32>) -> u32 {
    reached(numbers, 1)
}

/// What all of the numbers but so many quarters reach.
fn reached(mut numbers: Vec<u32>, quarters: usize) -> u32 {
    numbers.sort_unstable();
    let place = numbers.len() * quarters / 4;
    numbers.get(place).copied().unwrap_or(0)
}
