//! TCP segments of one direction, and the other side's acknowledgements of them, to sequence-space counts.
//!
//! Sequence numbers are unwrapped to 64 bits, so that nothing here knows about wrap-around. Every count is
//! about octets seen at the capture point, never about causes: a segment *repeats* an octet or *fills a hole*.

use std::collections::VecDeque;

use super::ranges::Ranges;
use crate::decode::{Packet, flag};

/// Segments that wait for their acknowledgement, at most; a capture of one side alone never acknowledges.
const MOST_PENDING: usize = 65_536;
/// The same where no acknowledgement was seen at all.
const MOST_UNANSWERED: usize = 512;
/// Where unwrapped numbers begin: far enough from 0 that going back never reaches it.
const ORIGIN: i64 = 1 << 40;

/// A segment sent once and not yet acknowledged.
#[derive(Debug, Clone, Copy)]
struct Pending {
    from: i64,
    to: i64,
    /// When it was sent; [`DONE`] once SACK covered it.
    time: i64,
}

const DONE: i64 = i64::MIN;

/// What one side's acknowledgement says about the packet that carries it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    /// The other side has data outstanding and this acknowledges none of it.
    pub repeats: bool,
    /// Last window the other side advertised.
    pub peer_window: Option<u16>,
    /// What the other side's SYN announced, where it was captured.
    pub peer_syn: Option<SynOptions>,
}

/// RTT samples of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rtt {
    pub samples: u32,
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
    /// The sample of the SYN.
    pub handshake_ns: Option<i64>,
}

impl Rtt {
    fn add(&mut self, ns: i64) {
        // A clock that stepped back measures nothing.
        if ns < 0 {
            return;
        }
        self.min_ns = if self.samples == 0 {
            ns
        } else {
            self.min_ns.min(ns)
        };
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.samples += 1;
    }
}

/// State and counts of one direction's octets.
#[derive(Debug, Default)]
pub(crate) struct TcpDirection {
    /// Initial sequence number, or the number before the first octet seen.
    base: Option<u32>,
    /// Number behind the highest octet sent, SYN and FIN included; valid with `base`.
    end: i64,
    /// The same for payload alone.
    payload_end: i64,
    /// Number of the first payload octet that can be: behind the SYN, or the first seen.
    first: i64,
    /// Highest cumulative acknowledgement by the other side.
    una: Option<i64>,
    covered: Ranges,
    /// Octets sent more than once and not yet acknowledged.
    repeated: Ranges,
    pending: VecDeque<Pending>,
    /// When the SYN was sent, until it is acknowledged or repeated.
    syn_time: Option<i64>,
    /// Windows as in the header: the last, of the SYN, the greatest but for SYNs.
    last_window: Option<u16>,
    syn_window: u16,
    greatest_window: Option<u16>,
    /// Options of the SYN, where it was captured.
    pub syn: Option<SynOptions>,
    pub syn_packets: u32,
    pub fin_packets: u32,
    pub rst_packets: u32,
    pub retransmitted_packets: u32,
    pub retransmitted_bytes: u64,
    pub out_of_order_packets: u32,
    pub keep_alives: u32,
    pub window_probes: u32,
    pub duplicate_acks: u32,
    pub zero_window_packets: u32,
    greatest_flight: u32,
    pub rtt: Rtt,
}

/// What a SYN announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SynOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

impl TcpDirection {
    /// Whether a SYN with number `seq` belongs to another connection than the packets so far.
    pub(crate) fn other_connection(&self, seq: u32) -> bool {
        self.base.is_some_and(|base| base != seq)
    }

    /// Unwraps a number of this direction to the value nearest to what was seen last.
    fn unwrap(&self, number: u32) -> i64 {
        let reference = match (self.base, self.una) {
            (Some(_), Some(una)) => self.end.max(una),
            (Some(_), None) => self.end,
            (None, Some(una)) => una,
            (None, None) => return ORIGIN + i64::from(number),
        };
        reference + i64::from(number.wrapping_sub(reference as u32) as i32)
    }

