//! Packets that look the same: the sightings of one packet, and of others that cannot be told from it.

use super::window::{NO_PLACE, Window};
use crate::common::index::Index;
use crate::common::memory::prefetch;

/// Sightings of one side that wait for the other: the first and the last of a list through the window.
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

    /// Takes the first one that may be the packet at `place`.
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

    /// Takes `place`, which left the window, and with it the list if it waits there: as the first, since the window gives
    /// its places back in their order. `next` waits behind it.
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

/// All sightings in the window that have one key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    key: u64,
    pub sent: Waiting,
    pub received: Waiting,
    /// Sightings in the window.
    pub live: u32,
    /// Sightings of the sender's among them.
    pub live_sent: u32,
    /// The place of the latest of these among the packets that their sender sent to their receiver.
    pub last_sent: u64,
    /// Several of the sender's waited at once, since the last time that none did.
    pub is_ambiguous: bool,
    /// A match was made since then.
    pub has_match: bool,
    /// How often it ended that none waited: matches that were made before are certain.
    pub settled: u32,
    /// One of its packets was delivered.
    pub is_delivered: bool,
}

/// All groups: each sighting in the window knows the number of its own, so that only its arrival looks for the key.
#[derive(Debug, Default)]
pub(super) struct Groups {
    numbers: Index,
    all: Vec<Group>,
    /// Numbers that are free again.
    free: Vec<u32>,
}

impl Groups {
    /// Prefetches what a search for `key` reads first.
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

    /// The place of the sent packet that probably is the one with `key`.
    pub(super) fn guess_sent(&self, key: u64) -> Option<u64> {
        let number = self.numbers.guess(key)?;
        Some(self.all.get(number as usize)?.sent.first)
    }

    /// The number of the group of `key`.
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

    /// Keeps what became of a group; without sightings in the window it is forgotten.
    pub(super) fn put(&mut self, number: u32, group: Group) {
        if group.live == 0 {
            self.numbers.remove(group.key, number);
            self.free.push(number);
        } else {
            self.all[number as usize] = group;
        }
    }
}
