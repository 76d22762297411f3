//! Turns the sightings of all points into matches and fates.

mod known;
mod settle;

use std::collections::HashMap;

use foldhash::fast::RandomState;

pub(super) use self::known::{Coverage, Doubt, Known};
use super::fate::FateRow;
use super::groups::{Group, Groups};
use super::reorder::Arrivals;
use super::resegmented::Resegmented;
use super::sighting::{Numbers, Sighting};
use super::streams::Streams;
use super::window::{Entry, NO_PLACE, Side, State, Window};
use crate::common::error::Error;
use crate::common::memory::prefetch;

/// A host reuses an identification only after more packets than this.
const FEWEST_IDENTS: u64 = 1 << 14;

/// Limits of the window in which sightings wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a packet waits for its other sighting.
    pub window_ns: i64,
    /// Most sightings that wait at once.
    pub window_packets: usize,
}

/// When a packet passed a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// In the order of all points.
    pub common_time: i64,
    /// By the point's clock.
    pub time: i64,
}

impl Moment {
    fn new(entry: &Entry) -> Self {
        Self {
            common_time: entry.common_time,
            time: entry.packet.time,
        }
    }
}

/// Receives the results of the matcher.
pub(super) trait Findings {
    /// Fails if matching must stop.
    fn check(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Receives the fate of each packet, once.
    fn fate(&mut self, row: &FateRow);

    /// Receives the moments at which a packet was sent and received.
    fn matched(&mut self, path: (u16, u16), sent: Moment, received: Moment);
}

/// Matches sightings, which come in the order of their common times.
pub(super) struct Matcher {
    limits: Limits,
    pub known: Known,
    window: Window,
    groups: Groups,
    resegmented: Resegmented,
    streams: Streams,
    arrivals: HashMap<(u16, u16), Arrivals, RandomState>,
    /// Common time of the last sighting that left the window early to make room.
    crowded: i64,
    /// Latest common time of all sightings.
    latest: i64,
}

impl Matcher {
    pub(super) fn new(limits: Limits, known: Known) -> Self {
        Self {
            limits,
            known,
            window: Window::default(),
            groups: Groups::default(),
            resegmented: Resegmented::default(),
            streams: Streams::default(),
            arrivals: HashMap::default(),
            crowded: i64::MIN,
            latest: i64::MIN,
        }
    }

    /// Prefetches the index entries for the group and the streams of `packet`, long before its turn.
    pub(super) fn prefetch(&self, packet: &Sighting) {
        self.groups.prefetch(packet.key);
        self.streams.prefetch(packet.direction);
        self.streams.prefetch(packet.opposite());
    }

    /// Prefetches the group and the streams of `packet`, after [`Self::prefetch`].
    pub(super) fn prefetch_found(&self, packet: &Sighting) {
        self.groups.prefetch_group(packet.key);
        self.streams.prefetch_stream(packet.direction);
        self.streams.prefetch_stream(packet.opposite());
    }

    /// Prefetches the sent packet that probably waits for `packet`, after [`Self::prefetch_found`].
    pub(super) fn prefetch_waiting(&self, packet: &Sighting) {
        if let Some(place) = self.groups.guess_sent(packet.key)
            && let Some(entry) = self.window.get(place)
        {
            prefetch(entry);
        }
    }

