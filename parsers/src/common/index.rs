//! Maps keys to numbers: an open-addressing table whose memory can be prefetched.

use crate::common::memory::{note_short, prefetch, use_large_pages};

const EMPTY: u64 = u64::MAX;

/// A slot contains the upper 32 bits of a hash and a number of 32 bits. The first bits of the hash choose the slot, so
/// that a larger table can be built from the slots alone.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Vec<u64>,
    used: usize,
    /// What to shift a hash by, so that only its uppermost bits remain: they choose the slot.
    shift: u32,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            slots: vec![EMPTY; 1024],
            used: 0,
            shift: 64 - 10,
        }
    }
}

impl Index {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn start(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    #[inline]
    fn slot(hash: u64, number: u32) -> u64 {
        hash >> 32 << 32 | u64::from(number)
    }

    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(slot) = self.slots.get(self.start(hash)) {
            prefetch(slot);
        }
    }

    /// Returns the first number with this part of `hash`, for prefetching: it is almost always the right one.
    #[inline]
    pub(crate) fn guess(&self, hash: u64) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// Returns the number with `hash` for which `same` is true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.start(hash);
        loop {
            let slot = self.slots[at & mask];
            if slot == EMPTY {
                return None;
            }
            if (slot ^ hash) >> 32 == 0 && same(slot as u32) {
                return Some(slot as u32);
            }
            at += 1;
        }
    }

    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        // At most five eighths of the slots are used: searches stay short.
        if (self.used + 1) * 8 > self.slots.len() * 5 && !self.grow() {
            // The work ends at the next check of the memory taken.
            note_short();
            return;
        }
        self.put(Self::slot(hash, number));
        self.used += 1;
    }

    /// Returns the bytes that the table takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<u64>()) as u64
    }

    /// Returns the bytes of the larger table that `more` entries need.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        let mut slots = self.slots.len();
        while (self.used + more) * 8 > slots * 5 {
            slots *= 2;
        }
        if slots == self.slots.len() {
            0
        } else {
            (slots * size_of::<u64>()) as u64
        }
    }

    /// Replaces `old` by `new`, which has the same key.
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        let mask = self.slots.len() - 1;
        let wanted = Self::slot(hash, old);
        let mut at = self.start(hash);
        while self.slots[at & mask] != EMPTY {
            if self.slots[at & mask] == wanted {
                self.slots[at & mask] = Self::slot(hash, new);
                return;
            }
            at += 1;
        }
    }

    /// Removes the entry of `number`, if there is one.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let wanted = Self::slot(hash, number);
        let mut hole = self.start(hash);
        while self.slots[hole & mask] != wanted {
            if self.slots[hole & mask] == EMPTY {
                return;
            }
            hole += 1;
        }
        // Later entries move up, but none to before the slot where its search starts.
        let mut at = hole + 1;
        while self.slots[at & mask] != EMPTY {
            let slot = self.slots[at & mask];
            let displacement = (at & mask).wrapping_sub(self.start(slot)) & mask;
            if displacement >= at - hole {
                self.slots[hole & mask] = slot;
                hole = at;
            }
            at += 1;
        }
        self.slots[hole & mask] = EMPTY;
        self.used -= 1;
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = self.start(slot);
        while self.slots[at & mask] != EMPTY {
            at += 1;
        }
        self.slots[at & mask] = slot;
    }

    /// Doubles the table; returns whether there was memory for it.
    fn grow(&mut self) -> bool {
        let length = self.slots.len() * 2;
        let mut larger = Vec::new();
        if larger.try_reserve_exact(length).is_err() {
            return false;
        }
        use_large_pages(&larger);
        larger.resize(length, EMPTY);
        let old = std::mem::replace(&mut self.slots, larger);
        self.shift -= 1;
        // The slots are nearly in order: both tables are traversed from one end to the other.
        let used = old.into_iter().filter(|&slot| slot != EMPTY);
        used.for_each(|slot| self.put(slot));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_number_is_found_while_the_table_grows(
            // Many hashes choose the same slot, also the last ones of the table; some hashes are equal.
            hashes in prop::collection::vec((0..40_u64, any::<bool>(), 0..3_u64), 1..3000),
            replaced in any::<prop::sample::Index>(),
        ) {
            let hash = |(upper, last, lower): (u64, bool, u64)| {
                let upper = if last { u64::from(u32::MAX) - upper } else { upper << 20 };
                upper << 32 | lower
            };
            let hashes: Vec<u64> = hashes.into_iter().map(hash).collect();
            let mut index = Index::new();
            for (number, &hash) in (0..).zip(&hashes) {
                prop_assert_eq!(index.find(hash, |it| it == number), None);
                index.insert(hash, number);
            }
            let old = replaced.index(hashes.len());
            let new = hashes.len() as u32;
            index.replace(hashes[old], old as u32, new);
            for (number, &hash) in hashes.iter().enumerate() {
                let now = if number == old { new } else { number as u32 };
                prop_assert_eq!(index.find(hash, |it| it == now), Some(now));
                let all = hashes.iter().filter(|&other| other >> 32 == hash >> 32).count();
                let seen = std::cell::Cell::new(0);
                index.find(hash, |_| {
                    seen.set(seen.get() + 1);
                    false
                });
                prop_assert_eq!(seen.get(), all);
            }
            prop_assert_eq!(index.find(hashes[old], |it| it == old as u32), None);
        }

        #[test]
        fn what_is_removed_is_gone_and_the_rest_stays(
            // Few starting slots, some at the end of the table: entries displace each other.
            hashes in prop::collection::vec((0..6_u64, any::<bool>()), 1..500),
            removed in prop::collection::vec(any::<prop::sample::Index>(), 0..500),
        ) {
            let hash = |(upper, last): (u64, bool)| {
                (if last { u64::from(u32::MAX) - (upper << 18) } else { upper << 20 }) << 32
            };
            let hashes: Vec<u64> = hashes.into_iter().map(hash).collect();
            let mut index = Index::new();
            let mut left: Vec<bool> = vec![true; hashes.len()];
            for (number, &hash) in (0..).zip(&hashes) {
                index.insert(hash, number);
            }
            for place in removed {
                let place = place.index(hashes.len());
                left[place] = false;
                index.remove(hashes[place], place as u32);
                for (number, (&hash, &is_left)) in (0..).zip(hashes.iter().zip(&left)) {
                    prop_assert_eq!(index.find(hash, |it| it == number).is_some(), is_left);
                }
            }
            prop_assert_eq!(index.used, left.iter().filter(|&&is_left| is_left).count());
        }
    }
}
