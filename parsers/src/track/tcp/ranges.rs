//! A set of bytes as sorted, disjoint ranges of unwrapped sequence numbers.

/// More ranges than this are joined from below, so that a hostile flow cannot make them long.
const MOST: usize = 4096;

/// What adding a range found.
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
    /// The ranges below it, ascending.
    #[allow(clippy::box_collection)]
    // a pointer where a list would take three words of every flow
    below: Option<Box<Vec<(i64, i64)>>>,
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

    /// Adds the bytes from `from` to before `to` if they follow the highest there are; whether they do.
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
            below.push(old);
            if below.len() > MOST {
                let lowest = below.remove(0);
                below[0].0 = lowest.0;
            }
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
        let first = below.partition_point(|range| range.1 < from);
        let behind = below.partition_point(|range| range.0 <= to);
        for &range in &below[first..behind] {
            absorb(range);
        }
        if touches_top {
            below.truncate(first);
            self.top = joined;
        } else {
            below.splice(first..behind, [joined]);
            if below.len() > MOST {
                let lowest = below.remove(0);
                below[0].0 = lowest.0;
            }
        }
        if below.is_empty() {
            self.below = None;
        }
        let beyond = (to - from.max(highest)).max(0);
        Added {
            repeated,
            late: (to - from) - repeated - beyond,
        }
    }

    /// Whether any byte from `from` to before `to` is in the set.
    pub(crate) fn touches(&self, from: i64, to: i64) -> bool {
        let hits = |range: &(i64, i64)| range.0 < to && range.1 > from;
        hits(&self.top)
            || self
                .below
                .as_ref()
                .is_some_and(|below| below.iter().any(hits))
    }

    /// Forgets everything below `floor`.
    pub(crate) fn forget_below(&mut self, floor: i64) {
        if self.top.1 <= floor {
            *self = Self::default();
            return;
        }
        if let Some(below) = &mut self.below {
            below.retain(|range| range.1 > floor);
            if below.is_empty() {
                self.below = None;
            }
        }
    }

    /// The start of the highest range: every hole lies below it.
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
            }
        }
    }
}
