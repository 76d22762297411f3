//! What a packet and an earlier one with the same content show about whether it is a copy.

use super::beside::Terms;
use super::held::Held;
use super::pair::Pair;
use super::seen::{LONGEST_NS, Seen};
use crate::decode::flag;
use crate::decode::segment::since;

/// At the same place, a copy of a packet with an identification follows sooner than this.
const SAME_PLACE_NS: i64 = 10_000_000;
/// No host sends a SYN again sooner than this (RFC 6298 2), or an acknowledgement with the same identification. The
/// quick reading notices packets that come this late ([`crate::decode::notice::Notice`]).
const LATEST_NS: i64 = 50_000_000;
/// A copy is at most this many times as late as earlier copies.
const LATER: i64 = 2;
/// A copy of a datagram without identification follows sooner, at the same place and at another one.
const DATAGRAM_NS: i64 = 500_000;
const DATAGRAM_ELSEWHERE_NS: i64 = 10_000_000;
/// A SYN sent twice may be answered twice and acknowledged once: the answer and its acknowledgement are both needed.
const HANDSHAKE_CONTENTS: usize = 2;
/// A longer run of packets alike was sent, not recorded so often.
const MOST_RECORDED: u32 = 4;
/// Largest usual step between the identifications of two packets of a flow if the host counts its packets.
const NEAR_IDENTS: u16 = 2048;
/// The score from which on identifications count as random: a larger step adds 2, another one takes 1.
const MANY_JUMPS: u8 = 4;

/// What is known of one sender of datagrams to one receiver.
#[derive(Clone, Copy)]
pub(super) struct Talk {
    pub(super) content: u64,
    pub(super) ident: u16,
    pub(super) time: i64,
    /// Packets with that content in a row, and with the content before.
    pub(super) run: u32,
    pub(super) run_before: u32,
    /// The sender gives each content another identification: the last two differed.
    pub(super) counts: bool,
    /// Score of the larger steps between identifications, as for `MANY_JUMPS`: random ones may repeat.
    pub(super) jumps: u8,
}

impl Talk {
    /// Returns whether its sender draws identifications at random.
    fn is_random(&self) -> bool {
        self.jumps >= MANY_JUMPS
    }

    /// Takes in the next identification.
    pub(super) fn note_step(&mut self, ident: u16) {
        let ahead = ident.wrapping_sub(self.ident);
        let is_near = ahead.min(ahead.wrapping_neg()) <= NEAR_IDENTS;
        self.jumps = if is_near {
            self.jumps.saturating_sub(1)
        } else {
            (self.jumps + 2).min(2 * MANY_JUMPS)
        };
    }
}

/// What a packet and the earlier one that it may be a copy of show.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Case {
    /// It came soon enough, and into the same network.
    pub(super) may_be_copied: bool,
    pub(super) within_ns: i64,
    /// Only a copy can look like this.
    pub(super) is_sure: bool,
    /// The content was recorded more often at another place.
    pub(super) is_elsewhere: bool,
    /// A router may have forwarded the earlier packet: its TTL was higher, less than half a round trip before.
    pub(super) is_routed: bool,
    /// It may have taken another path: neighbours that pass both places, or only one of them, decide.
    pub(super) may_be_other_path: bool,
    /// The earlier packet was sent into another virtual network.
    pub(super) is_other_network: bool,
    /// If it is a copy, others come as late at the same place: its host would not have resent it so soon.
    pub(super) shows_delay: bool,
    /// Time since the earlier packet.
    pub(super) waited: i64,
    /// A SYN after the end of its connection: with the number of the earlier SYN, it may begin the next one.
    pub(super) opens_anew: bool,
    /// The earlier packet is of a connection that has ended.
    pub(super) is_other_life: bool,
    /// How often earlier packets of its sender were recorded.
    pub(super) recorded: u32,
    /// A SYN-ACK to a SYN that was recorded more than once.
    answers_copied: bool,
}

