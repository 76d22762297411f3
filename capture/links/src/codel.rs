//! Decides from the sojourn times of frames that leave a queue which of them to drop: `CoDel`, RFC 8289.

/// Parameters, RFC 8289 section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Targets {
    /// Standing delay that is accepted (TARGET), nanoseconds.
    pub target_ns: u64,
    /// Time in which the delay must have been below the target once (INTERVAL), nanoseconds.
    pub interval_ns: u64,
}

/// State of one queue, with the names of RFC 8289 section 5.
#[derive(Debug, Clone, Default)]
pub struct Codel {
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// A drop has been made in this call of `deque`; the next frame decides how to go on.
    pending: Pending,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Pending {
    #[default]
    Nothing,
    /// The `while` loop of the dropping state.
    Loop,
    /// The first drop on entering the dropping state.
    Entry,
}

impl Codel {
    /// Notes that the queue was found empty when the line was free (`dodequeue` returned NULL).
    pub const fn empty(&mut self) {
        self.first_above_ns = None;
        self.dropping = false;
        self.pending = Pending::Nothing;
    }

    /// Returns whether to drop the frame at the head instead of sending it; if so, ask for the next one at the same
    /// time. `behind_bytes` wait behind it; no more than `largest_bytes`, one frame, is no standing queue.
    pub fn drop(
        &mut self,
        targets: Targets,
        now_ns: u64,
        sojourn_ns: u64,
        behind_bytes: u64,
        largest_bytes: u64,
    ) -> bool {
        let ok_to_drop = self.above(targets, now_ns, sojourn_ns, behind_bytes <= largest_bytes);
        match std::mem::take(&mut self.pending) {
            Pending::Nothing if self.dropping => self.dropping = ok_to_drop,
            Pending::Nothing if ok_to_drop => {
                self.pending = Pending::Entry;
                return true;
            }
            Pending::Nothing => return false,
            Pending::Loop if ok_to_drop => {
                self.drop_next_ns = control_law(self.drop_next_ns, targets, self.count);
            }
            Pending::Loop => self.dropping = false,
            Pending::Entry => {
                self.enter(targets, now_ns);
                return false;
            }
        }
        if self.dropping && now_ns >= self.drop_next_ns {
            self.count = self.count.saturating_add(1);
            self.pending = Pending::Loop;
            return true;
        }
        false
    }

    /// `dodequeue`: returns whether the sojourn time has been above the target for an interval.
    fn above(&mut self, targets: Targets, now_ns: u64, sojourn_ns: u64, short: bool) -> bool {
        if sojourn_ns < targets.target_ns || short {
            self.first_above_ns = None;
            return false;
        }
        if let Some(since_ns) = self.first_above_ns {
            return now_ns >= since_ns;
        }
        self.first_above_ns = Some(now_ns + targets.interval_ns);
        false
    }

    /// Follows the first drop: starts again at the rate of the last time if that was a short while ago.
    fn enter(&mut self, targets: Targets, now_ns: u64) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now_ns.saturating_sub(self.drop_next_ns) < 16 * targets.interval_ns;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next_ns = control_law(now_ns, targets, self.count);
        self.last_count = self.count;
    }
}

/// Returns when the drop after the `count`-th is due.
fn control_law(since_ns: u64, targets: Targets, count: u32) -> u64 {
    since_ns + (targets.interval_ns as f64 / f64::from(count).sqrt()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TARGETS: Targets = Targets {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
    };

    /// Returns the times of drops when a frame leaves each millisecond after this sojourn, with a long queue behind it.
    fn drops(sojourn_ns: impl Fn(u64) -> u64, milliseconds: u64) -> Vec<u64> {
        let (mut codel, mut drops) = (Codel::default(), Vec::new());
        for time in 0..milliseconds {
            while codel.drop(TARGETS, time * MS, sojourn_ns(time), 1_000_000, 1_514) {
                drops.push(time);
            }
        }
        drops
    }

    #[test]
    fn nothing_is_dropped_below_the_target() {
        assert!(drops(|_| 5 * MS - 1, 10_000).is_empty());
    }

    #[test]
    fn nothing_is_dropped_when_the_delay_was_low_once_in_every_interval() {
        let spikes = |time| if time % 90 == 0 { 0 } else { 50 * MS };
        assert!(drops(spikes, 10_000).is_empty());
    }

    #[test]
    fn first_drop_comes_after_an_interval_and_the_next_ones_by_the_control_law() {
        let found = drops(|_| 20 * MS, 500);
        // From the first drop at 100 ms: + 100 / sqrt(1), then + 100 / sqrt(2), / sqrt(3), ...
        let mut expected = vec![100];
        let mut next = 100.0;
        for count in 1..9 {
            next += 100.0 / f64::from(count).sqrt();
            expected.push(f64::ceil(next) as u64);
        }
        expected.retain(|time| *time < 500);
        assert_eq!(found, expected);
    }

    #[test]
    fn one_frame_left_is_no_standing_queue() {
        let mut codel = Codel::default();
        for time in 0..1_000 {
            assert!(!codel.drop(TARGETS, time * MS, 50 * MS, 1_514, 1_514));
        }
    }

    #[test]
    fn dropping_resumes_at_the_rate_it_left() {
        // Above the target for a second, below for 50 ms, above again: the second phase starts at the first one's rate.
        let found = drops(
            |time| {
                if (1_000..1_050).contains(&time) {
                    0
                } else {
                    20 * MS
                }
            },
            1_400,
        );
        let first = found.iter().filter(|time| **time < 200).count();
        let second: Vec<_> = found.iter().filter(|time| **time >= 1_050).collect();
        assert_eq!(first, 1);
        assert_eq!(*second[0], 1_150);
        // The first time it took 100 ms.
        assert!(second[1] - second[0] < 30, "{second:?}");
    }

    #[test]
    fn empty_queue_ends_the_dropping_state() {
        let mut codel = Codel::default();
        let mut dropped = 0;
        for time in 0..150 {
            dropped += u64::from(codel.drop(TARGETS, time * MS, 20 * MS, 1_000_000, 1_514));
        }
        assert_eq!(dropped, 1);
        codel.empty();
        assert!(!codel.drop(TARGETS, 300 * MS, 20 * MS, 1_000_000, 1_514));
    }
}
