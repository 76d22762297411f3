//! What the other side's acknowledgements say about the octets of a direction: RTT samples, SACK.

use super::super::sender::DONE;
use super::{Acknowledged, HAS_MSS, MEASURED, Rare, SAMPLE, STARTED, Tcp, UNKNOWN, WAITS, WINDOW};
use crate::decode::{Sack, flag};
use crate::segment::{Segment, since};

impl Tcp {
    /// Takes in `segment` of the other side, which acknowledges octets of this one. `window` is what it
    /// advertises, where that is known.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        segment: &Segment,
        sacks: &[Sack; 4],
        window: Option<i64>,
    ) -> Acknowledged {
        let mut told = Acknowledged {
            repeats: false,
            all: false,
            peer_window: self.has(WINDOW).then_some(self.last_window),
            peer_mss: self.has(HAS_MSS).then_some(self.mss),
        };
        if !segment.has(flag::ACK) {
            return told;
        }
        let ack = self.unwrap(segment.ack);
        // A RST may carry any number: it is believed where it answers the last octet, as to a SYN.
        if segment.has(flag::RST) && (!self.has(STARTED) || ack != self.end) {
            return told;
        }
        if ack < self.una {
            return told;
        }
        told.all = self.has(STARTED) && ack >= self.end;
        if ack == self.una {
            told.repeats = self.has(STARTED) && self.end > self.una;
        } else {
            self.advance(ack, segment.time);
        }
        let opens = window.is_some_and(|window| ack + window > self.edge);
        if let Some(window) = window {
            self.edge = self.edge.max(ack + window);
        }
        if let Some(sender) = &mut self.sender {
            if opens {
                // A window update alone, too.
                sender.limits.released(segment.time, ack, 0);
            }
            if segment.payload > 0 && told.all {
                sender.message.answered = true;
                sender.limits.answered(segment.time);
            }
        }
        if segment.sacks > 0 {
            self.selectively_acknowledged(ack, segment, sacks);
        }
        told
    }

    /// The cumulative acknowledgement moves up to `ack`. It is one sample, of the newest segment it covers:
    /// it was sent because of that one, while older ones waited for it (RFC 9293 3.8.6.3).
    #[inline]
    pub(super) fn advance(&mut self, ack: i64, time: i64) {
        let una = self.una;
        self.una = ack;
        // Karn: where any of the octets was sent twice, nobody knows which sending is acknowledged.
        let ambiguous = self
            .rare
            .as_mut()
            .is_some_and(|rare| rare.acknowledged(una, ack));
        if self.has(WAITS) {
            self.bits &= !WAITS;
            let rtt = since(time, self.handshake);
            if !ambiguous && rtt >= 0 {
                self.handshake = rtt;
                self.bits |= MEASURED;
                if self.first == ack {
                    self.bits |= SAMPLE;
                }
            }
        }
        let Some(sender) = &mut self.sender else {
            return;
        };
        let mut newest = None;
        while let Some(first) = sender.pending.front() {
            if first.to > ack {
                break;
            }
            newest = Some((first.to, first.time));
            sender.pending.pop_front();
        }
        // An acknowledgement of octets that were not captured measures nothing that was.
        if let Some((to, sent)) = newest
            && to == ack
            && sent != DONE
            && !ambiguous
        {
            sender.rtt.add(since(time, sent));
        }
        let octets = if una == UNKNOWN { 0 } else { ack - una };
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        sender.limits.released(time, ack, octets);
    }

    /// Segments above a hole are acknowledged by SACK; the cumulative acknowledgement that follows when the
    /// hole is filled would measure the recovery.
    #[cold]
    fn selectively_acknowledged(&mut self, una: i64, segment: &Segment, sacks: &[Sack; 4]) {
        for &(left, right) in sacks.iter().take(usize::from(segment.sacks)) {
            let (left, right) = (self.unwrap(left), self.unwrap(right));
            // Below the cumulative acknowledgement a block reports a duplicate (RFC 2883).
            if left < una || right <= left || right > self.end {
                continue;
            }
            let ambiguous = self
                .rare
                .as_ref()
                .is_some_and(|rare| rare.repeated.touches(left, right));
            let Some(sender) = &mut self.sender else {
                return;
            };
            sender.limits.lost(self.end);
            let behind = sender
                .pending
                .partition_point(|segment| segment.to <= right);
            let mut newest = None;
            for index in (0..behind).rev() {
                let pending = &mut sender.pending[index];
                // What an earlier block covered is done, and so is everything before it in this block.
                if pending.from < left || pending.time == DONE {
                    break;
                }
                let sent = std::mem::replace(&mut pending.time, DONE);
                newest.get_or_insert((pending.to, sent));
            }
            if let Some((_, sent)) = newest.filter(|&(to, _)| to == right && !ambiguous) {
                sender.rtt.add(since(segment.time, sent));
            }
        }
    }
}

impl Rare {
    /// Whether an octet from `una` to before `ack` was sent twice; forgets those below.
    fn acknowledged(&mut self, una: i64, ack: i64) -> bool {
        if self.repeated.is_empty() {
            return false;
        }
        let ambiguous = self.repeated.touches(una, ack);
        self.repeated.forget_below(ack);
        ambiguous
    }
}
