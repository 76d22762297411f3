//! Determines the fate of each packet whose sighting leaves the window.

use super::Matcher;
use super::known::Doubt;
use crate::matching::fate::{Evidence, Fate, FateRow};
use crate::matching::fragmented;
use crate::matching::groups::Group;
use crate::matching::matcher::Findings;
use crate::matching::resegmented::Found;
use crate::matching::sighting::Numbers;
use crate::matching::streams::Proof;
use crate::matching::window::{Entry, Side, State};

/// How many sightings before its turn the group of a sighting is prefetched.
const SETTLED_AHEAD: usize = 16;

impl Matcher {
    /// Takes the oldest sighting out of the window, and determines the fate of its packet. `is_early`: others need its
    /// room.
    pub(super) fn settle_first(&mut self, is_early: bool, findings: &mut impl Findings) {
        let Some((place, entry)) = self.window.pop() else {
            return;
        };
        if let Some(later) = self.window.ahead(SETTLED_AHEAD) {
            self.groups.prefetch(later.packet.key);
            self.groups.prefetch_number(later.group);
        }
        if is_early {
            self.crowded = entry.common_time.max(self.crowded);
        }
        let mut group = self.groups.get(entry.group);
        let mut row = begin_row(&entry);
        let has_row = match self.resegmented_numbers(&entry) {
            Some(tcp) => self.settle_bytes(&mut row, place, &entry, tcp, &group),
            None => self.settle_packet(&mut row, place, &entry, &mut group),
        };
        group.live -= 1;
        group.live_sent -= u32::from(entry.side == Side::Sent);
        self.groups.put(entry.group, group);
        if has_row {
            findings.fate(&row);
        }
    }

    /// Completes the row of a packet; returns false if the row is that of its sender's sighting.
    fn settle_packet(
        &mut self,
        row: &mut FateRow,
        place: u64,
        entry: &Entry,
        group: &mut Group,
    ) -> bool {
        match (entry.side, entry.state) {
            (Side::Received, State::Matched { .. }) => return false,
            (Side::Sent, State::Matched { settled, .. }) => {
                // Otherwise equal packets are still waiting, and this match may belong to one of them.
                if group.settled > settled {
                    deliver(row, entry.state);
                }
            }
            (_, State::Copy) => (row.fate, row.evidence) = (Fate::Duplicated, Evidence::Copy),
            (_, State::Waiting) if self.may_be_divided(entry) => {
                row.evidence = Evidence::Merged;
                match entry.side {
                    Side::Sent => group.sent.leave(place, entry.next),
                    Side::Received => group.received.leave(place, entry.next),
                }
            }
            (Side::Sent, State::Waiting) => {
                if !(group.is_ambiguous && group.has_match) {
                    (row.fate, row.evidence) = self.absent(entry, entry.packet.tcp);
                    row.lost_bytes = (row.fate == Fate::Lost).then_some(entry.packet.payload);
                }
                group.sent.leave(place, entry.next);
            }
            (Side::Received, State::Waiting) => {
                (row.fate, row.evidence) = self.unsent(entry, group);
                group.received.leave(place, entry.next);
            }
        }
        true
    }

    /// Returns whether the other capture may have the packet in another form, divided or merged.
    fn may_be_divided(&self, entry: &Entry) -> bool {
        let path = (entry.sender, entry.receiver);
        self.known.divided.contains(&entry.packet.direction)
            || fragmented::may_be_divided(&self.known.fragmented, &entry.packet, path, entry.side)
    }

    /// Completes the row of a segment that was matched by its bytes; returns false if the row is that of its sender's
    /// sighting.
    fn settle_bytes(
        &mut self,
        row: &mut FateRow,
        place: u64,
        entry: &Entry,
        tcp: Numbers,
        group: &Group,
    ) -> bool {
        let found = self
            .resegmented
            .leave(entry.packet.direction, entry.side, place);
        match (entry.side, entry.state, found) {
            (Side::Received, State::Matched { .. }, _) => return false,
            (_, State::Copy, _) => (row.fate, row.evidence) = (Fate::Duplicated, Evidence::Copy),
            (Side::Sent, _, None) => row.evidence = Evidence::Window,
            (_, _, Some(found)) if found.is_ambiguous => row.evidence = Evidence::Alike,
            (Side::Sent, State::Matched { .. }, _) => deliver(row, entry.state),
            (Side::Received, _, Some(found)) if found.is_copy => {
                (row.fate, row.evidence) = (Fate::Duplicated, Evidence::Copy);
            }
            (_, State::Waiting, Some(found)) if found.is_doubtful => {
                row.evidence = Evidence::Merged;
            }
            (Side::Sent, State::Waiting, Some(found)) => {
                self.settle_missing(row, entry, tcp, &found);
            }
            (Side::Received, State::Waiting, _) => {
                (row.fate, row.evidence) = self.unsent(entry, group);
            }
        }
        true
    }

