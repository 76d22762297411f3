//! Decides how long to wait before frames are handed out again: under load, they are handed out in groups.
//!
//! A thread that wakes for every frame spends most of its time on waking: at 1 Gbit/s it is busy all the time, the
//! kernel's limit on real-time threads stops it for 50 ms in each second, and frames are that late.

/// Time between two groups under load; a frame is late by this much at most. At 100 Mbit/s full frames are 121 us apart
/// and still leave one by one.
const GROUP_NS: u64 = 50_000;
/// Load is judged in windows of this length.
const WINDOW_NS: u64 = 1_000_000;
/// More times in a window than this are load. Groups make more (20), so that load stays load.
const CALM_TIMES: u64 = 12;

/// How often frames were handed out lately.
#[derive(Debug, Default)]
pub struct Pace {
    window_began_ns: u64,
    times: u64,
    loaded: bool,
    last_ns: u64,
}

impl Pace {
    /// Notes that frames were handed out.
    pub const fn handed_out(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.window_began_ns);
        if elapsed_ns >= WINDOW_NS {
            self.loaded = self.times * WINDOW_NS > CALM_TIMES * elapsed_ns;
            self.window_began_ns = now_ns;
            self.times = 0;
        }
        self.times += 1;
        self.last_ns = now_ns;
    }

    /// Returns the time before which nothing needs to be handed out or read.
    pub const fn not_before_ns(&self) -> u64 {
        if self.loaded {
            self.last_ns + GROUP_NS
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out frames this far apart for 10 ms; returns the longest wait.
    fn longest_wait_ns(gap_ns: u64) -> u64 {
        let (mut pace, mut now_ns, mut longest_ns) = (Pace::default(), 5_000_000, 0);
        while now_ns < 15_000_000 {
            pace.handed_out(now_ns);
            let next_ns = (now_ns + gap_ns).max(pace.not_before_ns());
            longest_ns = longest_ns.max(next_ns - now_ns - gap_ns);
            now_ns = next_ns;
        }
        longest_ns
    }

    #[test]
    fn full_frames_at_100_mbit_leave_one_by_one() {
        assert_eq!(longest_wait_ns(121_120), 0);
    }

    #[test]
    fn full_frames_at_1_gbit_leave_in_groups_and_stay_grouped() {
        assert_eq!(longest_wait_ns(12_112), GROUP_NS - 12_112);
    }

    #[test]
    fn calm_returns_when_the_load_is_over() {
        let mut pace = Pace::default();
        for number in 0..1_000 {
            pace.handed_out(5_000_000 + number * 10_000);
        }
        assert!(pace.not_before_ns() > 0);
        pace.handed_out(100_000_000);
        assert_eq!(pace.not_before_ns(), 0);
    }
}
