//! Sorts gaps into logarithmic buckets: exact integers, the same edges everywhere.
//!
//! Below 64 ns each value is its own bucket. Above, each power of two is divided into 64 equal buckets, so
//! that none is wider than 1/64 (1.5625 %) of its lower edge. Buckets of any two flows, files or runs can be
//! added up.

/// Buckets per power of two; below this value every bucket contains one value.
pub(crate) const STEPS: u64 = 64;
const STEP_BITS: u32 = 6;

/// Returns the number of the bucket that contains `gap`.
#[inline]
pub(crate) fn bucket(gap: u64) -> u16 {
    if gap < STEPS {
        return gap as u16;
    }
    let exponent = gap.ilog2() - STEP_BITS;
    (STEPS + STEPS * u64::from(exponent) + ((gap >> exponent) & (STEPS - 1))) as u16
}

/// Returns the lower edge, included, and the upper edge, excluded, of a bucket in nanoseconds.
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
}
