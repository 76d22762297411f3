//! Sizes of UDP datagrams: which of them offloading merged or has not divided yet.
//!
//! A host that sends or receives many datagrams of one size at once passes them to or from the network as one datagram
//! of their total length (UDP GSO and GRO of Linux), which never appears on the wire. The link, if it is known,
//! distinguishes it from a datagram of a network with jumbo frames; otherwise the other datagrams of its flow do.

use std::collections::BTreeMap;

use crate::decode::{Packet, UDP};

/// The longest IP packet of ordinary Ethernet, RFC 894.
const ORDINARY: u32 = 1500;
/// The longest payload of a datagram in such a packet.
const ORDINARY_PAYLOAD: u32 = ORDINARY - 28;
/// Shorter datagrams are ignored: a multiple of them proves nothing.
const SHORTEST: u32 = 256;
/// Most datagrams merged into one: Linux takes 64, and 128 where it does not divide them itself.
const MOST_MERGED: u32 = 128;
/// Headers that the MSS leaves out, RFC 9293 3.7.1: IPv6 and TCP.
const HEADERS: u32 = 60;
/// Senders whose sizes are remembered at the same time: a bound on memory.
const SENDERS: usize = 128;
/// Sizes of long datagrams that are remembered for each sender.
const SIZES: usize = 4;

/// Sizes of the datagrams of one interface.
#[derive(Debug, Clone, Default)]
pub(super) struct DatagramSizes {
    /// One entry per direction of a flow; empty before the first datagram.
    senders: Vec<Sender>,
    /// The longest fragment that is not the last: such fragments fill the packets of their link.
    longest_fragment: u32,
    /// Long datagrams that are known to be merged from the sizes in their flow.
    merged: i64,
    /// The other long datagrams, by length of the IP packet.
    long: BTreeMap<u32, i64>,
}

/// Sizes that one direction of a flow sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    flow: u64,
    /// The ordinary payload of more than half of the short datagrams, if there is one (Boyer-Moore majority vote), ...
    ordinary: u16,
    /// ... and its lead in that vote.
    lead: u16,
    /// For each size of long datagrams: payload, length of the IP packet, and count.
    long: [(u16, u16, u32); SIZES],
}

impl DatagramSizes {
    /// Counts a UDP datagram, or a fragment of any protocol.
    pub(super) fn count(&mut self, packet: &Packet) {
        if packet.fragment {
            if packet.part.more() {
                self.longest_fragment = self.longest_fragment.max(packet.ip_bytes);
            }
            return;
        }
        if packet.key.protocol != UDP || packet.payload < SHORTEST {
            return;
        }
        if self.senders.is_empty() {
            self.senders = vec![Sender::default(); SENDERS];
        }
        // The key is not secret: a sender that makes flows collide hides only its own merged datagrams.
        let flow = flow(packet);
        let place = (flow >> 32) as usize % SENDERS;
        if self.senders[place].flow != flow {
            self.judge(place);
            self.senders[place] = Sender {
                flow,
                ..Sender::default()
            };
        }
        let sender = &mut self.senders[place];
        if packet.payload <= ORDINARY_PAYLOAD {
            sender.vote(packet.payload as u16);
        } else if !sender.note(packet) {
            self.judge(place);
            self.senders[place].note(packet);
        }
    }

    /// Classifies the long datagrams of a sender and forgets them.
    fn judge(&mut self, place: usize) {
        let sender = &mut self.senders[place];
        let merges = sender.merges();
        for (_, bytes, count) in std::mem::take(&mut sender.long) {
            if count == 0 {
                continue;
            }
            if merges {
                self.merged += i64::from(count);
            } else {
                *self.long.entry(u32::from(bytes)).or_default() += i64::from(count);
            }
        }
    }

