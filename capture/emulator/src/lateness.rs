//! Turns delivery delays beyond the computed time into quantiles: a histogram with logarithmic buckets.

use serde::Serialize;

/// Buckets per power of two: a quantile is at most 1/16 above the true value.
const STEPS: u32 = 16;
const STEP_BITS: u32 = STEPS.trailing_zeros();
const BUCKETS: usize = (STEPS * (64 - STEP_BITS + 1)) as usize;

/// Counts of lateness in nanoseconds.
#[derive(Debug)]
pub struct Lateness {
    counts: Box<[u64]>,
    samples: u64,
    max_ns: u64,
}

/// Quantiles in nanoseconds; each is the upper edge of its bucket, and never above the maximum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Half of the frames were at most this late.
    pub p50: u64,
    /// 99 % of the frames.
    pub p99: u64,
    /// 99.9 % of the frames.
    pub p999: u64,
    /// The latest frame.
    pub max: u64,
    /// Frames counted.
    pub samples: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            samples: 0,
            max_ns: 0,
        }
    }
}

impl Lateness {
    /// Counts one frame.
    pub fn record(&mut self, late_ns: u64) {
        self.counts[bucket(late_ns)] += 1;
        self.samples += 1;
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// Returns the quantiles so far; all 0 without samples.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            p50: self.quantile(500),
            p99: self.quantile(990),
            p999: self.quantile(999),
            max: self.max_ns,
            samples: self.samples,
        }
    }

    fn quantile(&self, per_mille: u64) -> u64 {
        let rank = (u128::from(self.samples) * u128::from(per_mille)).div_ceil(1_000) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return upper_edge(index).min(self.max_ns);
            }
        }
        0
    }
}

/// Returns the bucket of a value: below `STEPS` one per value, above it `STEPS` per power of two.
fn bucket(value: u64) -> usize {
    if value < u64::from(STEPS) {
        return value as usize;
    }
    let power = value.ilog2();
    let step = (value >> (power - STEP_BITS)) as u32 - STEPS;
    (STEPS * (power - STEP_BITS + 1) + step) as usize
}

/// Returns the largest value of a bucket.
fn upper_edge(index: usize) -> u64 {
    let index = index as u32;
    if index < STEPS {
        return u64::from(index);
    }
    let shift = index / STEPS - 1;
    let first = u64::from(index % STEPS + STEPS) << shift;
    first + ((1_u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_within_a_sixteenth() {
        for power in 0..64 {
            for offset in [0_u64, 1, 5] {
                let value = (1_u64 << power).saturating_add(offset);
                let edge = upper_edge(bucket(value));
                assert!(
                    edge >= value && edge - value <= value / 16,
                    "{value} {edge}"
                );
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upper_edge(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn quantiles_count_from_below() {
        let mut lateness = Lateness::default();
        for value in 1..=1_000 {
            lateness.record(value * 1_000);
        }
        let found = lateness.quantiles();
        assert_eq!((found.max, found.samples), (1_000_000, 1_000));
        for (quantile, exact) in [
            (found.p50, 500_000),
            (found.p99, 990_000),
            (found.p999, 999_000),
        ] {
            assert!(
                quantile >= exact && quantile <= exact + exact / 16,
                "{quantile} {exact}"
            );
        }
    }

    #[test]
    fn no_samples_give_zeros() {
        assert_eq!(Lateness::default().quantiles().p99, 0);
    }
}
