//! Timestamps that are coarser than the file states: a clock of 15 ms in a file of microseconds.

use crate::records::Record;

/// Shorter ticks do not affect any table.
const SHORTEST: u64 = 1_000_000;
/// From this many distances on, a common divisor is not a coincidence.
const ENOUGH: u64 = 50;
/// At least one of this many packets must have the stamp of the packet before it. A program that sends at regular times
/// leaves such distances as well, but no equal stamps.
const SHARED: u64 = 4;

/// The greatest common divisor of the distances between all stamps of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticks {
    last: Option<i64>,
    tick: u64,
    later: u64,
    equal: u64,
}

impl Ticks {
    /// Takes the next records into account.
    pub(crate) fn see(&mut self, records: &[Record]) {
        for record in records.iter().filter(|record| record.is_timed) {
            if self.is_fine() {
                return;
            }
            let last = self.last.replace(record.time).unwrap_or(record.time);
            let distance = record.time.abs_diff(last);
            if distance == 0 {
                self.equal += 1;
            } else {
                self.later += 1;
                self.tick = greatest_common_divisor(self.tick, distance);
            }
        }
    }

    /// Returns whether coarse ticks are excluded: true of nearly all files after a few packets.
    fn is_fine(self) -> bool {
        self.later > 0 && self.tick < SHORTEST
    }

    /// Returns the length of a tick in ns, if the stamps show it.
    pub(crate) fn coarse(self) -> Option<i64> {
        let is_clear = self.later >= ENOUGH && self.equal * SHARED >= self.later + self.equal;
        (is_clear && !self.is_fine()).then_some(self.tick as i64)
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(times: impl Iterator<Item = i64>) -> Ticks {
        let record = |time| Record {
            time,
            ..Record::whole(60, 0)
        };
        let mut ticks = Ticks::default();
        ticks.see(&times.map(record).collect::<Vec<_>>());
        ticks
    }

    /// Returns times of packets every 0.7 ms, each rounded down to the clock's tick; the capture began at 1.3 ms.
    fn stamped(tick: i64) -> impl Iterator<Item = i64> {
        (0..2_000).map(move |number| 1_300_000 + number * 700_000 / tick * tick)
    }

    #[test]
    fn the_tick_of_a_coarse_clock_is_found() {
        for tick in [4_000_000, 10_000_000, 15_600_000] {
            assert_eq!(ticks(stamped(tick)).coarse(), Some(tick));
        }
    }

    #[test]
    fn fine_clocks_and_even_times_are_no_coarse_clock() {
        assert_eq!(ticks(stamped(1_000)).coarse(), None);
        assert_eq!(
            ticks((0..1_000).map(|number| number * 10_000_000)).coarse(),
            None
        );
        assert_eq!(ticks(stamped(10_000_000).take(300)).coarse(), None);
        assert_eq!(ticks([5; 1_000].into_iter()).coarse(), None);
    }
}
