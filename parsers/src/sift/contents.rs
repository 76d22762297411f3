//! The contents of the latest packets. The index, 16 bytes an entry, is separate from the details of each content: it
//! stays in the cache, and most packets, which are no copies, touch only the index.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::seen::{LONGEST_NS, Seen};
use crate::decode::segment::since;

/// Packets that are remembered.
const MOST: usize = 1 << 16;

/// Remembers the latest packets by content, and how often and where each content was recorded.
pub(super) struct Contents {
    /// Places in `seen`.
    places: HashMap<u64, u32, RandomState>,
    seen: Vec<Seen>,
    /// Unused places in `seen`.
    free: Vec<u32>,
    /// Contents in the order in which they were first seen, and when.
    order: VecDeque<(u64, i64)>,
}

impl Contents {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            places: HashMap::with_hasher(hashing.clone()),
            seen: Vec::new(),
            free: Vec::new(),
            order: VecDeque::new(),
        }
    }

    pub(super) fn has(&self, content: u64) -> bool {
        self.places.contains_key(&content)
    }

    pub(super) fn get(&self, content: u64) -> Option<&Seen> {
        let place = self.places.get(&content)?;
        Some(&self.seen[*place as usize])
    }

    pub(super) fn get_mut(&mut self, content: u64) -> Option<&mut Seen> {
        let place = self.places.get(&content)?;
        Some(&mut self.seen[*place as usize])
    }

    /// Remembers a content that is not known yet.
    pub(super) fn insert(&mut self, content: u64, seen: Seen) {
        self.order.push_back((content, seen.time));
        let place = if let Some(place) = self.free.pop() {
            self.seen[place as usize] = seen;
            place
        } else {
            self.seen.push(seen);
            self.seen.len() as u32 - 1
        };
        self.places.insert(content, place);
    }

    /// Returns when each content was first seen and what is known of it, the latest first.
    pub(super) fn latest_first(&self) -> impl Iterator<Item = (i64, Option<&Seen>)> {
        let order = self.order.iter().rev();
        order.map(|&(content, first)| (first, self.get(content)))
    }

    /// Forgets packets that no copy can follow at `time`.
    pub(super) fn forget(&mut self, time: i64) {
        while let Some(&(content, first)) = self.order.front() {
            let old = since(time, first).unsigned_abs() > LONGEST_NS as u64;
            if !old && self.order.len() < MOST {
                return;
            }
            self.order.pop_front();
            let Some(seen) = self.get(content) else {
                continue;
            };
            // A content that was seen again just now stays, at the end of the order.
            let latest = seen.time;
            if since(time, latest).unsigned_abs() <= LONGEST_NS as u64
                && self.order.len() < MOST / 2
            {
                self.order.push_back((content, latest));
            } else {
                self.free.extend(self.places.remove(&content));
            }
        }
    }
}
