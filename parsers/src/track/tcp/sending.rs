//! What the segments of a direction show about its bytes: repeated, late, probes, windows, messages.

use super::limits::Sent;
use super::messages::ended::Ended;
use super::messages::mss::Length;
use super::messages::{Sending, evidence};
use super::ranges::{Added, Ranges};
use super::sender::{DONE, Pending};
use super::{
    AckContext, HAS_MSS, HAS_SHIFT, OPENS, SACK_PERMITTED, SHIFT, STARTED, SYN, Tcp, UNKNOWN, WAITS,
};
use crate::decode::segment::Segment;
use crate::decode::{TcpOptions, flag};

/// Position of a segment's payload relative to the bytes sent before it.
pub(super) struct Data {
    /// A keep-alive or window probe, or all that it repeats is the byte of a probe, which the receiver had no room for:
    /// it repeats nothing that was lost.
    pub probe: bool,
    /// Bytes sent before.
    pub repeated: i64,
    /// It begins below the highest byte sent.
    pub late: bool,
    /// All bytes before it were acknowledged.
    pub idle: bool,
    /// Length of the TCP options.
    pub options_bytes: u8,
}

/// The sequence numbers that a segment takes.
struct Span {
    from: i64,
    to: i64,
    payload: i64,
    syn: bool,
    fin: bool,
}

impl Span {
    #[inline]
    fn new(segment: &Segment, from: i64) -> Self {
        let payload = i64::from(segment.payload);
        let (syn, fin) = (segment.has(flag::SYN), segment.has(flag::FIN));
        Self {
            from,
            to: from + payload + i64::from(syn) + i64::from(fin),
            payload,
            syn,
            fin,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.to == self.from
    }

    /// Returns these numbers of `segment`, which wait for their acknowledgement.
    #[inline]
    fn pending(&self, segment: &Segment) -> Pending {
        Pending {
            from: self.from,
            to: self.to,
            time: if segment.is_timed() {
                segment.time
            } else {
                DONE
            },
        }
    }

    /// Returns whether it may be a keep-alive or window probe: at most a byte, and no SYN or FIN.
    #[inline]
    fn may_probe(&self) -> bool {
        !self.syn && !self.fin && self.payload <= 1
    }
}

impl Tcp {
    /// Takes in `segment` of this side. `context` is what the other side's state says about it. The messages that
    /// ended before it and with it go to `ended`.
    #[inline]
    pub(super) fn sent(
        &mut self,
        segment: &Segment,
        context: AckContext,
        options: &TcpOptions,
        ended: &mut Ended<'_>,
    ) {
        let span = Span::new(segment, self.unwrap(segment.seq));
        self.begin(&span);
        if segment.has(flag::RST) {
            self.rst_packets += 1;
            // RFC 9293 3.5.3: its number need not follow the others, and its payload is a text, if any.
            return;
        }
        self.note_header(segment, &span, context.repeats, options);
        let is_probe =
            span.may_probe() && self.probes(span.from, span.payload, context.peer_window);
        if span.is_empty() {
            return;
        }
        let (highest, highest_payload) = (self.end, self.payload_end);
        let (added, late) = self.covers(span.from, span.to, highest_payload);
        let is_probe = is_probe || self.repeats_probe(&span, &added);
        self.note_repeats(segment, &span, &added, is_probe);
        if late && span.payload > 0 {
            self.rarely().counts.out_of_order_packets += 1;
        }
        if added.late > 0
            && let Some(sender) = &mut self.sender
        {
            sender.hole_filled(span.to, highest);
        }
        self.end = highest.max(span.to);
        if span.payload > 0 {
            self.payload_end = self.payload_end.max(span.to - i64::from(span.fin));
        } else if span.syn {
            return;
        }
        let idle = self.una >= highest;
        // RFC 9293 3.8.4: the byte of a keep-alive was acknowledged before, and is no data.
        let is_keep_alive = is_probe && self.una != UNKNOWN && span.to <= self.una;
        // The number of a FIN that was seen before is no byte of payload.
        let repeats_fin = span.fin && span.to <= highest && highest > highest_payload;
        let sender = self.sender.get_or_insert_default();
        if added.repeated == 0 && span.from >= highest {
            sender.wait(self.una, span.pending(segment));
        }
        if span.payload > 0 && !is_keep_alive {
            let data = Data {
                probe: is_probe,
                repeated: (added.repeated - i64::from(repeats_fin)).max(0),
                late: span.from < highest_payload,
                idle,
                options_bytes: options.bytes,
            };
            self.data(segment, &context, &data, ended);
        }
        if span.fin
            && let Some(sender) = &mut self.sender
        {
            sender.message.end(evidence::CLOSE, ended);
        }
    }

