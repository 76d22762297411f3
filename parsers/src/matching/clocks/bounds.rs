//! Bounds on the difference of each pair of clocks, and the bounds that follow from all of them together.

/// By how much bounds may contradict each other because of rounding, in ns.
const ROUNDING: f64 = 1.0;

/// The most, in ns, that the second clock of each pair is ahead of the first.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    clocks: usize,
    most: Vec<f64>,
}

impl Bounds {
    pub(super) fn new(clocks: usize) -> Self {
        let mut most = vec![f64::INFINITY; clocks * clocks];
        for clock in 0..clocks {
            most[clock * clocks + clock] = 0.0;
        }
        Self { clocks, most }
    }

    /// Notes the least and the most that `second` is ahead of `first`.
    pub(super) fn limit(&mut self, first: usize, second: usize, (least, most): (f64, f64)) {
        for (place, bound) in [
            (first * self.clocks + second, most),
            (second * self.clocks + first, -least),
        ] {
            self.most[place] = bound.min(self.most[place]);
        }
    }

    /// Returns the most that `second` may be ahead of `first`.
    pub(super) fn most(&self, first: usize, second: usize) -> f64 {
        self.most[first * self.clocks + second]
    }

    /// Removes all bounds of `clock`.
    fn remove(&mut self, clock: usize) {
        for other in (0..self.clocks).filter(|&other| other != clock) {
            self.most[clock * self.clocks + other] = f64::INFINITY;
            self.most[other * self.clocks + clock] = f64::INFINITY;
        }
    }

    /// Returns all bounds that follow from these: shortest paths between all clocks (Floyd-Warshall).
    fn closed(&self) -> Self {
        let mut closed = self.clone();
        for via in 0..self.clocks {
            for first in 0..self.clocks {
                let there = closed.most(first, via);
                if there == f64::INFINITY {
                    continue;
                }
                for second in 0..self.clocks {
                    let bound = there + closed.most(via, second);
                    let place = first * self.clocks + second;
                    closed.most[place] = bound.min(closed.most[place]);
                }
            }
        }
        closed
    }

    fn is_contradictory(&self) -> bool {
        (0..self.clocks).any(|clock| self.most(clock, clock) < -ROUNDING)
    }

    /// Returns all bounds that follow, and the clocks that were removed because they contradict the others. `reference`
    /// is the last to be removed.
    pub(super) fn reconcile(mut self, reference: usize) -> (Self, Vec<usize>) {
        let mut removed = Vec::new();
        loop {
            let closed = self.closed();
            if !closed.is_contradictory() {
                return (closed, removed);
            }
            let counts = self.count_contradictions();
            let left = (0..self.clocks).filter(|clock| !removed.contains(clock));
            let Some(worst) = left.max_by_key(|&clock| (counts[clock], clock != reference, clock))
            else {
                return (closed, removed);
            };
            self.remove(worst);
            removed.push(worst);
        }
    }

    /// Counts for each clock the contradictions between two or three clocks that it is part of.
    fn count_contradictions(&self) -> Vec<u32> {
        let mut counts = vec![0; self.clocks];
        for first in 0..self.clocks {
            for second in 0..self.clocks {
                let there = self.most(first, second);
                if second == first || there == f64::INFINITY {
                    continue;
                }
                for third in (0..self.clocks).filter(|&third| third != second) {
                    // If two clocks contradict each other, the third is the first.
                    let round = there + self.most(second, third) + self.most(third, first);
                    if round < -ROUNDING {
                        for clock in [first, second, third] {
                            counts[clock] += 1;
                        }
                    }
                }
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::Bounds;

    #[test]
    fn a_third_clock_narrows_what_two_leave_open() {
        let mut bounds = Bounds::new(3);
        bounds.limit(0, 1, (-100.0, 100.0));
        bounds.limit(0, 2, (-5.0, 5.0));
        bounds.limit(2, 1, (10.0, 20.0));
        let (closed, removed) = bounds.reconcile(0);
        assert!(removed.is_empty());
        assert_eq!((closed.most(0, 1), closed.most(1, 0)), (25.0, -5.0));
    }

    #[test]
    fn the_clock_that_contradicts_all_others_is_named() {
        let mut bounds = Bounds::new(4);
        for (first, second) in [(0, 1), (0, 3), (1, 3)] {
            bounds.limit(first, second, (-5.0, 5.0));
        }
        bounds.limit(0, 2, (50.0, 60.0));
        bounds.limit(1, 2, (-60.0, -50.0));
        bounds.limit(3, 2, (-5.0, 5.0));
        let (closed, removed) = bounds.reconcile(0);
        assert_eq!(removed, [2]);
        assert_eq!((closed.most(0, 3), closed.most(0, 2)), (5.0, f64::INFINITY));
    }
}
