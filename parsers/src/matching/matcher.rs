//! Sightings of all points to matches and fates.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::fate::{Evidence, Fate, FateRow};
use super::groups::{Group, Groups};
use super::reorder::Arrivals;
use super::sighting::Sighting;
use super::streams::{Proof, Streams};
use super::window::{Entry, NO_PLACE, Side, State, Window};
use crate::common::error::Error;

/// When one point captured, and how well.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coverage {
    /// Common times of its first and last packet.
    pub first: i64,
    pub last: i64,
    /// Its capture lacks packets.
    pub is_incomplete: bool,
    /// The shortest and the longest that a packet was under way to or from it.
    pub shortest_ns: i64,
    pub longest_ns: i64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            first: i64::MAX,
            last: i64::MIN,
            is_incomplete: false,
            shortest_ns: 0,
            longest_ns: 0,
        }
    }
}

impl Coverage {
    /// Notes a packet.
    pub(super) fn see(&mut self, common_time: i64) {
        self.first = self.first.min(common_time);
        self.last = self.last.max(common_time);
    }

    /// Whether it captured when a packet that was sent at `sent` arrived.
    fn holds_arrival(&self, sent: i64) -> bool {
        sent.saturating_add(self.shortest_ns) >= self.first
            && sent.saturating_add(self.longest_ns) <= self.last
    }

    /// Whether it captured when a packet that arrived at `arrived` was sent.
    fn holds_sending(&self, arrived: i64) -> bool {
        arrived.saturating_sub(self.longest_ns) >= self.first
            && arrived.saturating_sub(self.shortest_ns) <= self.last
    }
}

/// Why a packet of a path need not be lost, or missing from a capture, if it is not matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Segments with payload are other ones in the two captures.
    Merged,
    /// None of the path was matched.
    Unmatched,
}

/// Coverage of each point and doubts about each path, from an earlier reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Of each point, as far as it was read, in this reading or an earlier one.
    pub coverage: Vec<Coverage>,
    pub doubts: HashMap<(u16, u16), Doubt>,
}

/// Bounds of the window in which sightings wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a packet waits for its other sighting.
    pub window_ns: i64,
    /// Most sightings that wait at once.
    pub window_packets: usize,
}

/// Takes what the matcher finds.
pub(super) trait Findings {
    /// Why the matching is to stop.
    fn check(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The fate of a packet, once.
    fn fate(&mut self, row: &FateRow);

    /// A packet was sent and received at these common times.
    fn matched(&mut self, path: (u16, u16), sent: i64, received: i64);
}

/// Matches sightings, which come in the order of their common times.
pub(super) struct Matcher {
    limits: Limits,
    pub known: Known,
    window: Window,
    groups: Groups,
    streams: Streams,
    arrivals: HashMap<(u16, u16), Arrivals, RandomState>,
    /// Common time of the last sighting that left the window to make room.
    crowded: i64,
}

impl Matcher {
    pub(super) fn new(limits: Limits, known: Known) -> Self {
        Self {
            limits,
            known,
            window: Window::default(),
            groups: Groups::default(),
            streams: Streams::default(),
            arrivals: HashMap::default(),
            crowded: i64::MIN,
        }
    }

    /// Takes the next sighting: of `side` of the path from `sender` to `receiver`.
    pub(super) fn take(
        &mut self,
        packet: Sighting,
        common_time: i64,
        (sender, receiver): (u16, u16),
        side: Side,
        findings: &mut impl Findings,
    ) {
        self.expire(common_time, findings);
        let mut entry = Entry {
            packet,
            common_time,
            sender,
            receiver,
            side,
            state: State::Waiting,
            is_again: false,
            order: 0,
            group: 0,
            next: NO_PLACE,
        };
        match side {
            Side::Sent => self.send(&mut entry, findings),
            Side::Received => self.receive(entry, findings),
        }
    }

    /// Gives every sighting left its fate.
    pub(super) fn finish(&mut self, findings: &mut impl Findings) {
        while self.window.len() > 0 {
            self.settle_first(false, findings);
        }
    }