    /// Completes the row of a segment if the receiver's capture lacks bytes of it: it is lost if any of them are.
    fn settle_missing(&self, row: &mut FateRow, entry: &Entry, tcp: Numbers, found: &Found) {
        let mut lost_bytes = 0;
        for &(seq, length) in &found.missing {
            let missing = Numbers { seq, length, ..tcp };
            let (fate, evidence) = self.absent(entry, Some(missing));
            lost_bytes += if fate == Fate::Lost { length } else { 0 };
            if fate == Fate::Lost || lost_bytes == 0 {
                (row.fate, row.evidence) = (fate, evidence);
            }
        }
        row.lost_bytes = (lost_bytes > 0).then_some(lost_bytes);
    }

    /// Returns the fate of a packet that the receiver's capture lacks.
    fn absent(&self, entry: &Entry, tcp: Option<Numbers>) -> (Fate, Evidence) {
        let proof = tcp.map_or(Proof::None, |tcp| self.streams.prove(&entry.packet, tcp));
        let receiver = self.known.coverage.get(usize::from(entry.receiver));
        if self.is_unmatched(entry) {
            return (Fate::Unknown, Evidence::Unmatched);
        }
        match proof {
            Proof::Received if receiver.is_some_and(|there| there.is_out_of_order) => {
                (Fate::Unknown, Evidence::Incomplete)
            }
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

    /// Returns whether the other sighting of a packet may have left the window early.
    fn is_crowded(&self, entry: &Entry) -> bool {
        entry.is_late || self.crowded.saturating_add(self.limits.window_ns) >= entry.common_time
    }

    /// Returns whether no packet of the path was matched, so that a packet in only one capture proves nothing.
    fn is_unmatched(&self, entry: &Entry) -> bool {
        let path = (entry.sender, entry.receiver);
        self.known.doubts.get(&path) == Some(&Doubt::Unmatched)
    }

    /// Returns the fate of a packet that the sender's capture lacks.
    fn unsent(&self, entry: &Entry, group: &Group) -> (Fate, Evidence) {
        let sender = self.known.coverage.get(usize::from(entry.sender));
        if self.is_unmatched(entry) && !group.is_delivered {
            return (Fate::Unknown, Evidence::Unmatched);
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
            Some(there) if there.is_out_of_order => (Fate::Unknown, Evidence::Incomplete),
            _ => (Fate::NotCaptured, Evidence::Arrived),
        }
    }
}

/// Returns a row without a fate.
fn begin_row(entry: &Entry) -> FateRow {
    let here = Some((entry.packet.time, entry.packet.number));
    let is_sent = entry.side == Side::Sent;
    FateRow {
        sender: Some(entry.sender),
        receiver: Some(entry.receiver),
        packet: entry.packet,
        sent: here.filter(|_| is_sent),
        received: here.filter(|_| !is_sent),
        is_retransmission: entry.packet.tcp.filter(|_| is_sent).map(|_| entry.is_again),
        fate: Fate::Unknown,
        evidence: Evidence::Alike,
        lost_bytes: None,
        reordered_by: None,
        has_wrong_time: entry.has_wrong_time,
    }
}

/// Completes the row of a packet that arrived, from the state of its sender's sighting.
fn deliver(row: &mut FateRow, state: State) {
    if let State::Matched {
        time,
        number,
        reordered_by,
        ..
    } = state
    {
        row.received = Some((time, number));
        row.reordered_by = Some(reordered_by);
        (row.fate, row.evidence) = (Fate::Delivered, Evidence::Matched);
    }
}
