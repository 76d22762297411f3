//! Counts by bucket: few of them in a hash table, many side by side.

use super::buckets::STEPS;

/// Slots of the largest hash table.
const MOST_SLOTS: usize = 128;

/// A small hash table: a flow fills few of the 3,776 buckets.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    /// (bucket + 1) in the upper 16 bits, the count below; 0 is empty. The length is a power of two.
    slots: Vec<u64>,
    used: u16,
}

impl Sparse {
    /// Returns whether another bucket can be added.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        usize::from(self.used) * 4 < MOST_SLOTS * 3
    }

    pub(crate) fn add(&mut self, bucket: u16, count: u64) {
        let tag = u64::from(bucket) + 1;
        if !self.slots.is_empty() {
            let slot = self.find(tag);
            if *slot != 0 {
                *slot += count;
                return;
            }
        }
        if usize::from(self.used) * 4 >= self.slots.len() * 3 {
            let larger = vec![0; (self.slots.len() * 2).max(32)];
            let old = std::mem::replace(&mut self.slots, larger);
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                *self.find(slot >> 48) = slot;
            }
        }
        *self.find(tag) = tag << 48 | count;
        self.used += 1;
    }

    /// Returns the slot of `tag`, or the empty one where it belongs.
    fn find(&mut self, tag: u64) -> &mut u64 {
        let mask = self.slots.len() - 1;
        // Neighbouring buckets are used together: spread them.
        let mut at = usize::from((tag as u16).wrapping_mul(40_503) >> 4);
        while self.slots[at & mask] != 0 && self.slots[at & mask] >> 48 != tag {
            at += 1;
        }
        &mut self.slots[at & mask]
    }

    pub(crate) fn each(&self, mut each: impl FnMut(u16, i64)) {
        let mut slots = self.slots.clone();
        slots.retain(|&slot| slot != 0);
        slots.sort_unstable();
        for slot in slots {
            each((slot >> 48) as u16 - 1, (slot & ((1 << 48) - 1)) as i64);
        }
    }
}

/// Rows of [`STEPS`] buckets up to `i64::MAX`.
pub(crate) const ROWS: usize = 59;

/// One count for each bucket of those powers of two that any gap is in.
#[derive(Debug)]
pub(crate) struct Dense {
    /// Place of each row in `rows`, plus one; 0 where it has none.
    places: [u8; ROWS],
    rows: Vec<[u32; STEPS as usize]>,
    /// Buckets whose count overflowed: one entry for each `u32::MAX`.
    full: Vec<u16>,
}

impl Default for Dense {
    fn default() -> Self {
        Self {
            places: [0; ROWS],
            rows: Vec::new(),
            full: Vec::new(),
        }
    }
}

impl Dense {
    #[inline]
    pub(crate) fn add_one(&mut self, bucket: u16) {
        let row = usize::from(bucket / STEPS as u16);
        let place = usize::from(self.places[row]).wrapping_sub(1);
        if let Some(row) = self.rows.get_mut(place) {
            let count = &mut row[usize::from(bucket % STEPS as u16)];
            if *count < u32::MAX {
                *count += 1;
                return;
            }
        }
        self.add(bucket, 1);
    }

    #[cold]
    pub(crate) fn add(&mut self, bucket: u16, count: u64) {
        let row = usize::from(bucket / STEPS as u16);
        if self.places[row] == 0 {
            self.rows.push([0; STEPS as usize]);
            self.places[row] = self.rows.len() as u8;
        }
        let place = usize::from(self.places[row]) - 1;
        let sum = u64::from(self.rows[place][usize::from(bucket % STEPS as u16)]) + count;
        let most = u64::from(u32::MAX);
        self.full.extend((0..sum / most).map(|_| bucket));
        self.rows[place][usize::from(bucket % STEPS as u16)] = (sum % most) as u32;
    }

    pub(crate) fn each(&self, mut each: impl FnMut(u16, i64)) {
        for bucket in 0..(ROWS * STEPS as usize) as u16 {
            let place = usize::from(self.places[usize::from(bucket / STEPS as u16)]);
            let row = self.rows.get(place.wrapping_sub(1));
            let count = row.map_or(0, |row| row[usize::from(bucket % STEPS as u16)]);
            let times = self.full.iter().filter(|&&full| full == bucket).count();
            let count = i64::from(count) + times as i64 * i64::from(u32::MAX);
            if count > 0 {
                each(bucket, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_goes_on_behind_32_bits() {
        let mut counts = Dense::default();
        counts.add(70, u64::from(u32::MAX) - 1);
        for _ in 0..3 {
            counts.add_one(70);
        }
        counts.add(70, 2 * u64::from(u32::MAX));
        let mut seen = Vec::new();
        counts.each(|bucket, count| seen.push((bucket, count)));
        assert_eq!(seen, [(70, 3 * i64::from(u32::MAX) + 2)]);
    }
}
