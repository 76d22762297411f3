//! Packets that look the same: the sightings of one packet, and of others that cannot be told from it.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::window::{NO_PLACE, Window};

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

    /// Takes `place`, which is the first: the window gives its places back in their order.
    pub(super) fn leave(&mut self, place: u64, window: &mut Window) {
        if self.first == place {
            let next = window.get(place).map_or(NO_PLACE, |entry| entry.next);
            self.remove(NO_PLACE, place, next, window);
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
    pub sent: Waiting,
    pub received: Waiting,
    /// Sightings in the window.
    pub live: u32,
    /// Sightings of the sender's among them.
    pub live_sent: u32,
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
    numbers: HashMap<u64, u32, RandomState>,
    all: Vec<Group>,
    /// Numbers that are free again.
    free: Vec<u32>,
}

impl Groups {
    /// The number of the group of `key`.
    pub(super) fn find(&mut self, key: u64) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.all.push(Group::default());
                self.all.len() as u32 - 1
            })
        })
    }

    pub(super) fn get(&self, number: u32) -> Group {
        self.all.get(number as usize).copied().unwrap_or_default()
    }

    /// Keeps what became of a group; without sightings in the window it is forgotten.
    pub(super) fn put(&mut self, number: u32, key: u64, mut group: Group) {
        if group.live == 0 {
            self.numbers.remove(&key);
            self.free.push(number);
            group = Group::default();
        }
        if let Some(place) = self.all.get_mut(number as usize) {
            *place = group;
        }
    }
}
