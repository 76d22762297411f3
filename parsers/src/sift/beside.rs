//! How often neighbouring packets are recorded: this decides whether two alike packets are one and its copy.

use std::collections::HashMap;

use super::held::Held;
use super::parts::Parts;
use super::window::Window;
use crate::decode::flag;

/// Packets that are examined ahead.
const LOOKED_AT: usize = 64;
/// Contents that suffice: of the same sender, and of the whole capture.
const OF_SENDER: usize = 2;
const OF_ALL: usize = 4;
/// With this many segments of a sender, a quarter of them suffices: an overloaded mirror loses copies, and a host does
/// not resend that much within a round trip.
const MANY: usize = 8;

/// Conditions under which other packets show how often the one in question was recorded.
pub(super) struct Terms {
    /// A copy comes at most this long after its original.
    pub(super) within_ns: i64,
    /// A copy usually comes this soon after its original: twice the wait of the one in question.
    pub(super) usual_ns: i64,
    /// Contents of the other packets of a handshake that suffice to judge a SYN.
    pub(super) handshake_contents: usize,
}

/// The result of the last look at the whole capture, used where few packets are ahead.
#[derive(Debug, Default)]
pub(super) struct Beside {
    usual_of_all: u32,
}

impl Beside {
    /// Returns how often most neighbours of `packet` are recorded; 0 if unknown. Packets of the same sender come first:
    /// a mirror may see only one direction. `known` returns how often a content was recorded a short time before.
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
        // A host waits at least a tenth of a second before it sends a SYN again.
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
            // Hosts repeat acknowledgements as they are: packets of other hosts prove nothing about them.
            return 0;
        }
        let all = look(packet, terms, ahead, &known, Held::is_no_acknowledgement);
        if all.len() >= OF_ALL {
            self.usual_of_all = usual(all);
        }
        self.usual_of_all
    }
}

/// Returns how often each content ahead is recorded, except that of `packet` and any whose copies may lie further on.
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
            // A divided segment was recorded once as a whole, so each part of it is a second recording.
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

/// Returns the value that three quarters of the numbers reach.
fn usual(numbers: Vec<u32>) -> u32 {
    reached(numbers, 1)
}

/// Returns the value that all numbers but `quarters` quarters reach.
fn reached(mut numbers: Vec<u32>, quarters: usize) -> u32 {
    numbers.sort_unstable();
    let place = numbers.len() * quarters / 4;
    numbers.get(place).copied().unwrap_or(0)
}
