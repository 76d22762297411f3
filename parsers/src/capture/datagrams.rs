//! Sizes of UDP datagrams: which of them offloading merged, or did not yet divide.
//!
//! A host that sends or receives many datagrams of one size at once hands them to the network, or gets them from it, as
//! one that is so many times as long (UDP GSO and GRO of Linux): no such datagram is ever on the wire. What tells it
//! from a datagram of a network with jumbo frames is the link, where that is known, or else the flow it belongs to.

use std::collections::BTreeMap;

use crate::decode::{Packet, UDP};

/// The longest IP packet of ordinary Ethernet, RFC 894.
const ORDINARY: u32 = 1500;
/// The longest payload of a datagram in it.
const ORDINARY_PAYLOAD: u32 = ORDINARY - 28;
/// Shorter datagrams than this say nothing by what is a multiple of them.
const SHORTEST: u32 = 256;
/// Datagrams that are merged into one at most: Linux takes 64, and 128 where it does not divide them itself.
const MOST_MERGED: u32 = 128;
/// Headers that the MSS leaves out, RFC 9293 3.7.1: IPv6 and TCP.
const HEADERS: u32 = 60;
/// Senders whose sizes are remembered at a time: a bound on memory.
const SENDERS: usize = 128;
/// Sizes of long datagrams that are remembered of each.
const SIZES: usize = 4;

/// Sizes of the datagrams of one interface.
#[derive(Debug, Clone, Default)]
pub(super) struct DatagramSizes {
    /// One direction of one flow each; empty before the first datagram.
    senders: Vec<Sender>,
    /// The longest fragment with another one behind it: such fill the packets of their link.
    longest_fragment: u32,
    /// Long datagrams that were merged as their flow tells.
    merged: i64,
    /// The other ones, by length of the IP packet.
    long: BTreeMap<u32, i64>,
}

/// Sizes that one direction of a flow has sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    flow: u64,
    /// The ordinary payload that more than half of its short datagrams have, if one is that frequent (the vote of Boyer
    /// and Moore), ...
    ordinary: u16,
    /// ... and by how many of them it leads.
    lead: u16,
    /// Payloads of long datagrams, lengths of their IP packets, and how many there were.
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
        // No secret key: a sender that makes flows collide hides only its own merged datagrams.
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

    /// Decides on the long datagrams of a sender, and forgets them.
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

    /// How many datagrams were merged. `mss`: the greatest that a host announced here; 0 where none did.
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

    /// Remembers a long datagram; whether there was room.
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

    /// Whether its long datagrams were merged: one of them is a multiple of its ordinary ones, of which there were at
    /// least two. Of a whole number of them most are; the last one of a batch may be shorter.
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

/// A number for the flow of a packet and its direction.
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

    /// UDP datagrams of these payloads, in one flow.
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
        // More sizes than are remembered.
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