    /// Takes in `packet` of the other side, which acknowledges octets of this one.
    pub(crate) fn acknowledged(&mut self, packet: &Packet) -> Acknowledged {
        let mut told = Acknowledged {
            repeats: false,
            peer_window: self.last_window,
            peer_syn: self.syn,
        };
        if packet.tcp_flags & flag::ACK == 0 {
            return told;
        }
        let ack = self.unwrap(packet.ack);
        // A RST may carry any number: it is believed where it answers the last octet, as to a SYN.
        if packet.tcp_flags & flag::RST != 0 && (self.base.is_none() || ack != self.end) {
            return told;
        }
        match self.una {
            Some(una) if ack < una => return told,
            Some(una) if ack == una => told.repeats = self.base.is_some() && self.end > una,
            _ => self.advance(ack, packet.time),
        }
        if packet.options.sack_count > 0 {
            self.selectively_acknowledged(ack, packet);
        }
        told
    }

    /// The cumulative acknowledgement moves up to `ack`. It is one sample, of the newest segment it covers:
    /// it was sent because of that one, while older ones waited for it (RFC 9293 3.8.6.3).
    fn advance(&mut self, ack: i64, time: i64) {
        let una = self.una.unwrap_or(i64::MIN);
        self.una = Some(ack);
        // Karn: where any of the octets was sent twice, nobody knows which sending is acknowledged.
        let ambiguous = !self.repeated.is_empty() && self.repeated.touches(una, ack);
        let mut newest = None;
        if let Some(sent) = self.syn_time.take() {
            if !ambiguous && time >= sent {
                self.rtt.handshake_ns = Some(time - sent);
            }
            newest = Some((self.first, sent));
        }
        while let Some(first) = self.pending.front() {
            if first.to > ack {
                break;
            }
            newest = Some((first.to, first.time));
            self.pending.pop_front();
        }
        // An acknowledgement of octets that were not captured measures nothing that was.
        if let Some((_, sent)) =
            newest.filter(|&(to, sent)| to == ack && sent != DONE && !ambiguous)
        {
            self.rtt.add(time.saturating_sub(sent));
        }
        if !self.repeated.is_empty() {
            self.repeated.forget_below(ack);
        }
    }

    /// Segments above a hole are acknowledged by SACK; the cumulative acknowledgement that follows when the
    /// hole is filled would measure the recovery.
    fn selectively_acknowledged(&mut self, una: i64, packet: &Packet) {
        let count = usize::from(packet.options.sack_count);
        for &(left, right) in packet.options.sacks.iter().take(count) {
            let (left, right) = (self.unwrap(left), self.unwrap(right));
            // Below the cumulative acknowledgement a block reports a duplicate (RFC 2883).
            if left < una || right <= left || right > self.end {
                continue;
            }
            let ambiguous = !self.repeated.is_empty() && self.repeated.touches(left, right);
            let behind = self.pending.partition_point(|segment| segment.to <= right);
            let mut newest = None;
            for index in (0..behind).rev() {
                let segment = &mut self.pending[index];
                // What an earlier block covered is done, and so is everything before it in this block.
                if segment.from < left || segment.time == DONE {
                    break;
                }
                let sent = std::mem::replace(&mut segment.time, DONE);
                newest.get_or_insert((segment.to, sent));
            }
            if let Some((_, sent)) = newest.filter(|&(to, _)| to == right && !ambiguous) {
                self.rtt.add(packet.time.saturating_sub(sent));
            }
        }
    }

