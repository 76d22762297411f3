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

/// Gaps that are only listed. Most flows have no more.
const LISTED: usize = 30;

/// Counts by bucket.
#[derive(Debug, Default)]
pub(crate) enum Gaps {
    /// No gap yet.
    #[default]
    None,
    /// Few: a list of their buckets, in one cache line.
    Few(Box<Few>),
    /// Many: a table of counts.
    Many(Box<Counts>),
}

#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Few {
    length: u16,
    buckets: [u16; LISTED],
}

/// A small hash table while a flow fills few of the 3,776 buckets, then one count for each of them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// While [`BUCKETS`] are more: (bucket + 1) in the upper 16 bits, the count below; 0 is empty, and the
    /// length is a power of two. Then: the counts by bucket.
    slots: Vec<u64>,
    used: u16,
}

/// Buckets up to `i64::MAX`.
const BUCKETS: usize = 58 * STEPS as usize;
/// Slots of the largest hash table.
const MOST_SLOTS: usize = 1024;

impl Gaps {
    /// Counts one gap; one below 0 as 0.
    #[inline]
    pub(crate) fn count(&mut self, gap_ns: i64) {
        let bucket = bucket(gap_ns.max(0) as u64);
        match self {
            Self::Many(counts) => counts.add(bucket, 1),
            Self::Few(few) if usize::from(few.length) < LISTED => {
                few.buckets[usize::from(few.length)] = bucket;
                few.length += 1;
            }
            _ => self.grow(bucket),
        }
    }

    /// Asks for the memory of a short list.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if let Self::Few(few) = self {
            prefetch(&**few);
        }
    }

    #[cold]
    fn grow(&mut self, bucket: u16) {
        let mut buckets = [0; LISTED];
        if let Self::Few(few) = self {
            let mut counts = Counts::default();
            for bucket in few.buckets.into_iter().chain([bucket]) {
                counts.add(bucket, 1);
            }
            *self = Self::Many(Box::new(counts));
        } else {
            buckets[0] = bucket;
            *self = Self::Few(Box::new(Few { length: 1, buckets }));
        }
    }

    /// Hands buckets and their counts to `each`, ascending.
    pub(crate) fn each(&self, mut each: impl FnMut(u16, i64)) {
        match self {
            Self::None => {}
            Self::Few(few) => {
                let mut buckets = few.buckets;
                let buckets = &mut buckets[..usize::from(few.length)];
                buckets.sort_unstable();
                for same in buckets.chunk_by(|one, other| one == other) {
                    each(same[0], same.len() as i64);
                }
            }
            Self::Many(counts) => counts.each(each),
        }
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, bucket: u16, count: u64) {
        if self.slots.len() == BUCKETS {
            self.slots[usize::from(bucket)] += count;
            return;
        }
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
            if self.slots.len() == MOST_SLOTS {
                return self.spread(tag, count);
            }
            let larger = vec![0; (self.slots.len() * 2).max(32)];
            let old = std::mem::replace(&mut self.slots, larger);
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                self.put(slot);
            }
        }
        self.put(tag << 48 | count);
        self.used += 1;
    }

    /// One count for each bucket from now on.
    fn spread(&mut self, tag: u64, count: u64) {
        let old = std::mem::replace(&mut self.slots, vec![0; BUCKETS]);
        for slot in old.into_iter().chain([tag << 48 | count]) {
            let (bucket, count) = unpack(slot);
            if count > 0 {
                self.slots[usize::from(bucket)] += count;
            }
        }
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = Self::start(unpack(slot).0);
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

    fn each(&self, mut each: impl FnMut(u16, i64)) {
        if self.slots.len() == BUCKETS {
            for (bucket, &count) in (0..).zip(&self.slots).filter(|&(_, &count)| count > 0) {
                each(bucket, count as i64);
            }
            return;
        }
        let mut slots: Vec<u64> = self
            .slots
            .iter()
            .copied()
            .filter(|&slot| slot != 0)
            .collect();
        slots.sort_unstable();
        for slot in slots {
            let (bucket, count) = unpack(slot);
            each(bucket, count as i64);
        }
    }
}

/// Bucket and count of a slot of the hash table.
fn unpack(slot: u64) -> (u16, u64) {
    (
        ((slot >> 48) as u16).wrapping_sub(1),
        slot & ((1 << 48) - 1),
    )
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
    fn there_are_as_many_buckets_as_room_for_them() {
        assert_eq!(usize::from(bucket(i64::MAX as u64)), BUCKETS - 1);
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
        let mut counts = Vec::new();
        gaps.each(|bucket, count| counts.push((bucket, count)));
        assert_eq!(counts.iter().map(|&(_, count)| count).sum::<i64>(), 15_001);
        assert!(counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
