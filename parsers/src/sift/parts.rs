//! Parts of a large TCP segment that was recorded before a host or its interface divided it.
//!
//! A container's interface shows one segment of 64 KiB, and the interface after the bridge the packets that were made
//! of it (TSO, GSO). They carry the same bytes, so they are copies of parts of it. A part that a host sends again
//! passes the first place once more, as a packet of its own.

use std::collections::VecDeque;

use super::held::Held;
use super::identity::Identity;
use super::life::distance;
use crate::decode::segment::since;

/// Large segments of one side that are remembered, and other places that their parts pass.
const MOST: usize = 8;
const MOST_PLACES: usize = 4;
/// No Ethernet without jumbo frames carries more.
const LARGE_BYTES: u32 = 1500;
/// A queue between the two places delays a packet no longer than this.
const LONGEST_NS: i64 = 1_000_000_000;

/// A large segment, as it was seen at the first place.
#[derive(Debug)]
struct Large {
    number: u64,
    time: i64,
    identity: Identity,
    ack: u32,
    seq: u32,
    end: u32,
    /// For each other place, the number after the last part that was seen there.
    passed: Vec<(u64, u32)>,
}

/// Latest large segments of both sides of a connection.
#[derive(Debug, Default)]
pub(super) struct Parts([VecDeque<Large>; 2]);

impl Parts {
    /// Returns whether `packet` may be divided after the place where it was seen.
    pub(super) fn wants(packet: &Held) -> bool {
        packet.segment.ip_bytes() > LARGE_BYTES && packet.segment.payload > 0
    }

    pub(super) fn note(&mut self, packet: &Held) {
        let large = &mut self.0[packet.side()];
        if large.len() == MOST {
            large.pop_front();
        }
        large.push_back(Large {
            number: packet.number,
            time: packet.segment.time,
            identity: packet.identity,
            ack: packet.segment.ack,
            seq: packet.segment.seq,
            end: packet.end(),
            passed: Vec::new(),
        });
    }

    /// Returns the number of the segment that `packet`, seen at another place, is a part of, and where the segment was
    /// seen. A host sends nothing again before `round_trip_ns`.
    pub(super) fn find(
        &mut self,
        packet: &Held,
        round_trip_ns: Option<i64>,
    ) -> Option<(u64, Identity)> {
        if packet.segment.payload == 0 {
            return None;
        }
        let within_ns = round_trip_ns.filter(|_| packet.identity.ident == 0);
        let within_ns = within_ns.unwrap_or(LONGEST_NS).min(LONGEST_NS);
        let mut large = self.0[packet.side()].iter_mut().rev();
        large.find_map(|large| {
            let passes = large.passes(packet, within_ns);
            passes.then_some((large.number, large.identity))
        })
    }
}

impl Large {
    /// Returns whether `packet` is its next part at another place, soon enough; notes that it passed.
    fn passes(&mut self, packet: &Held, within_ns: i64) -> bool {
        let (seq, end) = (packet.segment.seq, packet.end());
        let behind = distance(self.seq, seq);
        let inside = behind >= 0 && distance(end, self.end) >= 0;
        // Each part takes the next identification, or the same one. A part that was sent again takes a later one.
        let steps = packet.identity.ident.wrapping_sub(self.identity.ident);
        let counted = i64::from(steps) * i64::from(packet.segment.payload) <= behind;
        let whole = seq == self.seq && end == self.end;
        let waited = since(packet.segment.time, self.time);
        let point = packet.identity.point;
        if !inside
            || whole
            || !counted
            || packet.segment.ack != self.ack
            || point == self.identity.point
            || !(0..=within_ns).contains(&waited)
        {
            return false;
        }
        let place = self.passed.iter().position(|passed| passed.0 == point);
        let place = place.or_else(|| {
            let room = self.passed.len() < MOST_PLACES;
            room.then(|| self.passed.push((point, self.seq)))?;
            Some(self.passed.len() - 1)
        });
        let Some((_, next)) = place.map(|place| &mut self.passed[place]) else {
            return false;
        };
        // The parts pass in their order, each once.
        let is_next = distance(*next, seq) >= 0;
        if is_next {
            *next = end;
        }
        is_next
    }
}
