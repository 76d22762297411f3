//! Gaps between packets to counts in logarithmic buckets: exact integers, the same edges everywhere.
//!
//! Below 64 ns each value is its own bucket. Above, each power of two is divided into 64 equal buckets, so
//! that none is wider than 1/64 (1.5625 %) of its lower edge. Buckets of any two flows, files or runs can be
//! added up.

use crate::memory::prefetch;

/// Buckets per power of two, and the values below which every bucket holds one value.
const STEPS: u64 = 64;
const STEP_BITS: u32 = 6;

/// Number of the bucket that holds `gap`.
#[inline]
pub(crate) fn bucket(gap: u64) -> u16 {
    if gap < STEPS {
        return gap as u16;
    }
    let exponent = gap.ilog2() - STEP_BITS;
    (STEPS + STEPS * u64::from(exponent) + ((gap >> exponent) & (STEPS - 1))) as u16
}

/// Lower edge, contained, and upper edge, not contained, of a bucket in nanoseconds.
pub(crate) fn bucket_bounds(bucket: u16) -> (i64, i64) {
    let bucket = u64::from(bucket);
    if bucket < STEPS {
        return (bucket as i64, bucket as i64 + 1);
    }
    let exponent = (bucket - STEPS) / STEPS;
    let low = (STEPS + (bucket % STEPS)) << exponent;
    let width = 1_u64 << exponent;
    (low as i64, i64::try_from(low + width).unwrap_or(i64::MAX))
}

/// Counts by bucket: a small hash table, because a flow fills few of the 3,700 buckets.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// (bucket + 1) in the upper 16 bits, the count below; 0 is empty. The length is a power of two.
    slots: Box<[u64]>,
    used: u16,
}

impl Gaps {
    /// Counts one gap; one below 0 as 0.
    #[inline]
    pub(crate) fn count(&mut self, gap_ns: i64) {
        self.add(bucket(gap_ns.max(0) as u64), 1);
    }

    /// Asks for the slot of a gap.
    #[inline]
    pub(crate) fn prefetch(&self, gap_ns: i64) {
        let at = Self::start(bucket(gap_ns.max(0) as u64));
        if let Some(slot) = self.slots.get(at & self.slots.len().wrapping_sub(1)) {
            prefetch(slot);
        }
    }

    #[inline]
    fn add(&mut self, bucket: u16, count: u64) {
        let tag = u64::from(bucket) + 1;
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = Self::start(bucket);
        if !self.slots.is_empty() {
            loop {
                let slot = &mut self.slots[at & mask];
                if *slot >> 48 == tag {
                    *slot += count;
                    return;
                }
                if *slot == 0 {
                    break;
                }
                at += 1;
            }
        }
        self.insert(tag, count);
    }

    #[cold]
    fn insert(&mut self, tag: u64, count: u64) {
        if usize::from(self.used) * 4 >= self.slots.len() * 3 {
            let larger = vec![0; (self.slots.len() * 2).max(4)].into_boxed_slice();
            let old = std::mem::replace(&mut self.slots, larger);
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                self.put(slot);
            }
        }
        self.put(tag << 48 | count);
        self.used += 1;
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = Self::start((slot >> 48) as u16 - 1);
        while self.slots[at & mask] != 0 {
            at += 1;
        }
        self.slots[at & mask] = slot;
    }

    #[inline]
    fn start(bucket: u16) -> usize {
        // Neighbouring buckets are full together: spread them.
        usize::from(bucket.wrapping_mul(40_503) >> 4)
    }

    /// Buckets and their counts, ascending.
    pub(crate) fn sorted(&self) -> Vec<(u16, i64)> {
        let mut counts: Vec<(u16, i64)> = self
            .slots
            .iter()
            .filter(|&&slot| slot != 0)
            .map(|&slot| ((slot >> 48) as u16 - 1, (slot & ((1 << 48) - 1)) as i64))
            .collect();
        counts.sort_unstable();
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_lies_inside_its_bucket_and_buckets_are_narrow() {
        let around = (0..63).flat_map(|bit| {
            let power = 1_u64 << bit;
            [
                power - 1,
                power,
                power + 1,
                power + power / 3,
                i64::MAX as u64,
            ]
        });
        for gap in around {
            let (low, high) = bucket_bounds(bucket(gap));
            assert!(
                low as u64 <= gap && gap < high as u64 || high == i64::MAX,
                "{gap} in {low}..{high}"
            );
            assert!(
                gap < 64 || (high - low) * 64 <= low,
                "{gap} in {low}..{high}"
            );
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_hole() {
        let last = bucket(i64::MAX as u64);
        for number in 0..last {
            assert_eq!(bucket_bounds(number).1, bucket_bounds(number + 1).0);
        }
    }

    #[test]
    fn counts_survive_growth() {
        let mut gaps = Gaps::default();
        for round in 0..3 {
            for gap in 0..5000 {
                gaps.count(gap * 977 + round);
            }
        }
        gaps.count(-5);
        let counts = gaps.sorted();
        assert_eq!(counts.iter().map(|&(_, count)| count).sum::<i64>(), 15_001);
        assert!(counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