    /// Takes the next sighting: `side` of the path from `sender` to `receiver`.
    pub(super) fn take(
        &mut self,
        packet: Sighting,
        (common_time, has_wrong_time): (i64, bool),
        (sender, receiver): (u16, u16),
        side: Side,
        findings: &mut impl Findings,
    ) {
        self.expire(common_time, findings);
        self.latest = common_time.max(self.latest);
        let mut entry = Entry {
            packet,
            common_time,
            has_wrong_time,
            is_late: common_time < self.latest.saturating_sub(self.limits.window_ns),
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

    /// Assigns a fate to every remaining sighting.
    pub(super) fn finish(&mut self, findings: &mut impl Findings) {
        while self.window.len() > 0 {
            self.settle_first(false, findings);
        }
    }

    fn expire(&mut self, now: i64, findings: &mut impl Findings) {
        while let Some(first) = self.window.first() {
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
        let arrivals = self.arrivals.entry((entry.sender, entry.receiver));
        let arrivals = arrivals.or_default();
        // A host gives different packets different identifications, RFC 6864 4: this is the same packet, recorded
        // again. Fast senders of datagrams reuse identifications within the window.
        let is_recent = || arrivals.sent_since(group.last_sent) < FEWEST_IDENTS;
        if packet.ident != 0 && group.live_sent > 1 && (packet.tcp.is_some() || is_recent()) {
            entry.state = State::Copy;
            self.window.push(*entry);
            self.groups.put(entry.group, group);
            return;
        }
        entry.order = arrivals.send();
        group.last_sent = entry.order;
        if let Some(tcp) = packet.tcp {
            entry.is_again = self.streams.send(&packet, tcp);
        }
        let place = self.window.push(*entry);
        if let Some(tcp) = self.resegmented_numbers(entry) {
            self.groups.put(entry.group, group);
            self.meet(place, entry, tcp, findings);
            return;
        }
        if let Some(other) = group.received.take(place, &mut self.window) {
            self.pair(place, other, &mut group, findings);
        } else {
            group.sent.push(place, &mut self.window);
            if group.sent.count > 1 {
                group.is_ambiguous = true;
            }
        }
        self.groups.put(entry.group, group);
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
        if let Some(tcp) = self.resegmented_numbers(&entry) {
            self.groups.put(entry.group, group);
            self.meet(place, &entry, tcp, findings);
            return;
        }
        if let Some(other) = group.sent.take(place, &mut self.window) {
            self.pair(other, place, &mut group, findings);
        } else {
            group.received.push(place, &mut self.window);
        }
        self.groups.put(entry.group, group);
    }

    /// Returns the sequence numbers of a segment that is matched by its bytes; none for other packets.
    fn resegmented_numbers(&self, entry: &Entry) -> Option<Numbers> {
        let tcp = entry.packet.tcp.filter(|_| entry.packet.payload > 0)?;
        let path = (entry.sender, entry.receiver);
        let is_one = !self.known.doubts.is_empty()
            && self.known.doubts.get(&path) == Some(&Doubt::Resegmented);
        is_one.then_some(tcp)
    }

    /// Matches a segment at `place` with segments of the other side that carry its bytes.
    fn meet(&mut self, place: u64, entry: &Entry, tcp: Numbers, findings: &mut impl Findings) {
        let path = (entry.sender, entry.receiver);
        for meeting in self.resegmented.take(&entry.packet, tcp, entry.side, place) {
            let Some(&there) = self.window.get(meeting.received) else {
                continue;
            };
            let Some(&here) = self.window.get(meeting.sent) else {
                continue;
            };
            if meeting.is_first_part && !here.has_wrong_time && !there.has_wrong_time {
                findings.matched(path, Moment::new(&here), Moment::new(&there));
            }
            let mut matched = State::Matched {
                time: there.packet.time,
                number: there.packet.number,
                settled: 0,
                reordered_by: 0,
            };
            if meeting.is_received_whole {
                if let Some(there) = self.window.get_mut(meeting.received) {
                    there.state = matched;
                }
                let mut group = self.groups.get(there.group);
                group.is_delivered = true;
                self.groups.put(there.group, group);
            }
            if meeting.is_sent_whole
                && let Some(here) = self.window.get_mut(meeting.sent)
            {
                let arrivals = self.arrivals.entry(path).or_default();
                if let State::Matched { reordered_by, .. } = &mut matched {
                    *reordered_by = arrivals.arrive(here.order);
                }
                here.state = matched;
                here.has_wrong_time |= there.has_wrong_time;
            }
        }
    }

    fn pair(&mut self, sent: u64, received: u64, group: &mut Group, findings: &mut impl Findings) {
        let Some(there) = self.window.get_mut(received) else {
            return;
        };
        let (received, number) = (Moment::new(there), there.packet.number);
        let has_wrong_time = there.has_wrong_time;
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
        let left = Moment::new(here);
        let has_wrong_time = has_wrong_time || here.has_wrong_time;
        let reordered_by = self.arrivals.entry(path).or_default().arrive(here.order);
        here.state = State::Matched {
            time: received.time,
            number,
            settled: group.settled,
            reordered_by,
        };
        here.has_wrong_time = has_wrong_time;
        group.has_match = true;
        group.is_delivered = true;
        if group.sent.count == 0 {
            if !group.is_ambiguous && !has_wrong_time {
                findings.matched(path, left, received);
            }
            group.settled += 1;
            group.is_ambiguous = false;
            group.has_match = false;
        }
    }
}
