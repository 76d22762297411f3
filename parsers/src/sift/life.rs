//! One TCP connection as its receivers keep it: which numbers each side would accept, and whether it has ended.

use super::held::{Held, NEAR};
use crate::decode::flag;

/// The greatest window scale, RFC 7323 2.3; used where the real one was not captured.
const GREATEST_SHIFT: u8 = 14;
/// Half of the greatest window, RFC 7323 2.3: a number is accepted up to two windows back.
const HALF_WINDOW: i64 = 1 << 29;

/// Returns the signed distance from `from` to `to`, RFC 9293 3.4.
pub(super) fn distance(from: u32, to: u32) -> i64 {
    i64::from(to.wrapping_sub(from) as i32)
}

/// What is known of the sequence numbers of one side.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Numbers {
    /// Initial sequence number.
    pub base: Option<u32>,
    /// After the highest byte sent; where the side was not seen, the highest acknowledgement of its data.
    pub next: Option<u32>,
    /// Greatest end of the other side's window.
    edge: Option<u32>,
    /// Greatest window of the other side; until it acknowledges something, the bytes this side sent without waiting.
    widest: u32,
    /// Its SYN was captured, and the window scale in it.
    syn: bool,
    shift: Option<u8>,
    /// A packet of it was captured.
    pub seen: bool,
    /// One such packet was no SYN and no RST.
    spoke: bool,
    acknowledged: bool,
    fin: bool,
    reset: bool,
}

impl Numbers {
    /// Returns whether only its SYN was captured.
    fn has_sent_only_a_syn(&self) -> bool {
        self.syn && !self.spoke
    }

    /// Returns whether `ack` is for its SYN, with or without some of its data: RFC 9293 3.10.7.3, RFC 7413 4.1.3.
    pub(super) fn may_be_acknowledged_by(&self, ack: u32) -> bool {
        let sent = self.base.zip(self.next);
        sent.is_some_and(|(base, next)| distance(base, ack) > 0 && distance(ack, next) >= 0)
    }

    /// Returns whether a SYN with the number `seq` is that of this side, captured after the packets that followed it.
    pub(super) fn follows_syn(&self, seq: u32) -> bool {
        let first = self.base.filter(|_| !self.syn);
        first.is_some_and(|first| (0..=NEAR).contains(&distance(seq, first)))
    }
}

/// One connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub number: u32,
    /// Time of its first packet.
    pub started: i64,
    /// The key's lower endpoint first.
    pub sides: [Numbers; 2],
}

impl Life {
    pub(super) fn new(number: u32, started: i64) -> Self {
        Self {
            number,
            started,
            sides: [Numbers::default(); 2],
        }
    }

    /// Returns whether both sides have answered each other, or one has sent what follows a handshake.
    pub(super) fn is_established(&self) -> bool {
        let [low, high] = &self.sides;
        low.spoke || high.spoke || low.seen && high.seen && low.acknowledged && high.acknowledged
    }

    /// Returns whether it was reset, or closed by both sides; if only one was captured, by that one.
    pub(super) fn has_ended(&self) -> bool {
        let [low, high] = &self.sides;
        self.was_reset() || (low.fin || !low.seen) && (high.fin || !high.seen)
    }

    /// Returns whether it was reset before it was established: a host may try again with the same number.
    pub(super) fn was_refused(&self) -> bool {
        self.was_reset() && !self.is_established()
    }

    fn was_reset(&self) -> bool {
        self.sides.iter().any(|side| side.reset)
    }

    /// Returns how far the numbers of `packet` are from those seen: the less, the better it fits.
    pub(super) fn misfit(&self, packet: &Held) -> i64 {
        const UNKNOWN: i64 = 1 << 30;
        let (own, peer) = (&self.sides[packet.side()], &self.sides[1 - packet.side()]);
        let seq_distance = own
            .next
            .map(|next| distance(next, packet.segment.seq).abs());
        let ack_distance = packet
            .segment
            .acknowledgement()
            .and_then(|ack| Some(distance(peer.next?, ack).abs()));
        match (seq_distance, ack_distance) {
            (Some(seq), Some(ack)) => seq.max(ack),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => UNKNOWN,
        }
    }

    /// Returns whether the receiver accepts the sequence number of `packet`: RFC 9293 3.10.7.4, and further back as far
    /// as retransmissions reach.
    pub(super) fn takes_number(&self, packet: &Held) -> bool {
        let own = &self.sides[packet.side()];
        let Some(next) = own.next else { return true };
        let seq = packet.segment.seq;
        let ahead = distance(next, seq);
        if ahead > 0 {
            return match own.edge {
                Some(edge) => distance(edge, seq) <= 0,
                None => ahead <= NEAR,
            };
        }
        -ahead <= NEAR.max(2 * i64::from(own.widest))
    }

