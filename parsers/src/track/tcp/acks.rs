//! What the other side's acknowledgements show about the bytes of a direction: RTT samples, SACK.

use super::sender::DONE;
use super::{AckContext, MEASURED, OPENS, Rare, SAMPLE, STARTED, SYN, Tcp, UNKNOWN, WAITS};
use crate::decode::segment::{Segment, since};
use crate::decode::{Sack, TcpOptions, flag};

impl Tcp {
    /// Takes in `segment` of the other side, which acknowledges bytes of this one. `window` is what it
    /// advertises, where that is known.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        segment: &Segment,
        options: &TcpOptions,
        window: Option<i64>,
    ) -> AckContext {
        let mut context = self.known();
        if !segment.has(flag::ACK) {
            return context;
        }
        let ack = self.unwrap(segment.ack);
        if segment.has(flag::RST) {
            // RFC 9293 3.5.3: a RST that answers a SYN is valid if it acknowledges that. It is no RTT sample of data:
            // its sender, such as a firewall, need not be the host that the SYN was for.
            if self.has(STARTED) && ack == self.end && ack > self.una {
                self.advance(segment, ack);
                self.bits &= !SAMPLE;
            }
            return context;
        }
        if ack < self.una || self.una == UNKNOWN && self.is_of_another_time(segment, ack) {
            return context;
        }
        if self.una == UNKNOWN && !self.has(SYN) {
            self.handshake = ack;
        }
        context.all = self.has(STARTED) && ack >= self.end;
        let mut sent = None;
        if ack == self.una {
            context.repeats = self.has(STARTED) && self.end > self.una;
        } else {
            sent = self.advance(segment, ack);
        }
        self.heard(segment, ack, window, context.all);
        if options.sack_count > 0 {
            let blocks = &options.sacks[..usize::from(options.sack_count)];
            sent = self.selectively_acknowledged(ack, blocks, sent);
        }
        if segment.is_timed() {
            self.measure(sent, segment.time);
        }
        context.behind_ns = self.round_trip_ns();
        context
    }

    /// Returns whether `segment` is of a connection that the other side still has between these ports: before the SYN
    /// is answered, it acknowledges data that was never sent (RFC 9293 3.5.1).
    fn is_of_another_time(&self, segment: &Segment, ack: i64) -> bool {
        self.has(SYN) && !segment.has(flag::SYN) && ack > self.end
    }

    /// Takes in one sample: data that was `sent` then is acknowledged at `time`.
    #[inline]
    pub(super) fn measure(&mut self, sent: Option<i64>, time: i64) {
        if let Some(sent) = sent
            && let Some(sender) = &mut self.sender
        {
            let ns = since(time, sent);
            sender.rtt.add(ns);
            sender.limits.measured(ns);
        }
    }

    /// Moves the cumulative acknowledgement up to `ack`. Returns when the newest segment it covers was sent, for one
    /// sample: that segment caused the acknowledgement, and older ones waited for it (RFC 9293 3.8.6.3).
    #[inline]
    pub(super) fn advance(&mut self, segment: &Segment, ack: i64) -> Option<i64> {
        let time = segment.time;
        let una = self.una;
        self.una = ack;
        // RFC 6298 3, Karn's algorithm: where any of the bytes was sent twice, it is unknown which sending is
        // acknowledged.
        let ambiguous = self
            .rare
            .as_mut()
            .is_some_and(|rare| rare.acknowledged(una, ack));
        if self.has(WAITS) {
            self.bits &= !WAITS;
            let rtt = since(time, self.handshake);
            // RFC 9293 3.5: a SYN or a RST answers an opening SYN. If that was not captured, another segment
            // acknowledges the SYN later.
            let answers = !self.has(OPENS) || segment.has(flag::SYN | flag::RST);
            if answers && segment.is_timed() && !ambiguous && rtt >= 0 {
                self.handshake = rtt;
                self.bits |= MEASURED;
                if self.first == ack {
                    self.bits |= SAMPLE;
                }
            }
        }
        let sender = self.sender.as_mut()?;
        let mut newest = None;
        while let Some(first) = sender.pending.front() {
            if first.to > ack {
                break;
            }
            newest = Some((first.to, first.time));
            sender.pending.pop_front();
        }
        let bytes = if una == UNKNOWN { 0 } else { ack - una };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        sender.limits.released(time, ack, bytes);
        // An acknowledgement of bytes that were not captured measures no captured ones.
        newest
            .filter(|&(to, sent)| to == ack && sent != DONE && !ambiguous && !sender.was_held(to))
            .map(|(_, sent)| sent)
    }

    /// Takes in SACK blocks, which acknowledge segments above a hole: the cumulative acknowledgement that follows when
    /// the hole is filled would measure the recovery. Returns when the one sample was sent: the newest segment in the
    /// first block that covers a new one, which made the other side send it (RFC 2018 4), or else the one `sent` then,
    /// which the cumulative number covers.
    #[cold]
    fn selectively_acknowledged(
        &mut self,
        una: i64,
        blocks: &[Sack],
        mut sent: Option<i64>,
    ) -> Option<i64> {
        let mut answered = false;
        for &(left, right) in blocks {
            let (left, right) = (self.unwrap(left), self.unwrap(right));
            // RFC 2883 4: below the cumulative acknowledgement a block reports a duplicate.
            if left < una || right <= left || right > self.end {
                continue;
            }
            let ambiguous = self
                .rare
                .as_ref()
                .is_some_and(|rare| rare.repeated.touches(left, right));
            let sender = self.sender.as_mut()?;
            sender.limits.lost(self.end);
            let behind = sender
                .pending
                .partition_point(|segment| segment.to <= right);
            let mut newest = None;
            for index in (0..behind).rev() {
                let pending = &mut sender.pending[index];
                // A segment that an earlier block covered is done, and so are all before it in this block.
                if pending.from < left || pending.time == DONE {
                    break;
                }
                let time = std::mem::replace(&mut pending.time, DONE);
                newest.get_or_insert((pending.to, time));
            }
            if let Some((to, time)) = newest
                && !std::mem::replace(&mut answered, true)
            {
                sent = (to == right && !ambiguous).then_some(time);
            }
        }
        sent
    }
}

impl Rare {
    /// Returns whether a byte from `una` to before `ack` was sent twice; forgets those below.
    fn acknowledged(&mut self, una: i64, ack: i64) -> bool {
        if self.repeated.is_empty() {
            return false;
        }
        let ambiguous = self.repeated.touches(una, ack);
        self.repeated.forget_below(ack);
        ambiguous
    }
}
