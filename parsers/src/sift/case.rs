//! What a packet, and one with the same content before it, say about whether it is a copy.

use super::beside::Terms;
use super::held::Held;
use super::pair::Pair;
use super::seen::{LONGEST_NS, Seen};
use crate::decode::flag;
use crate::decode::segment::since;

/// A copy at the same place of a packet with an identification follows sooner than this.
const SAME_PLACE_NS: i64 = 10_000_000;
/// Sooner than this no host sends a SYN again (RFC 6298 2), nor any an acknowledgement with the identification that it
/// had. The quick reading notices what comes as late ([`crate::decode::notice::Notice`]).
const LATEST_NS: i64 = 50_000_000;
/// Copies come later than those seen before at most by this factor.
const LATER: i64 = 2;
/// A copy of a datagram without identification follows sooner, at the same place and at another one.
const DATAGRAM_NS: i64 = 500_000;
const DATAGRAM_ELSEWHERE_NS: i64 = 10_000_000;
/// A SYN that is sent twice may be answered twice, and acknowledged once: the answer and its acknowledgement both say more.
const HANDSHAKE_CONTENTS: usize = 2;
/// More packets alike than this in a row are sent, not recorded so often.
const MOST_RECORDED: u32 = 4;

/// What is known of one sender of datagrams to one receiver.
#[derive(Clone, Copy)]
pub(super) struct Talk {
    pub(super) content: u64,
    pub(super) ident: u16,
    pub(super) time: i64,
    /// Packets of that content in a row, and of the content before.
    pub(super) run: u32,
    pub(super) run_before: u32,
    /// Each content has another identification, as the last two had.
    pub(super) counts: bool,
}

/// What a packet and the one that it may be a copy of say.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Case {
    /// It came soon enough, and into the same network.
    pub(super) may_be_copied: bool,
    pub(super) within_ns: i64,
    /// Nothing but a copy is like that.
    pub(super) is_sure: bool,
    /// The other one was seen at another place more often.
    pub(super) is_elsewhere: bool,
    /// The earlier packet was sent into another virtual network.
    pub(super) is_other_network: bool,
    /// If it is a copy, others come as late at the same place: its host would not have sent it again so soon.
    pub(super) shows_delay: bool,
    /// Time since the other one.
    pub(super) waited: i64,
    /// A SYN behind the end of its connection: with the number of the SYN before, it may begin the next one.
    pub(super) opens_anew: bool,
    /// The packets before are of a connection that has ended.
    pub(super) is_other_life: bool,
    /// How often packets of its sender are recorded, as far as those before it say.
    pub(super) recorded: u32,
    /// A SYN-ACK to a SYN that was recorded more than once.
    answers_copied: bool,
}

impl Case {
    /// `late_ns`: how long after a packet its copies came at the same place, where hosts cannot have sent them again.
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
        let identified = match (pair, talk) {
            (Some(pair), _) => pair.is_identified(packet),
            (None, talk) => own.ident != 0 && talk.is_some_and(|talk| talk.counts),
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
        // No other place sees a packet sooner again than the same one may.
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
        let earlier = pair.is_some_and(|pair| seen.time < pair.latest.started);
        // A host may send data again as they are, identification included: not before a round trip, and past the same
        // places. The other end of a path sees a packet half a round trip later, and what waits in queues any time.
        let round_trip = pair.and_then(Pair::round_trip_ns);
        let at_once = round_trip.is_none_or(|ns| waited < ns / 2);
        let sent_once = at_once || packet.is_tcp() && !packet.takes_numbers();
        let is_late = pair.is_some() && !is_elsewhere && waited <= late_ns;
        let identified_copy = identified && (is_elsewhere || pair.is_some() && sent_once);
        let late_copy = is_late && (identified || is_syn);
        let routed = is_elsewhere && own.ttl < other.ttl && at_once;
        Self {
            may_be_copied: waited <= within_ns && !other_network && !earlier,
            within_ns,
            is_sure: is_retry || identified_copy || late_copy || routed,
            is_elsewhere,
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

    /// Returns the terms on which other packets say how often this one was recorded.
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

    /// Decides for a copy if the whole connection is recorded once more after its end.
    pub(super) fn take_replay(&mut self, is_replay: bool) {
        if is_replay {
            (self.may_be_copied, self.is_sure) = (true, true);
            (self.opens_anew, self.is_other_life, self.shows_delay) = (false, false, false);
        }
    }
}