impl Case {
    /// `late_ns`: longest delay of copies at the same place, of packets that hosts cannot have resent so soon.
    pub(super) fn new(
        seen: &Seen,
        packet: &Held,
        pair: Option<&Pair>,
        talk: Option<Talk>,
        late_ns: i64,
    ) -> Self {
        let (own, other) = (&packet.identity, &seen.identity);
        let late_ns = late_ns.saturating_mul(LATER).min(LATEST_NS);
        let is_syn = packet.is_tcp() && packet.segment.has(flag::SYN);
        let is_random = talk.is_some_and(|talk| talk.is_random());
        let identified = match (pair, talk) {
            (Some(pair), _) => pair.is_identified(packet),
            (None, talk) => own.ident != 0 && talk.is_some_and(|talk| talk.counts || is_random),
        };
        let is_once = is_syn || identified && !packet.takes_numbers();
        let (here_ns, elsewhere_ns) = match pair {
            _ if identified => (SAME_PLACE_NS, LONGEST_NS),
            Some(pair) => pair.copies_within_ns(),
            // Its host would not have sent it with a lower TTL.
            None if own.ttl < other.ttl => (DATAGRAM_NS, LATEST_NS),
            None => (DATAGRAM_NS, DATAGRAM_ELSEWHERE_NS),
        };
        let here_ns = match pair {
            Some(_) if is_once => LATEST_NS,
            _ => here_ns.max(late_ns),
        };
        // A copy of a SYN may be as late at another place as at the same one.
        let elsewhere_ns = elsewhere_ns.max(if is_syn { LATEST_NS } else { 0 });
        let is_elsewhere = seen.times(own.point) < seen.sent;
        let opens_anew = pair.is_some_and(|pair| pair.opens_anew(packet));
        let is_retry = own.is_retry_of(other);
        let within_ns = if is_retry {
            LATEST_NS
        } else if opens_anew {
            SAME_PLACE_NS
        } else if is_elsewhere {
            elsewhere_ns
        } else {
            here_ns
        };
        let waited = since(packet.segment.time, seen.time);
        let other_network = !identified && pair.is_none() && own.is_of_other_network(other);
        // A copy at the same place comes before any report of the packet.
        let was_missing = !identified
            && !is_elsewhere
            && packet.takes_numbers()
            && pair.is_some_and(|pair| pair.was_missing(packet, seen.time));
        let earlier = pair.is_some_and(|pair| seen.time < pair.latest.started);
        // A host may resend data unchanged, identification included: not before a round trip, and past the same places.
        // A packet reaches the other end of a path half a round trip later, and leaves a queue at any time.
        let round_trip = pair.and_then(Pair::round_trip_ns);
        let at_once = round_trip.is_none_or(|ns| waited < ns / 2);
        let sent_once = at_once || packet.is_tcp() && !packet.takes_numbers();
        let is_late = pair.is_some() && !is_elsewhere && waited <= late_ns;
        let identified_copy =
            identified && (is_elsewhere && !is_random || pair.is_some() && sent_once);
        let late_copy = is_late && (identified || is_syn);
        // A host may send equal packets over paths of different length: not a SYN, and not data so soon.
        let sent_alone = match pair {
            Some(_) if packet.takes_numbers() => is_syn || round_trip.is_some(),
            Some(pair) if packet.segment.has(flag::RST) => pair.was_copied(1 - packet.side()),
            _ => own.ident != 0 && !is_random,
        };
        let is_routed = is_elsewhere && own.ttl < other.ttl && at_once;
        let is_sure = is_retry || identified_copy || late_copy || is_routed && sent_alone;
        let may_repeat = !packet.takes_numbers() || own.ttl < other.ttl;
        Self {
            may_be_copied: waited <= within_ns && !other_network && !earlier && !was_missing,
            within_ns,
            is_sure,
            is_elsewhere,
            is_routed,
            may_be_other_path: is_elsewhere && !is_sure && may_repeat && own.way != other.way,
            is_other_network: other_network,
            shows_delay: pair.is_some() && !is_elsewhere && is_once && !is_retry,
            waited,
            opens_anew: opens_anew && !is_retry,
            is_other_life: earlier || opens_anew && !is_retry,
            recorded: match (pair, talk) {
                (Some(pair), _) => pair.recorded(packet),
                (None, Some(talk)) if talk.run_before <= MOST_RECORDED => talk.run_before,
                _ => 0,
            },
            answers_copied: is_syn
                && packet.segment.has(flag::ACK)
                && pair.is_some_and(|pair| pair.was_copied(1 - packet.side())),
        }
    }

    /// Returns the conditions under which other packets show how often this one was recorded.
    pub(super) fn terms(&self) -> Terms {
        let usual_ns = self.waited.saturating_mul(LATER).max(DATAGRAM_NS);
        Terms {
            within_ns: self.within_ns,
            usual_ns: usual_ns.min(self.within_ns),
            handshake_contents: if self.answers_copied {
                1
            } else {
                HANDSHAKE_CONTENTS
            },
        }
    }

    /// Decides that it is a copy if the whole connection is recorded again after its end.
    pub(super) fn take_replay(&mut self, is_replay: bool) {
        if is_replay {
            (self.may_be_copied, self.is_sure) = (true, true);
            (self.opens_anew, self.is_other_life, self.shows_delay) = (false, false, false);
        }
    }
}
