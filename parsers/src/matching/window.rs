//! The sightings of the last seconds at all points, in the order in which they were read.

use std::collections::VecDeque;

use super::sighting::Sighting;

/// Marks that there is no place.
pub(super) const NO_PLACE: u64 = u64::MAX;

/// The side of its path on which a sighting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sent,
    Received,
}

/// What is known about a sighting so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It waits for the other side.
    Waiting,
    /// Matched. The sender's sighting has the time and number in the receiver's capture, the group's count of settlings
    /// at that time, and how many packets overtook it.
    Matched {
        time: i64,
        number: u64,
        settled: u32,
        reordered_by: u64,
    },
    /// The packet is in the sender's capture once more.
    Copy,
}

/// A sighting in the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub packet: Sighting,
    /// Its time by the clock of the first point, as far as the offset is known.
    pub common_time: i64,
    /// `common_time` is that of a neighbouring packet, because its own time is wrong.
    pub has_wrong_time: bool,
    /// Sightings of its time had already left the window when it came.
    pub is_late: bool,
    pub sender: u16,
    pub receiver: u16,
    pub side: Side,
    pub state: State,
    /// Some of its sequence numbers were sent before.
    pub is_again: bool,
    /// Its place among the packets that its sender sent to its receiver.
    pub order: u64,
    /// Number of its group.
    pub group: u32,
    /// The next sighting in the same list.
    pub next: u64,
}

/// Sightings by place. Places count up from 0 and are never reused.
#[derive(Debug, Default)]
pub(super) struct Window {
    entries: VecDeque<Entry>,
    /// Place of the first sighting.
    base: u64,
}

impl Window {
    pub(super) fn push(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        self.base + self.entries.len() as u64 - 1
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the oldest sighting.
    pub(super) fn first(&self) -> Option<&Entry> {
        self.entries.front()
    }

    /// Returns the sighting that will be the oldest after `count` are taken out.
    pub(super) fn ahead(&self, count: usize) -> Option<&Entry> {
        self.entries.get(count)
    }

    /// Takes out the oldest sighting; also returns its place.
    pub(super) fn pop(&mut self) -> Option<(u64, Entry)> {
        let entry = self.entries.pop_front()?;
        self.base += 1;
        Some((self.base - 1, entry))
    }

    pub(super) fn get(&self, place: u64) -> Option<&Entry> {
        self.entries.get(place.checked_sub(self.base)? as usize)
    }

    pub(super) fn get_mut(&mut self, place: u64) -> Option<&mut Entry> {
        self.entries.get_mut(place.checked_sub(self.base)? as usize)
    }
}
