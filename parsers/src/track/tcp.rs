//! TCP segments of one direction, and the other side's acknowledgements of them, to sequence-space counts.
//!
//! Sequence numbers are unwrapped to 64 bits, so that nothing here knows about wrap-around. Every count is
//! about octets seen at the capture point, never about causes: a segment *repeats* an octet or *fills a hole*.

use super::limits::{Sent, Shares};
use super::messages::{Ended, Sending, evidence};
use super::ranges::Ranges;
use super::sender::{DONE, Pending, Rtt, Sender};
use crate::chunk::Segment;
use crate::decode::{Sack, flag};
use crate::memory::prefetch;

/// Segments that wait for their acknowledgement, at most; a capture of one side alone never acknowledges.
const MOST_PENDING: usize = 65_536;
/// The same where no acknowledgement was seen at all.
const MOST_UNANSWERED: usize = 512;
/// Where unwrapped numbers begin: far enough from 0 that going back never reaches it.
const ORIGIN: i64 = 1 << 40;
/// A number that is not known.
const UNKNOWN: i64 = i64::MIN;

/// What one side's acknowledgement says about the packet that carries it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    /// The other side has data outstanding and this acknowledges none of it.
    pub repeats: bool,
    /// It acknowledges all that the other side sent.
    pub all: bool,
    /// Last window the other side advertised.
    pub peer_window: Option<u16>,
    /// What the other side's SYN announced, where it was captured.
    pub peer_syn: Option<SynOptions>,
}

/// What a SYN announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SynOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

/// What only few directions need.
#[derive(Debug, Default)]
struct Rare {
    /// Octets sent more than once and not yet acknowledged.
    repeated: Ranges,
    counts: RareCounts,
}

/// Counts that are 0 in most directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RareCounts {
    pub retransmitted_packets: u32,
    pub retransmitted_bytes: u64,
    pub out_of_order_packets: u32,
    pub keep_alives: u32,
    pub window_probes: u32,
    pub duplicate_acks: u32,
    pub zero_window_packets: u32,
}

/// State and counts of one direction's octets.
#[derive(Debug)]
pub(crate) struct Tcp {
    /// Number behind the highest octet sent, SYN and FIN included; valid once [`STARTED`].
    end: i64,
    /// The same for payload alone.
    payload_end: i64,
    /// Number of the first payload octet that can be: behind the SYN, or the first seen.
    first: i64,
    /// Highest cumulative acknowledgement by the other side, or [`UNKNOWN`].
    una: i64,
    /// Greatest end of the other side's window, or [`UNKNOWN`].
    edge: i64,
    covered: Ranges,
    /// When the SYN was sent while [`WAITS`], then the time to its acknowledgement where [`MEASURED`].
    handshake: i64,
    sender: Option<Box<Sender>>,
    rare: Option<Box<Rare>>,
    pub syn_packets: u32,
    pub fin_packets: u32,
    pub rst_packets: u32,
    /// Windows as in the header: the last, of the SYN, the greatest but for SYNs.
    last_window: u16,
    syn_window: u16,
    greatest_window: u16,
    mss: u16,
    shift: u8,
    bits: u16,
}

/// A packet of this side was seen.
const STARTED: u16 = 1;
/// `last_window` holds.
const WINDOW: u16 = 2;
/// `greatest_window` holds.
const GREATEST: u16 = 4;
/// The SYN was captured: its options hold.
const SYN: u16 = 8;
const HAS_MSS: u16 = 16;
const HAS_SHIFT: u16 = 32;
const SACK_PERMITTED: u16 = 64;
/// The SYN was sent once and is not acknowledged.
const WAITS: u16 = 128;
/// `handshake` is the SYN's round trip time, ...
const MEASURED: u16 = 256;
/// ... and the acknowledgement covers nothing behind the SYN: it is a sample.
const SAMPLE: u16 = 512;

