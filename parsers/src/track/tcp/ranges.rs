//! A set of bytes as sorted, disjoint ranges of unwrapped sequence numbers.

/// More ranges than this are joined from below, so that a hostile flow cannot make the list long.
const MOST: usize = 4096;

/// Bytes of an added range that were there before, or that fill a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Added {
    /// Bytes that were there already.
    pub repeated: i64,
    /// Bytes that are new and lie below the highest seen before.
    pub late: i64,
}

/// The set. Nearly always one range: the rest is only allocated for holes.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// The highest range; empty where nothing was added.
    top: (i64, i64),
    /// A pointer, because the lists would take four words of every flow.
    below: Option<Box<Below>>,
}

/// The ranges below the highest.
#[derive(Debug, Default)]
struct Below {
    /// Ascending.
    ranges: Vec<(i64, i64)>,
    /// Bytes of the holes between ranges that were joined.
    joined: i64,
}

impl Below {
    /// Joins the two lowest ranges where there are too many.
    fn shorten(&mut self) {
        if self.ranges.len() > MOST {
            let lowest = self.ranges.remove(0);
            self.joined += self.ranges[0].0 - lowest.1;
            self.ranges[0].0 = lowest.0;
        }
    }
}

impl Ranges {
    /// Adds the bytes from `from` to before `to`.
    #[inline]
    pub(crate) fn add(&mut self, from: i64, to: i64) -> Added {
        if from == self.top.1 && self.top.0 < self.top.1 {
            self.top.1 = to.max(from);
            return Added::default();
        }
        if to <= from {
            return Added::default();
        }
        if self.top.0 == self.top.1 && self.below.is_none() {
            self.top = (from, to);
            return Added::default();
        }
        self.add_apart(from, to)
    }

    /// Adds the bytes from `from` to before `to` if they follow the highest byte; returns whether they do.
    #[inline]
    pub(crate) fn extend(&mut self, from: i64, to: i64) -> bool {
        let follows = from == self.top.1 && self.top.0 < self.top.1;
        if follows {
            self.top.1 = to;
        }
        follows
    }

    fn add_apart(&mut self, from: i64, to: i64) -> Added {
        let highest = self.top.1;
        if from > highest {
            let old = std::mem::replace(&mut self.top, (from, to));
            let below = self.below.get_or_insert_default();
            below.ranges.push(old);
            below.shorten();
            return Added::default();
        }
        let mut repeated = 0;
        let mut joined = (from, to);
        let mut absorb = |range: (i64, i64)| {
            repeated += (range.1.min(to) - range.0.max(from)).max(0);
            joined = (joined.0.min(range.0), joined.1.max(range.1));
        };
        // Ranges that touch or overlap the new one are consecutive.
        let touches_top = to >= self.top.0;
        if touches_top {
            absorb(self.top);
        }
        let below = self.below.get_or_insert_default();
        let ranges = &mut below.ranges;
        let first = ranges.partition_point(|range| range.1 < from);
        let behind = ranges.partition_point(|range| range.0 <= to);
        for &range in &ranges[first..behind] {
            absorb(range);
        }
        if touches_top {
            ranges.truncate(first);
            self.top = joined;
        } else {
            ranges.splice(first..behind, [joined]);
            below.shorten();
        }
        if below.ranges.is_empty() && below.joined == 0 {
            self.below = None;
        }
        let beyond = (to - from.max(highest)).max(0);
        Added {
            repeated,
            late: (to - from) - repeated - beyond,
        }
    }

    /// Returns whether any byte from `from` to before `to` is in the set.
    pub(crate) fn touches(&self, from: i64, to: i64) -> bool {
        let hits = |range: &(i64, i64)| range.0 < to && range.1 > from;
        hits(&self.top)
            || self
                .below
                .as_ref()
                .is_some_and(|below| below.ranges.iter().any(hits))
    }

    /// Counts the bytes from `from` to before `to` that the set lacks.
    pub(crate) fn missing(&self, from: i64, to: i64) -> i64 {
        let within = |range: &(i64, i64)| (range.1.min(to) - range.0.max(from)).max(0);
        let mut missing = (to - from).max(0) - within(&self.top);
        if let Some(below) = &self.below {
            missing += below.joined - below.ranges.iter().map(within).sum::<i64>();
        }
        missing
    }

    /// Forgets everything below `floor`.
    pub(crate) fn forget_below(&mut self, floor: i64) {
        if self.top.1 <= floor {
            *self = Self::default();
            return;
        }
        if let Some(below) = &mut self.below {
            below.ranges.retain(|range| range.1 > floor);
            if below.ranges.is_empty() {
                self.below = None;
            }
        }
    }

    /// Returns the start of the highest range: every hole lies below it.
    pub(crate) fn behind_holes(&self) -> i64 {
        self.top.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.top.0 == self.top.1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn holes_between_joined_ranges_are_missing() {
        let mut ranges = Ranges::default();
        let count = 3 * MOST as i64;
        for number in 0..count {
            ranges.add(10 * number, 10 * number + 7);
        }
        assert_eq!(ranges.missing(0, 10 * count), 3 * count);
    }

    proptest! {
        #[test]
        fn ranges_count_as_a_set_of_bytes_does(parts in prop::collection::vec((0_i64..300, 1_i64..40), 1..80)) {
            let mut ranges = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (from, length) in parts {
                let to = from + length;
                let highest = bytes.last().map_or(from, |&byte: &i64| byte + 1);
                let repeated = (from..to).filter(|byte| bytes.contains(byte)).count() as i64;
                let late = (from..to).filter(|byte| *byte < highest && !bytes.contains(byte)).count() as i64;
                bytes.extend(from..to);
                prop_assert_eq!(ranges.add(from, to), Added { repeated, late });
                for probe in 0..350 {
                    prop_assert_eq!(ranges.touches(probe, probe + 1), bytes.contains(&probe));
                }
                let missing = (50..200).filter(|byte| !bytes.contains(byte)).count() as i64;
                prop_assert_eq!(ranges.missing(50, 200), missing);
            }
        }
    }
}