    fn expire(&mut self, now: i64, findings: &mut impl Findings) {
        while let Some((_, first)) = self.window.first() {
            let is_old = first.common_time < now.saturating_sub(self.limits.window_ns);
            let is_full = self.window.len() >= self.limits.window_packets;
            if !is_old && !is_full {
                return;
            }
            self.settle_first(is_full && !is_old, findings);
        }
    }

    fn send(&mut self, entry: &mut Entry, findings: &mut impl Findings) {
        let packet = entry.packet;
        entry.group = self.groups.find(packet.key);
        let mut group = self.groups.get(entry.group);
        group.live += 1;
        group.live_sent += 1;
        // A host gives another packet another identification, RFC 6864 4: this is the same one, recorded again.
        if packet.ident != 0 && group.live_sent > 1 {
            entry.state = State::Copy;
            self.window.push(*entry);
            self.groups.put(entry.group, packet.key, group);
            return;
        }
        if let Some(tcp) = packet.tcp {
            entry.is_again = self.streams.send(&packet, tcp);
        }
        let path = self.arrivals.entry((entry.sender, entry.receiver));
        entry.order = path.or_default().send();
        let place = self.window.push(*entry);
        if let Some(other) = group.received.take(place, &mut self.window) {
            self.pair(place, other, &mut group, findings);
        } else {
            group.sent.push(place, &mut self.window);
            if group.sent.count > 1 {
                group.is_ambiguous = true;
            }
        }
        self.groups.put(entry.group, packet.key, group);
    }

    fn receive(&mut self, mut entry: Entry, findings: &mut impl Findings) {
        let packet = entry.packet;
        if let Some(tcp) = packet.tcp {
            self.streams.receive(&packet, tcp);
        }
        entry.group = self.groups.find(packet.key);
        let mut group = self.groups.get(entry.group);
        group.live += 1;
        let place = self.window.push(entry);
        if let Some(other) = group.sent.take(place, &mut self.window) {
            self.pair(other, place, &mut group, findings);
        } else {
            group.received.push(place, &mut self.window);
        }
        self.groups.put(entry.group, packet.key, group);
    }

    fn pair(&mut self, sent: u64, received: u64, group: &mut Group, findings: &mut impl Findings) {
        let Some(there) = self.window.get_mut(received) else {
            return;
        };
        let (arrived, number, common) = (there.packet.time, there.packet.number, there.common_time);
        there.state = State::Matched {
            time: 0,
            number: 0,
            settled: 0,
            reordered_by: 0,
        };
        let Some(here) = self.window.get_mut(sent) else {
            return;
        };
        let path = (here.sender, here.receiver);
        let left = here.common_time;
        let reordered_by = self.arrivals.entry(path).or_default().arrive(here.order);
        here.state = State::Matched {
            time: arrived,
            number,
            settled: group.settled,
            reordered_by,
        };
        group.has_match = true;
        group.is_delivered = true;
        if group.sent.count == 0 {
            if !group.is_ambiguous {
                findings.matched(path, left, common);
            }
            group.settled += 1;
            group.is_ambiguous = false;
            group.has_match = false;
        }
    }

