//! Sorts the records of one file by time if they are slightly out of order: an interface with several queues delivers
//! the packets of each queue together.

use crate::decode::segment::since;
use crate::records::Record;

/// Most records that are held back, because earlier ones may follow, ...
pub(crate) const HELD: usize = 256;
/// ... and most bytes, which the window on the file keeps.
const HELD_BYTES: u32 = 96 << 10;

/// Sorts the records of one file by time; holds the latest ones back, because earlier ones may follow.
pub(crate) struct RecordOrder {
    /// By how many ns a record may be earlier than one that precedes it in the file.
    reach_ns: i64,
    newest: i64,
    /// Time of the last record that is no longer held back.
    released: i64,
    /// Records received so far.
    count: u64,
    /// Number in the file, from 1, of each record present.
    numbers: Vec<u64>,
}

impl RecordOrder {
    pub(crate) fn new(reach_ns: i64) -> Self {
        Self {
            reach_ns,
            newest: i64::MIN,
            released: i64::MIN,
            count: 0,
            numbers: Vec::new(),
        }
    }

    /// Returns the numbers of the records present.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Forgets the numbers of the first `records`.
    pub(crate) fn forget(&mut self, records: usize) {
        self.numbers.drain(..records);
    }

    /// Sorts the new ones of `records`, from `held` on, into those held back. Calls `late` for each record that follows
    /// a later one. Returns false if a record is too late: more than the reach, or earlier than one already released.
    pub(crate) fn sort(
        &mut self,
        records: &mut [Record],
        held: usize,
        mut late: impl FnMut(&Record),
    ) -> bool {
        let before = self.count;
        self.count += (records.len() - held) as u64;
        self.numbers.extend(before + 1..=self.count);
        let mut is_sorted = true;
        for record in &records[held..] {
            if record.time < self.newest {
                let is_near = since(self.newest, record.time) <= self.reach_ns;
                if !is_near || record.time < self.released {
                    return false;
                }
                is_sorted = false;
                late(record);
            }
            self.newest = self.newest.max(record.time);
        }
        if !is_sorted {
            let numbered = records.iter().copied().zip(self.numbers.iter().copied());
            let mut numbered: Vec<_> = numbered.collect();
            numbered.sort_by_key(|(record, _)| record.time);
            let places = records.iter_mut().zip(&mut self.numbers);
            for ((record, number), (place, place_of_number)) in numbered.into_iter().zip(places) {
                (*place, *place_of_number) = (record, number);
            }
        }
        true
    }

    /// Returns how many of the sorted `records` need not be held back; `end` is where the last one ends in the file.
    /// The limit on bytes also releases a record whose time is far ahead.
    pub(crate) fn release(&mut self, records: &[Record], end: u32) -> usize {
        let mut held = HELD.min(records.len());
        let bytes = |held: usize| {
            let first = records[records.len() - held..].iter().map(|it| it.at).min();
            first.map_or(0, |first| end.saturating_sub(first))
        };
        while bytes(held) > HELD_BYTES {
            held /= 2;
        }
        let ready = records.len() - held;
        if let Some(last) = records[..ready].last() {
            self.released = last.time;
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sorts records of these times, `at_once` at a time; returns the order in which they are released, and how many
    /// were late.
    fn sorted(times: &[i64], at_once: usize, reach_ns: i64) -> Option<(Vec<u64>, usize)> {
        let mut order = RecordOrder::new(reach_ns);
        let (mut records, mut left, mut late) = (Vec::new(), Vec::new(), 0);
        for (turn, times) in times.chunks(at_once).enumerate() {
            let held = records.len();
            records.extend(times.iter().enumerate().map(|(at, &time)| Record {
                time,
                is_timed: true,
                is_outgoing: false,
                wire: 60,
                captured: 60,
                interface: 0,
                at: ((turn * at_once + at) * 100) as u32,
                data: 0,
            }));
            if !order.sort(&mut records, held, |_| late += 1) {
                return None;
            }
            let end = ((turn + 1) * at_once * 100) as u32;
            let ready = order.release(&records, end);
            left.extend(&order.numbers()[..ready]);
            records.drain(..ready);
            order.forget(ready);
        }
        left.extend(order.numbers());
        Some((left, late))
    }

    proptest! {
        #[test]
        fn records_a_little_out_of_order_leave_in_the_order_of_time(
            steps in prop::collection::vec((0..1000_i64, prop_oneof![9 => Just(0), 1 => 0..20_000_i64]), 1..2000),
            at_once in 1..1500_usize,
        ) {
            let mut now = 0;
            let times: Vec<i64> = steps
                .iter()
                .map(|&(step, back)| {
                    now += step;
                    now - back
                })
                .collect();
            let mut expected: Vec<u64> = (1..=times.len() as u64).collect();
            expected.sort_by_key(|&number| times[number as usize - 1]);
            let mut newest = i64::MIN;
            let late = times.iter().filter(|&&time| {
                let is_late = time < newest;
                newest = newest.max(time);
                is_late
            });
            prop_assert_eq!(sorted(&times, at_once, 1_000_000), Some((expected, late.count())));
        }
    }

    #[test]
    fn a_stamp_far_ahead_holds_no_more_bytes_back() {
        let mut times: Vec<i64> = (0..10_000).collect();
        times[100] = 900_000;
        assert_eq!(sorted(&times, 1024, 1_000_000), None);
        times.truncate(500);
        assert!(sorted(&times, 1024, 1_000_000).is_some());
    }

    #[test]
    fn what_lies_too_far_behind_is_refused() {
        let mut times: Vec<i64> = (0..2000).collect();
        times.push(10);
        assert_eq!(sorted(&times, 1024, 1_000_000), None);
        assert_eq!(sorted(&[2_000_001, 1_000_000], 1024, 1_000_000), None);
        let (order, late) = sorted(&[2_000_000, 1_000_000], 1024, 1_000_000).expect("near");
        assert_eq!((order, late), (vec![2, 1], 1));
    }
}