    /// Returns whether its acknowledgement can be for data that the other side sent, RFC 5961 5.
    pub(super) fn takes_acknowledgement(&self, packet: &Held) -> bool {
        let peer = &self.sides[1 - packet.side()];
        let (Some(ack), Some(next)) = (packet.segment.acknowledgement(), peer.next) else {
            return true;
        };
        let behind = distance(ack, next);
        // Where a capture begins in the middle of a connection, the first acknowledgement may be for earlier data.
        let window = i64::from(packet.segment.window) << GREATEST_SHIFT;
        let is_first = !peer.acknowledged && !peer.syn && (0..=window).contains(&behind);
        is_first || behind.abs() <= NEAR.max(2 * i64::from(peer.widest))
    }

    /// Returns whether it acknowledges more than a side sent of which only a SYN was seen: it may be of an older
    /// connection that the other side still has open, RFC 9293 3.5.1.
    pub(super) fn acknowledges_too_much(&self, packet: &Held) -> bool {
        let peer = &self.sides[1 - packet.side()];
        let ahead = |ack| peer.next.is_some_and(|next| distance(next, ack) > 0);
        peer.has_sent_only_a_syn() && packet.segment.acknowledgement().is_some_and(ahead)
    }

    /// Returns whether a RST is valid, RFC 9293 3.10.7 and RFC 5961 3: if it answers a SYN, by what it acknowledges.
    pub(super) fn takes_reset(&self, packet: &Held) -> bool {
        let (own, peer) = (&self.sides[packet.side()], &self.sides[1 - packet.side()]);
        if own.next.is_none() {
            return self.takes_acknowledgement(packet);
        }
        if own.has_sent_only_a_syn() {
            return own.next == Some(packet.segment.seq);
        }
        let answers = !own.spoke && packet.segment.acknowledgement() == peer.next;
        answers && peer.next.is_some() || self.takes_number(packet)
    }

    /// Returns whether its number is exactly the next one, as far as the capture shows.
    pub(super) fn expects(&self, packet: &Held) -> bool {
        let own = &self.sides[packet.side()];
        own.next.is_none_or(|next| next == packet.segment.seq)
    }

    /// Takes in an accepted packet.
    pub(super) fn note(&mut self, packet: &Held) {
        let segment = &packet.segment;
        let (side, peer) = (packet.side(), 1 - packet.side());
        if segment.has(flag::RST) {
            self.sides[side].reset = true;
            self.sides[side].seen = true;
            return;
        }
        let syn = segment.has(flag::SYN);
        let own = &mut self.sides[side];
        let first = !std::mem::replace(&mut own.seen, true);
        own.base
            .get_or_insert(segment.seq.wrapping_sub(u32::from(!syn)));
        if syn {
            if !own.spoke || !own.syn {
                own.base = Some(segment.seq);
            }
            let options = packet.options.as_deref();
            own.syn = true;
            own.shift = options.and_then(|options| options.window_scale);
        } else {
            own.spoke = true;
        }
        let end = packet.end();
        if segment.payload > 0 && own.next.is_some_and(|next| distance(next, end) > 0) {
            // A side that goes on sending has not ended, whatever was seen before.
            (own.fin, own.reset) = (false, false);
        }
        own.fin |= segment.has(flag::FIN);
        let jumps = first
            || own.next.is_none_or(|next| {
                let ahead = distance(next, end);
                ahead > 0 || ahead < -NEAR.max(2 * i64::from(own.widest))
            });
        if jumps {
            own.next = Some(end);
        }
        if let (false, Some(base), Some(next)) = (own.acknowledged, own.base, own.next) {
            // Where only this direction was captured, this is the only known limit of how far back it resends.
            let unanswered = distance(base, next).clamp(0, HALF_WINDOW);
            own.widest = own.widest.max(unanswered as u32);
        }
        let Some(ack) = segment.acknowledgement() else {
            return;
        };
        let [one, two] = &self.sides;
        // RFC 7323 2.2: windows are scaled only where both SYNs have the option, and never in a SYN.
        let scaled = one.shift.is_some() && two.shift.is_some();
        let shift = if syn || segment.window == 0 {
            Some(0)
        } else if one.syn && two.syn {
            self.sides[side].shift.filter(|_| scaled).or(Some(0))
        } else {
            None
        };
        let window = u32::from(segment.window) << shift.unwrap_or(GREATEST_SHIFT);
        let other = &mut self.sides[peer];
        other.acknowledged = true;
        if syn {
            other.base.get_or_insert(ack.wrapping_sub(1));
        }
        if !other.seen && other.next.is_none_or(|next| distance(next, ack) > 0) {
            other.next = Some(ack);
        }
        other.widest = other.widest.max(window);
        let edge = ack.wrapping_add(window);
        if shift.is_some() && other.edge.is_none_or(|known| distance(known, edge) > 0) {
            other.edge = Some(edge);
        }
    }

    /// Forgets the end of the window: the numbers of this side went on elsewhere.
    pub(super) fn jump(&mut self, side: usize) {
        self.sides[side].edge = None;
    }
}