impl Default for Tcp {
    fn default() -> Self {
        Self {
            end: 0,
            payload_end: 0,
            first: 0,
            una: UNKNOWN,
            edge: UNKNOWN,
            covered: Ranges::default(),
            handshake: 0,
            sender: None,
            rare: None,
            syn_packets: 0,
            fin_packets: 0,
            rst_packets: 0,
            last_window: 0,
            syn_window: 0,
            greatest_window: 0,
            mss: 0,
            shift: 0,
            bits: 0,
        }
    }
}

impl Tcp {
    #[inline]
    fn has(&self, bit: u16) -> bool {
        self.bits & bit != 0
    }

    /// Asks for the memory of what is known of a sender.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if let Some(sender) = &self.sender {
            prefetch(&**sender);
        }
    }

    /// What this side's SYN announced, where it was captured.
    #[inline]
    pub(crate) fn syn(&self) -> Option<SynOptions> {
        self.has(SYN).then(|| SynOptions {
            mss: self.has(HAS_MSS).then_some(self.mss),
            window_scale: self.has(HAS_SHIFT).then_some(self.shift),
            sack_permitted: self.has(SACK_PERMITTED),
        })
    }

    /// Counts that are 0 in most directions.
    pub(crate) fn rare(&self) -> RareCounts {
        self.rare
            .as_ref()
            .map_or_else(RareCounts::default, |it| it.counts)
    }

    /// All RTT samples.
    pub(crate) fn rtt(&self) -> Rtt {
        let mut rtt = self.sender.as_ref().map_or_else(Rtt::default, |it| it.rtt);
        if self.has(SAMPLE) {
            rtt.add(self.handshake);
        }
        rtt
    }

    /// From the SYN to its acknowledgement.
    pub(crate) fn handshake_ns(&self) -> Option<i64> {
        self.has(MEASURED).then_some(self.handshake)
    }

    /// What limited this side, summed up.
    pub(crate) fn shares(&self) -> Shares {
        self.sender
            .as_ref()
            .map_or_else(Shares::default, |it| it.limits.shares())
    }

    /// The message that is still being sent when the connection or the capture ends.
    pub(crate) fn unfinished(&mut self, reset: bool) -> Option<Ended> {
        let why = if reset {
            evidence::CLOSE
        } else {
            evidence::OPEN
        };
        self.sender.as_mut()?.message.end(why)
    }

    #[cold]
    fn rarely(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Unwraps a number of this direction to the value nearest to what was seen last.
    fn unwrap(&self, number: u32) -> i64 {
        let reference = if self.has(STARTED) {
            self.end.max(self.una)
        } else if self.una == UNKNOWN {
            return ORIGIN + i64::from(number);
        } else {
            self.una
        };
        reference + i64::from(number.wrapping_sub(reference as u32) as i32)
    }

    /// Takes in `segment` of the other side, which acknowledges octets of this one. `window` is what it
    /// advertises, where that is known.
    #[inline]
    pub(crate) fn acknowledged(
        &mut self,
        segment: &Segment,
        sacks: &[Sack; 4],
        window: Option<i64>,
    ) -> Acknowledged {
        let mut told = Acknowledged {
            repeats: false,
            all: false,
            peer_window: self.has(WINDOW).then_some(self.last_window),
            peer_syn: self.syn(),
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
        if let Some(window) = window {
            self.edge = self.edge.max(ack + window);
        }
        if let Some(sender) = &mut self.sender {
            sender.message.answered |= segment.payload > 0 && told.all;
        }
        if segment.sacks > 0 {
            self.selectively_acknowledged(ack, segment, sacks);
        }
        told
    }

    /// The cumulative acknowledgement moves up to `ack`. It is one sample, of the newest segment it covers:
    /// it was sent because of that one, while older ones waited for it (RFC 9293 3.8.6.3).
    #[inline]
    fn advance(&mut self, ack: i64, time: i64) {
        let una = self.una;
        self.una = ack;
        // Karn: where any of the octets was sent twice, nobody knows which sending is acknowledged.
        let ambiguous = self
            .rare
            .as_mut()
            .is_some_and(|rare| rare.acknowledged(una, ack));
        if self.has(WAITS) {
            self.bits &= !WAITS;
            let rtt = time.saturating_sub(self.handshake);
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
            sender.rtt.add(time.saturating_sub(sent));
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
                sender.rtt.add(segment.time.saturating_sub(sent));
            }
        }
    }

    /// Takes in `segment` of this side. `told` is what the other side's state says about it. The messages that
    /// ended before it and with it.
    #[inline]
    pub(crate) fn sent(&mut self, segment: &Segment, told: Acknowledged) -> [Option<Ended>; 2] {
        let from = self.unwrap(segment.seq);
        let syn = segment.has(flag::SYN);
        if !self.has(STARTED) {
            self.bits |= STARTED;
            self.end = from;
            self.first = from + i64::from(syn);
            self.payload_end = self.first;
        }
        if segment.has(flag::RST) {
            self.rst_packets += 1;
            // Its number need not follow the others, and its payload is a text, if any.
            return [None; 2];
        }
        let fin = segment.has(flag::FIN);
        self.syn_packets += u32::from(syn);
        self.fin_packets += u32::from(fin);
        self.windows(segment, syn, told);

        let payload = i64::from(segment.payload);
        let to = from + payload + i64::from(syn) + i64::from(fin);
        if !syn && !fin && payload <= 1 {
            self.probes(from, payload, told.peer_window);
        }
        if to == from {
            return [None; 2];
        }
        let (highest, highest_payload) = (self.end, self.payload_end);
        let added = self.covered.add(from, to);
        if added.repeated > 0 {
            let rare = self.rarely();
            rare.counts.retransmitted_packets += 1;
            rare.counts.retransmitted_bytes += added.repeated as u64;
            rare.repeated.add(from, to);
            if syn {
                self.bits &= !WAITS;
            }
        } else if syn {
            self.handshake = segment.time;
            self.bits |= WAITS;
        }
        // A FIN may overtake data, which then fills a hole of octets but not of payload.
        if added.late > 0 && payload > 0 && from < highest_payload {
            self.rarely().counts.out_of_order_packets += 1;
        }
        self.end = highest.max(to);
        if payload > 0 {
            self.payload_end = self.payload_end.max(to - i64::from(fin));
        } else if syn {
            return [None; 2];
        }
        let idle = self.una >= highest;
        let sender = self.sender.get_or_insert_default();
        if added.repeated == 0 && from >= highest {
            let most = if self.una == UNKNOWN {
                MOST_UNANSWERED
            } else {
                MOST_PENDING
            };
            if sender.pending.len() < most {
                sender.pending.push_back(Pending {
                    from,
                    to,
                    time: segment.time,
                });
            }
        }
        let mut ended = [None; 2];
        if payload > 0 {
            // Before the first acknowledgement: from the first octet seen.
            let una = if self.una == UNKNOWN {
                self.first
            } else {
                self.una
            };
            let flight = (self.payload_end - una).clamp(0, i64::from(u32::MAX)) as u32;
            sender.greatest_flight = sender.greatest_flight.max(flight);
            let new = payload - added.repeated.min(payload);
            let room = self.edge.saturating_sub(self.end);
            let known = self.edge != UNKNOWN;
            if new > 0 {
                let accepted = told.peer_syn.and_then(|syn| syn.mss);
                let sending = Sending {
                    time: segment.time,
                    bytes: new as u64,
                    payload: segment.payload,
                    accepted: accepted
                        .map(|mss| u32::from(mss).saturating_sub(u32::from(segment.options))),
                    push: segment.has(flag::PSH),
                    late: from < highest_payload,
                    heard: told.all,
                    free: sender.limits.free(),
                    cut: known && room == 0,
                    smoothed_rtt_ns: sender.rtt.smoothed_ns,
                };
                ended[0] = sender.message.send(&sending);
            }
            let mss = sender.message.mss().unwrap_or(1460);
            let sent = Sent {
                time: segment.time,
                repeats: added.repeated > 0,
                idle,
                short: sender.message.last_is_short(),
                full_window: known && room < i64::from(mss),
                flight,
                mss,
                end: self.end,
            };
            sender.limits.sent(&sent, &sender.rtt);
        }
        if fin {
            ended[1] = sender.message.end(evidence::CLOSE);
        }
        ended
    }

    /// Most payload octets sent and not acknowledged; unknown where no acknowledgement was captured.
    pub(crate) fn max_in_flight_bytes(&self) -> Option<i64> {
        let greatest = self.sender.as_ref().map_or(0, |it| it.greatest_flight);
        (self.una != UNKNOWN).then(|| i64::from(greatest))
    }

    /// RFC 9293 3.8.4 and 3.8.6.1; Linux sends both without an octet, one below what was acknowledged.
    fn probes(&mut self, from: i64, payload: i64, peer_window: Option<u16>) {
        if self.una == UNKNOWN {
            return;
        }
        if peer_window == Some(0) {
            // More than one octet was on its way when the window closed.
            let below = from == self.una - 1;
            let beyond = payload == 1 && (from == self.una || from == self.end);
            if below || beyond {
                self.rarely().counts.window_probes += 1;
            }
        } else if self.una == self.end && from == self.end - 1 {
            self.rarely().counts.keep_alives += 1;
        }
    }

    #[inline]
    fn windows(&mut self, segment: &Segment, syn: bool, told: Acknowledged) {
        let window = segment.window;
        if window == 0 {
            self.rarely().counts.zero_window_packets += 1;
        }
        // RFC 5681 2: all five conditions, the last being that the window did not change.
        if told.repeats
            && segment.payload == 0
            && !segment.has(flag::SYN | flag::FIN)
            && self.has(WINDOW)
            && self.last_window == window
        {
            self.rarely().counts.duplicate_acks += 1;
        }
        self.last_window = window;
        self.bits |= WINDOW;
        if syn {
            self.syn_window = self.syn_window.max(window);
            self.note_syn(segment);
        } else {
            self.greatest_window = self.greatest_window.max(window);
            self.bits |= GREATEST;
        }
    }

    fn note_syn(&mut self, segment: &Segment) {
        if self.has(SYN) {
            return;
        }
        self.bits |= SYN;
        if let Some(mss) = segment.mss() {
            self.mss = mss;
            self.bits |= HAS_MSS;
        }
        if let Some(shift) = segment.shift() {
            self.shift = shift;
            self.bits |= HAS_SHIFT;
        }
        if segment.sack_permitted {
            self.bits |= SACK_PERMITTED;
        }
    }

    /// The window `segment` of this side advertises, where its scale is known.
    #[inline]
    pub(crate) fn window_bytes(&self, segment: &Segment, peer: Option<&Self>) -> Option<i64> {
        let window = i64::from(segment.window);
        if segment.has(flag::SYN) || window == 0 {
            return Some(window);
        }
        let peer = peer?;
        if !self.has(SYN) || !peer.has(SYN) {
            return None;
        }
        let both = self.has(HAS_SHIFT) && peer.has(HAS_SHIFT);
        Some(window << if both { self.shift } else { 0 })
    }

    /// The greatest window this side advertised; unknown where a SYN was not captured.
    pub(crate) fn max_window_bytes(&self, peer: Option<&Self>) -> Option<i64> {
        let own = self.syn()?;
        let unscaled = i64::from(self.syn_window);
        if !self.has(GREATEST) {
            return Some(unscaled);
        }
        let shift = scale(own.window_scale, peer?.syn()?.window_scale);
        Some(unscaled.max(i64::from(self.greatest_window) << shift))
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

/// RFC 7323 2.2: scaled only where both SYNs carried the option.
fn scale(own: Option<u8>, peer: Option<u8>) -> u8 {
    own.filter(|_| peer.is_some()).unwrap_or(0)
}
