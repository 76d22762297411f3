//! Packets that look the same: the sightings of one packet, and of others that cannot be distinguished from it.

use super::window::{NO_PLACE, Window};
use crate::common::index::Index;
use crate::common::memory::prefetch;

/// Sightings of one side that wait for the other side: the ends of a list linked through the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    first: u64,
    last: u64,
    pub count: u32,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            first: NO_PLACE,
            last: NO_PLACE,
            count: 0,
        }
    }
}

impl Waiting {
    /// Adds the sighting at `place`.
    pub(super) fn push(&mut self, place: u64, window: &mut Window) {
        if self.count == 0 {
            self.first = place;
        } else if let Some(last) = window.get_mut(self.last) {
            last.next = place;
        }
        self.last = place;
        self.count += 1;
    }

    /// Takes the first sighting that may be of the packet at `place`.
    pub(super) fn take(&mut self, place: u64, window: &mut Window) -> Option<u64> {
        let wanted = window.get(place)?.packet;
        let (mut before, mut at) = (NO_PLACE, self.first);
        for _ in 0..self.count {
            let entry = window.get(at)?;
            let next = entry.next;
            if entry.packet.may_be(&wanted) {
                self.remove(before, at, next, window);
                return Some(at);
            }
            (before, at) = (at, next);
        }
        None
    }

    /// Removes `place`, which left the window, from the list if it waits there. It is then the first, because the
    /// window is emptied in order. `next` is the sighting after it.
    pub(super) fn leave(&mut self, place: u64, next: u64) {
        if self.first == place {
            self.first = next;
            if self.last == place {
                self.last = NO_PLACE;
            }
            self.count -= 1;
        }
    }

    fn remove(&mut self, before: u64, at: u64, next: u64, window: &mut Window) {
        if before == NO_PLACE {
            self.first = next;
        } else if let Some(entry) = window.get_mut(before) {
            entry.next = next;
        }
        if self.last == at {
            self.last = before;
        }
        if let Some(entry) = window.get_mut(at) {
            entry.next = NO_PLACE;
        }
        self.count -= 1;
    }
}

/// All sightings in the window with the same key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    key: u64,
    pub sent: Waiting,
    pub received: Waiting,
    /// Number of sightings in the window.
    pub live: u32,
    /// Number of these in the sender's capture.
    pub live_sent: u32,
    /// The latest of these: its place among the packets from its sender to its receiver.
    pub last_sent: u64,
    /// Whether several sent packets have waited at once since the last time that none waited.
    pub is_ambiguous: bool,
    /// Whether a match was made since that time.
    pub has_match: bool,
    /// How often the number of waiting sent packets fell to 0: earlier matches are certain.
    pub settled: u32,
    /// Whether one of its packets was delivered.
    pub is_delivered: bool,
}

/// All groups. Each sighting in the window stores the number of its group, so that the key is looked up only on
/// arrival.
#[derive(Debug, Default)]
pub(super) struct Groups {
    numbers: Index,
    all: Vec<Group>,
    /// Numbers that can be reused.
    free: Vec<u32>,
}

impl Groups {
    /// Prefetches the first slot of a search for `key`.
    pub(super) fn prefetch(&self, key: u64) {
        self.numbers.prefetch(key);
    }

    /// Prefetches the group that probably has `key`.
    pub(super) fn prefetch_group(&self, key: u64) {
        if let Some(number) = self.numbers.guess(key) {
            self.prefetch_number(number);
        }
    }

    /// Prefetches a group.
    pub(super) fn prefetch_number(&self, number: u32) {
        if let Some(group) = self.all.get(number as usize) {
            prefetch(group);
        }
    }

    /// Returns the place of the sent packet that probably has `key`.
    pub(super) fn guess_sent(&self, key: u64) -> Option<u64> {
        let number = self.numbers.guess(key)?;
        Some(self.all.get(number as usize)?.sent.first)
    }

    /// Returns the number of the group of `key`; adds the group if it is new.
    pub(super) fn find(&mut self, key: u64) -> u32 {
        let is_same = |number: u32| self.all[number as usize].key == key;
        if let Some(number) = self.numbers.find(key, is_same) {
            return number;
        }
        let group = Group {
            key,
            ..Group::default()
        };
        let number = if let Some(number) = self.free.pop() {
            self.all[number as usize] = group;
            number
        } else {
            self.all.push(group);
            self.all.len() as u32 - 1
        };
        self.numbers.insert(key, number);
        number
    }

    pub(super) fn get(&self, number: u32) -> Group {
        self.all[number as usize]
    }

    /// Stores the state of a group; removes it if it has no sightings in the window.
    pub(super) fn put(&mut self, number: u32, group: Group) {
        if group.live == 0 {
            self.numbers.remove(group.key, number);
            self.free.push(number);
        } else {
            self.all[number as usize] = group;
        }
    }
}
