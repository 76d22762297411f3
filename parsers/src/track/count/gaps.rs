//! Counts gaps between packets by bucket.

use super::bucket_counts::{Dense, Sparse};
use super::buckets::bucket;
use crate::common::memory::{in_wide_registers, prefetch};

/// Gaps that are listed one by one: most flows have no more.
const LISTED: usize = 30;
/// Number of gaps that fill whole vector registers.
const LANES: usize = 32;
/// Greater than the number of any bucket, which has 12 bits.
const NO_BUCKET: i16 = i16::MAX;

/// Counts by bucket.
#[derive(Debug, Default)]
pub(crate) enum Gaps {
    /// No gap yet.
    #[default]
    None,
    /// Few: a list of their buckets.
    List(Box<GapList>),
    /// More: a small hash table of counts.
    Sparse(Box<Sparse>),
    /// Many: counts side by side.
    Dense(Box<Dense>),
}

#[derive(Debug)]
pub(crate) struct GapList {
    length: u16,
    buckets: [u16; LISTED],
}

impl GapList {
    /// Sorts by counting how many are less than each, without a branch on values that look random.
    fn each(&self, mut each: impl FnMut(u16, i64)) {
        let buckets = &self.buckets[..usize::from(self.length)];
        let mut lanes = [NO_BUCKET; LANES];
        for (lane, &bucket) in lanes.iter_mut().zip(buckets) {
            *lane = bucket as i16;
        }
        let less = in_wide_registers(
            #[inline(always)]
            || {
                let mut less = [0_i16; LANES];
                for other in lanes {
                    // With a count of rounds the compiler would unroll them and need more registers than there are.
                    if other == NO_BUCKET {
                        break;
                    }
                    for lane in 0..LANES {
                        less[lane] += i16::from(other < lanes[lane]);
                    }
                }
                less
            },
        );
        let (mut sorted, mut counts) = ([0; LANES], [0_u8; LANES]);
        for (&bucket, &less) in buckets.iter().zip(&less) {
            let place = less as usize % LANES;
            sorted[place] = bucket;
            counts[place] += 1;
        }
        let places = sorted.into_iter().zip(counts).take(buckets.len());
        for (bucket, count) in places.filter(|&(_, count)| count > 0) {
            each(bucket, count.into());
        }
    }
}

impl Gaps {
    /// Counts one gap; one below 0 is taken as 0.
    #[inline]
    pub(crate) fn count(&mut self, gap_ns: i64) {
        let bucket = bucket(gap_ns.max(0) as u64);
        match self {
            Self::Dense(counts) => counts.add_one(bucket),
            Self::Sparse(counts) if counts.has_room() => counts.add(bucket, 1),
            Self::List(list) if usize::from(list.length) < LISTED => {
                list.buckets[usize::from(list.length)] = bucket;
                list.length += 1;
            }
            _ => self.grow(bucket),
        }
    }

    /// Prefetches a short list.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if let Self::List(list) = self {
            prefetch(&**list);
        }
    }

    #[cold]
    fn grow(&mut self, bucket: u16) {
        match self {
            Self::None | Self::Dense(_) => {
                let mut buckets = [0; LISTED];
                buckets[0] = bucket;
                *self = Self::List(Box::new(GapList { length: 1, buckets }));
            }
            Self::List(list) => {
                let mut counts = Sparse::default();
                for bucket in list.buckets.into_iter().chain([bucket]) {
                    counts.add(bucket, 1);
                }
                *self = Self::Sparse(Box::new(counts));
            }
            Self::Sparse(counted) => {
                let mut counts = Dense::default();
                counted.each(|bucket, count| counts.add(bucket, count as u64));
                counts.add(bucket, 1);
                *self = Self::Dense(Box::new(counts));
            }
        }
    }

    /// Hands buckets and their counts to `each`, ascending.
    pub(crate) fn each(&self, each: impl FnMut(u16, i64)) {
        match self {
            Self::None => {}
            Self::List(list) => list.each(each),
            Self::Sparse(counts) => counts.each(each),
            Self::Dense(counts) => counts.each(each),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::track::count::bucket_counts::ROWS;
    use crate::track::count::buckets::STEPS;

    #[test]
    fn there_is_room_for_every_bucket() {
        assert!(usize::from(bucket(i64::MAX as u64)) < ROWS * STEPS as usize);
    }

    proptest! {
        #[test]
        fn few_come_in_order(gaps in prop::collection::vec(0..i64::MAX, 0..=LISTED), same in 0..64_u32) {
            let gaps: Vec<_> = gaps.into_iter().map(|gap| gap >> same.min(62)).collect();
            let mut counted = Gaps::default();
            let mut expected = BTreeMap::new();
            for &gap in &gaps {
                counted.count(gap);
                *expected.entry(bucket(gap as u64)).or_insert(0_i64) += 1;
            }
            let mut found = Vec::new();
            counted.each(|bucket, count| found.push((bucket, count)));
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
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
        let mut counts = Vec::new();
        gaps.each(|bucket, count| counts.push((bucket, count)));
        assert_eq!(counts.iter().map(|&(_, count)| count).sum::<i64>(), 15_001);
        assert!(counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