    /// Finds the first number of this side.
    #[inline]
    fn begin(&mut self, span: &Span) {
        let first = span.from + i64::from(span.syn);
        if !self.has(STARTED) || span.syn && self.opens_anew(span.from) {
            // RFC 9293 3.8.4: in a connection that began before the capture, a keep-alive lies below what the other side
            // has acknowledged.
            let is_keep_alive = !self.has(STARTED) && span.may_probe() && self.una == span.from + 1;
            if is_keep_alive {
                self.covered.add(span.from, self.una);
            }
            let first = first + i64::from(is_keep_alive);
            self.bits |= STARTED;
            self.end = span.from + i64::from(is_keep_alive);
            self.first = first;
            self.payload_end = first;
        } else if span.payload > 0 && self.payload_end == self.first && first < self.first {
            // The first payload is not late, whatever numbers were seen without any.
            self.first = first;
            self.payload_end = first;
        }
    }

    /// Counts what the header of `segment` shows.
    #[inline]
    fn note_header(&mut self, segment: &Segment, span: &Span, repeats: bool, options: &TcpOptions) {
        self.syn_packets += u32::from(span.syn);
        self.fin_packets += u32::from(span.fin);
        if segment.window == 0 {
            self.rarely().counts.zero_window_packets += 1;
        }
        self.note_window(segment, repeats);
        if span.syn {
            self.syn_window = self.syn_window.max(segment.window);
            if self.una == UNKNOWN || !self.has(SYN) {
                self.note_syn(options);
            }
        }
    }

    /// Counts the bytes of `segment` that were sent before. A SYN that repeats nothing waits for its answer.
    #[inline]
    fn note_repeats(&mut self, segment: &Segment, span: &Span, added: &Added, is_probe: bool) {
        if added.repeated > 0 {
            let rare = self.rarely();
            rare.counts.retransmitted_packets += 1;
            rare.counts.retransmitted_bytes += added.repeated as u64;
            rare.counts.retransmitted_probes += u32::from(is_probe);
            rare.repeated.add(span.from, span.to);
            if span.syn {
                // RFC 6298 3: it is unknown which of the SYNs is answered.
                self.bits &= !WAITS;
            }
        } else if span.syn && self.una < span.to {
            // If packets were captured in another order, the answer may have come before.
            self.handshake = segment.time;
            self.bits |= if segment.is_timed() { WAITS } else { 0 };
            self.bits |= if segment.has(flag::ACK) { 0 } else { OPENS };
        }
    }

    /// Returns whether all that is repeated is the byte of a probe.
    fn repeats_probe(&self, span: &Span, added: &Added) -> bool {
        let probed = || self.rare.as_ref().and_then(|rare| rare.probed);
        added.repeated == 1 && probed() == Some(span.from)
    }