    /// Takes in `packet` of this side. `told` is what the other side's state says about it.
    pub(crate) fn sent(&mut self, packet: &Packet, told: Acknowledged) {
        let flags = packet.tcp_flags;
        let from = self.unwrap(packet.seq);
        let syn = flags & flag::SYN != 0;
        if self.base.is_none() {
            self.base = Some(if syn {
                packet.seq
            } else {
                packet.seq.wrapping_sub(1)
            });
            self.end = from;
            self.first = from + i64::from(syn);
            self.payload_end = self.first;
        }
        if flags & flag::RST != 0 {
            self.rst_packets += 1;
            // Its number need not follow the others, and its payload is a text, if any.
            return;
        }
        let fin = flags & flag::FIN != 0;
        self.syn_packets += u32::from(syn);
        self.fin_packets += u32::from(fin);
        self.windows(packet, syn, told);

        let payload = i64::from(packet.payload);
        let to = from + payload + i64::from(syn) + i64::from(fin);
        if !syn && !fin {
            self.probes(from, payload, told.peer_window);
        }
        if to == from {
            return;
        }
        let (highest, highest_payload) = (self.end, self.payload_end);
        let added = self.covered.add(from, to);
        if added.repeated > 0 {
            self.retransmitted_packets += 1;
            self.retransmitted_bytes += added.repeated as u64;
            self.repeated.add(from, to);
            if syn {
                self.syn_time = None;
            }
        } else if syn {
            self.syn_time = Some(packet.time);
        }
        // A FIN may overtake data, which then fills a hole of octets but not of payload.
        if added.late > 0 && payload > 0 && from < highest_payload {
            self.out_of_order_packets += 1;
        }
        self.end = highest.max(to);
        if payload > 0 {
            self.payload_end = self.payload_end.max(to - i64::from(fin));
        }
        if added.repeated == 0 && from >= highest && !(syn && payload == 0) {
            self.wait(Pending {
                from,
                to,
                time: packet.time,
            });
        }
        if payload > 0 {
            // Before the first acknowledgement: from the first octet seen.
            let una = self.una.unwrap_or(self.first);
            let flight = (self.payload_end - una).clamp(0, i64::from(u32::MAX)) as u32;
            self.greatest_flight = self.greatest_flight.max(flight);
        }
    }

    /// Most payload octets sent and not acknowledged; unknown where no acknowledgement was captured.
    pub(crate) fn max_in_flight_bytes(&self) -> Option<i64> {
        self.una.map(|_| i64::from(self.greatest_flight))
    }

    fn wait(&mut self, segment: Pending) {
        let most = if self.una.is_some() {
            MOST_PENDING
        } else {
            MOST_UNANSWERED
        };
        if self.pending.len() < most {
            self.pending.push_back(segment);
        }
    }

    /// RFC 9293 3.8.4 and 3.8.6.1; Linux sends both without an octet, one below what was acknowledged.
    fn probes(&mut self, from: i64, payload: i64, peer_window: Option<u16>) {
        let Some(una) = self.una else { return };
        if peer_window == Some(0) {
            // More than one octet was on its way when the window closed.
            let below = from == una - 1 && payload <= 1;
            let beyond = payload == 1 && (from == una || from == self.end);
            self.window_probes += u32::from(below || beyond);
        } else if payload <= 1 && una == self.end && from == self.end - 1 {
            self.keep_alives += 1;
        }
    }

    fn windows(&mut self, packet: &Packet, syn: bool, told: Acknowledged) {
        let window = packet.window;
        self.zero_window_packets += u32::from(window == 0);
        // RFC 5681 2: all five conditions, the last being that the window did not change.
        if told.repeats
            && packet.payload == 0
            && packet.tcp_flags & (flag::SYN | flag::FIN) == 0
            && self.last_window == Some(window)
        {
            self.duplicate_acks += 1;
        }
        self.last_window = Some(window);
        if syn {
            self.syn_window = self.syn_window.max(window);
            self.syn.get_or_insert(SynOptions {
                mss: packet.options.mss,
                window_scale: packet.options.window_scale,
                sack_permitted: packet.options.sack_permitted,
            });
        } else {
            self.greatest_window = self.greatest_window.max(Some(window));
        }
    }

    /// The window `packet` of this side advertises, where its scale is known.
    pub(crate) fn window_bytes(&self, packet: &Packet, told: Acknowledged) -> Option<i64> {
        if packet.tcp_flags & flag::SYN != 0 || packet.window == 0 {
            return Some(i64::from(packet.window));
        }
        let shift = scale(self.syn?.window_scale, told.peer_syn?.window_scale);
        Some(i64::from(packet.window) << shift)
    }

    /// The greatest window this side advertised; unknown where a SYN was not captured.
    pub(crate) fn max_window_bytes(&self, peer: Option<&Self>) -> Option<i64> {
        let own = self.syn?;
        let unscaled = i64::from(self.syn_window);
        let Some(greatest) = self.greatest_window else {
            return Some(unscaled);
        };
        let shift = scale(own.window_scale, peer?.syn?.window_scale);
        Some(unscaled.max(i64::from(greatest) << shift))
    }
}

/// RFC 7323 2.2: scaled only where both SYNs carried the option.
fn scale(own: Option<u8>, peer: Option<u8>) -> u8 {
    own.filter(|_| peer.is_some()).unwrap_or(0)
}