    /// Takes the oldest sighting out of the window, and says what became of its packet. `is_early`: others need its room.
    fn settle_first(&mut self, is_early: bool, findings: &mut impl Findings) {
        let Some((place, entry)) = self.window.first() else {
            return;
        };
        if is_early {
            self.crowded = entry.common_time.max(self.crowded);
        }
        let mut group = self.groups.get(entry.group);
        let here = (entry.packet.time, entry.packet.number);
        let mut row = FateRow {
            sender: Some(entry.sender),
            receiver: Some(entry.receiver),
            packet: entry.packet,
            sent: (entry.side == Side::Sent).then_some(here),
            received: (entry.side == Side::Received).then_some(here),
            is_retransmission: None,
            fate: Fate::Unknown,
            evidence: Evidence::Alike,
            reordered_by: None,
        };
        if entry.side == Side::Sent {
            row.is_retransmission = entry.packet.tcp.map(|_| entry.is_again);
        }
        let mut is_told = true;
        match (entry.side, entry.state) {
            (Side::Received, State::Matched { .. }) => is_told = false,
            (
                Side::Sent,
                State::Matched {
                    time,
                    number,
                    settled,
                    reordered_by,
                },
            ) => {
                // Else packets alike still wait, of which this match may be another one's.
                if group.settled > settled {
                    row.received = Some((time, number));
                    row.reordered_by = Some(reordered_by);
                    (row.fate, row.evidence) = (Fate::Delivered, Evidence::Matched);
                }
            }
            (_, State::Copy) => (row.fate, row.evidence) = (Fate::Duplicated, Evidence::Copy),
            (Side::Sent, State::Waiting) => {
                let is_alike = group.is_ambiguous && group.has_match;
                (row.fate, row.evidence) = self.absent(&entry, is_alike);
                group.sent.leave(place, &mut self.window);
            }
            (Side::Received, State::Waiting) => {
                (row.fate, row.evidence) = self.unsent(&entry, &group);
                group.received.leave(place, &mut self.window);
            }
        }
        self.window.pop();
        group.live -= 1;
        group.live_sent -= u32::from(entry.side == Side::Sent);
        self.groups.put(entry.group, entry.packet.key, group);
        if is_told {
            findings.fate(&row);
        }
    }

    /// The fate of a packet that the receiver's capture lacks.
    fn absent(&self, entry: &Entry, is_alike: bool) -> (Fate, Evidence) {
        let tcp = entry.packet.tcp;
        let proof = tcp.map_or(Proof::None, |tcp| self.streams.prove(&entry.packet, tcp));
        let receiver = self.known.coverage.get(usize::from(entry.receiver));
        let doubt = self.doubt(entry);
        if let Some(evidence) = is_alike.then_some(Evidence::Alike).or(doubt) {
            return (Fate::Unknown, evidence);
        }
        match proof {
            Proof::Received => (Fate::NotCaptured, Evidence::Acknowledged),
            Proof::ReceivedOnce => (Fate::Unknown, Evidence::Acknowledged),
            Proof::Lost => (Fate::Lost, Evidence::Reported),
            Proof::None if self.is_crowded(entry) => (Fate::Unknown, Evidence::Window),
            Proof::None => match receiver {
                Some(there) if !there.holds_arrival(entry.common_time) => {
                    (Fate::Unknown, Evidence::Edge)
                }
                Some(there) if there.is_incomplete => (Fate::Unknown, Evidence::Incomplete),
                _ => (Fate::Lost, Evidence::Absent),
            },
        }
    }

    /// Whether the other sighting of a packet may have left the window before its time.
    fn is_crowded(&self, entry: &Entry) -> bool {
        self.crowded.saturating_add(self.limits.window_ns) >= entry.common_time
    }

    /// Why nothing is said of a packet because it is in one capture alone.
    fn doubt(&self, entry: &Entry) -> Option<Evidence> {
        match self.known.doubts.get(&(entry.sender, entry.receiver))? {
            Doubt::Unmatched => Some(Evidence::Unmatched),
            Doubt::Merged => entry.packet.is_data().then_some(Evidence::Merged),
        }
    }

    /// The fate of a packet that the sender's capture lacks.
    fn unsent(&self, entry: &Entry, group: &Group) -> (Fate, Evidence) {
        let sender = self.known.coverage.get(usize::from(entry.sender));
        if let (Some(evidence), false) = (self.doubt(entry), group.is_delivered) {
            return (Fate::Unknown, evidence);
        }
        match sender {
            _ if group.is_delivered && entry.packet.ident != 0 => {
                (Fate::Duplicated, Evidence::Copy)
            }
            _ if group.is_delivered => (Fate::Unknown, Evidence::Alike),
            _ if self.is_crowded(entry) => (Fate::Unknown, Evidence::Window),
            Some(there) if !there.holds_sending(entry.common_time) => {
                (Fate::Unknown, Evidence::Edge)
            }
            _ => (Fate::NotCaptured, Evidence::Arrived),
        }
    }
}