    /// Takes in the payload of `segment`, whose bytes are counted.
    #[allow(clippy::inline_always)] // most of `data` is constant on the fast path
    #[inline(always)]
    pub(super) fn data(
        &mut self,
        segment: &Segment,
        context: &AckContext,
        data: &Data,
        ended: &mut Ended<'_>,
    ) {
        let payload = i64::from(segment.payload);
        let ahead = self.round_trip_ns();
        let una = self.first_unacknowledged();
        let flight = self.flight(self.payload_end);
        let room = self.room(self.end);
        let Some(sender) = &mut self.sender else {
            return;
        };
        sender.greatest_flight = sender.greatest_flight.max(flight);
        let new = payload - data.repeated.min(payload);
        let released = sender.limits.was_released(segment.time, &sender.rtt);
        let options = u32::from(data.options_bytes);
        if new > 0 {
            let sending = Sending {
                time: segment.time,
                bytes: new as u64,
                length: Length {
                    payload: segment.payload,
                    options,
                    accepted: context.peer_mss.map(u32::from),
                    push: segment.has(flag::PSH),
                },
                late: data.late,
                heard: context.all,
                idle: data.idle || self.una == UNKNOWN,
                room: sender.limits.free(false),
                released,
                waited_ns: sender.limits.since_release(segment.time),
                cut: room == Some(0),
                ahead_ns: ahead,
                behind_ns: context.behind_ns,
            };
            sender.message.send(&sending, ended);
        }
        let mss = sender.message.mss(options).unwrap_or(1460);
        let sent = Sent {
            time: segment.time,
            repeats: data.repeated > 0 && !data.probe,
            idle: data.idle,
            short: sender.message.last_is_short(),
            push: segment.has(flag::PSH),
            room,
            flight,
            payload: segment.payload,
            mss,
            end: self.end,
            una,
        };
        sender.limits.sent(&sent, &sender.rtt);
    }

    /// Counts keep-alives, RFC 9293 3.8.4, and window probes, RFC 9293 3.8.6.1; returns whether this is one. Linux
    /// sends both without a byte, numbered one below what was acknowledged.
    fn probes(&mut self, from: i64, payload: i64, peer_window: Option<u16>) -> bool {
        if self.una == UNKNOWN {
            return false;
        }
        if peer_window == Some(0) {
            // A longer segment was on its way when the window closed.
            let below = from == self.una - 1;
            let beyond = payload == 1 && (from == self.una || from == self.end);
            if below || beyond {
                let rare = self.rarely();
                rare.counts.window_probes += 1;
                rare.probed = beyond.then_some(from);
                if let Some(sender) = &mut self.sender {
                    sender.limits.probed();
                }
            }
            below || beyond
        } else if self.una == self.end && from == self.end - 1 {
            self.rarely().counts.keep_alives += 1;
            true
        } else {
            false
        }
    }

    /// Adds bytes to those seen, RFC 9293 3.4; returns also whether some are new and lie below the highest payload. A
    /// SYN or FIN may lie above that: data that it overtook fills a hole of bytes but not of payload.
    #[inline]
    fn covers(&mut self, from: i64, to: i64, highest_payload: i64) -> (Added, bool) {
        if from >= highest_payload || to <= highest_payload || self.end == highest_payload {
            let added = self.covered.add(from, to);
            return (added, added.late > 0 && from < highest_payload);
        }
        let below = self.covered.add(from, highest_payload);
        let mut added = self.covered.add(highest_payload, to);
        added.repeated += below.repeated;
        added.late += below.late;
        (added, below.late > 0)
    }

    /// Returns whether a SYN numbered `from` begins the numbers of this side: those before it, without a byte, were of
    /// an older connection (RFC 9293 3.5.1), and another SYN-ACK may follow one that was not acknowledged.
    fn opens_anew(&mut self, from: i64) -> bool {
        if self.covered.is_empty() {
            return true;
        }
        let anew = self.una == UNKNOWN && self.end == self.first && self.first != from + 1;
        if anew && let Some(rare) = &mut self.rare {
            rare.repeated = Ranges::default();
        }
        anew
    }

    /// Takes in what the SYN announces, RFC 9293 3.7.1. Of several SYNs before the first acknowledgement, the last one
    /// with an option is valid. Some hosts omit options when they repeat it: the answer shows whether the first ones
    /// were received.
    fn note_syn(&mut self, options: &TcpOptions) {
        self.bits |= SYN;
        if let Some(mss) = options.mss {
            self.mss = mss;
            self.bits |= HAS_MSS;
        }
        if let Some(shift) = options.window_scale {
            self.bits &= !(0xff << SHIFT);
            self.bits |= u32::from(shift) << SHIFT;
            self.bits |= HAS_SHIFT;
        }
        if options.sack_permitted {
            self.bits |= SACK_PERMITTED;
        }
    }
}