    /// Returns how many datagrams were merged. `mss`: the greatest that a host announced here; 0 if none did.
    pub(super) fn merged(&self, mss: u16) -> i64 {
        let mut all = self.clone();
        for place in 0..all.senders.len() {
            all.judge(place);
        }
        // Fragments are multiples of 8 bytes: up to 7 more may fit.
        let bounds = [(mss.into(), HEADERS), (self.longest_fragment, 7)];
        let bounds = bounds.into_iter().filter(|&(bytes, _)| bytes > 0);
        let Some(longest) = bounds.map(|(bytes, more)| bytes + more).max() else {
            return all.merged;
        };
        let beyond = all.long.range(longest.max(ORDINARY) + 1..);
        all.merged + beyond.map(|(_, count)| count).sum::<i64>()
    }
}

impl Sender {
    fn vote(&mut self, payload: u16) {
        if self.ordinary == payload {
            self.lead = self.lead.saturating_add(1);
        } else if self.lead > 0 {
            self.lead -= 1;
        } else {
            (self.ordinary, self.lead) = (payload, 1);
        }
    }

    /// Remembers a long datagram; returns whether there was room.
    fn note(&mut self, packet: &Packet) -> bool {
        let (payload, bytes) = (packet.payload as u16, packet.ip_bytes as u16);
        let place = self
            .long
            .iter_mut()
            .find(|(known, _, count)| *known == payload || *count == 0);
        let Some(place) = place else { return false };
        *place = (payload, bytes, place.2.saturating_add(1));
        true
    }

    /// Returns whether the sender's long datagrams were merged: its ordinary size leads by two or more, and one long
    /// datagram is a multiple of it. Not all need be: the last one of a batch may be shorter.
    fn merges(&self) -> bool {
        let ordinary = u32::from(self.ordinary);
        let is_multiple = |payload: u16| {
            let payload = u32::from(payload);
            payload.is_multiple_of(ordinary) && payload / ordinary <= MOST_MERGED
        };
        let mut long = self.long.iter().filter(|(_, _, count)| *count > 0);
        self.lead >= 2 && long.any(|&(payload, ..)| is_multiple(payload))
    }
}

/// Returns a number for the flow of a packet and its direction.
fn flow(packet: &Packet) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 divided by the golden ratio: spreads neighbours
    let key = &packet.key;
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let ports = u64::from(key.low_port) << 32 | u64::from(key.high_port) << 16;
    let wide = [key.low, key.high].map(|address| address as u64 ^ (address >> 64) as u64);
    let words = [wide[0], wide[1], ports | u64::from(packet.from_high)];
    words.into_iter().fold(1, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts merged datagrams among UDP datagrams of these payloads in one flow.
    fn counted(payloads: &[u32], mss: u16) -> i64 {
        let mut sizes = DatagramSizes::default();
        for &payload in payloads {
            let mut packet = Packet {
                payload,
                ip_bytes: payload + 28,
                ..Packet::default()
            };
            packet.key.protocol = UDP;
            sizes.count(&packet);
        }
        sizes.merged(mss)
    }

    #[test]
    fn multiples_of_what_a_flow_mostly_sends_were_merged() {
        assert_eq!(counted(&[1400, 8400, 1400], 0), 1);
        assert_eq!(counted(&[8400, 1400, 1400], 0), 1);
        // The last of those merged may be shorter.
        assert_eq!(counted(&[1200, 1200, 1200, 4800, 5000], 0), 2);
        // More sizes than the sender remembers.
        let sizes: Vec<u32> = [1200, 1200, 1200]
            .into_iter()
            .chain((2..8).map(|it| it * 1200))
            .collect();
        assert_eq!(counted(&sizes, 0), 6);
    }

    #[test]
    fn long_datagrams_of_a_network_with_jumbo_frames_were_not() {
        assert_eq!(counted(&[8972; 9], 0), 0);
        assert_eq!(counted(&[8972, 8972, 1200, 8972, 8972, 1200, 1200], 0), 0);
        assert_eq!(counted(&[100, 8200, 100, 8000, 100], 0), 0);
        assert_eq!(counted(&[8972; 9], 8960), 0);
    }

    #[test]
    fn what_is_longer_than_the_packets_of_the_link_was() {
        assert_eq!(counted(&[8000, 3000], 1460), 2);
        assert_eq!(counted(&[8000, 3000], 4000), 1);
        assert_eq!(counted(&[1472, 1452], 1360), 0);
    }
}
