//! Turns the time left to a deadline into the time to sleep: the last stretch is waited for busily, within a budget.
//!
//! Waking an idle core takes tens of microseconds, on virtual machines up to 100. Waiting busily hides that, but it
//! takes the core from the emulated hosts; the budget bounds how much of it.

/// Part of the time that may go into busy waiting, as a divisor: a fifth.
const SHARE: u64 = 5;
/// Most credit that is saved up; longer idle times earn no more.
const CREDIT_LIMIT_NS: u64 = 20_000_000;

/// The budget for busy waiting.
#[derive(Debug)]
pub struct Spin {
    window_ns: u64,
    credit_ns: u64,
    last_ns: u64,
    spinning: bool,
}

impl Spin {
    /// Allows busy waiting for at most `window_ns` before a deadline.
    pub const fn new(window_ns: u64) -> Self {
        Self {
            window_ns,
            credit_ns: CREDIT_LIMIT_NS,
            last_ns: 0,
            spinning: false,
        }
    }

    /// Returns how long to sleep now; 0 where the rest is waited for busily, or nothing is left.
    pub fn sleep_ns(&mut self, now_ns: u64, deadline_ns: u64) -> u64 {
        let elapsed_ns = now_ns - self.last_ns;
        self.last_ns = now_ns;
        if self.spinning {
            self.credit_ns = self.credit_ns.saturating_sub(elapsed_ns);
        }
        self.credit_ns = (self.credit_ns + elapsed_ns / SHARE).min(CREDIT_LIMIT_NS);
        let left_ns = deadline_ns.saturating_sub(now_ns);
        let window_ns = self.window_ns.min(self.credit_ns);
        self.spinning = left_ns > 0 && left_ns <= window_ns;
        left_ns.saturating_sub(window_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_ends_a_window_before_the_deadline() {
        let mut spin = Spin::new(100_000);
        assert_eq!(spin.sleep_ns(1_000_000, 3_000_000), 1_900_000);
        assert_eq!(spin.sleep_ns(2_900_000, 3_000_000), 0);
        assert_eq!(spin.sleep_ns(3_100_000, 3_000_000), 0);
    }

    #[test]
    fn busy_waiting_stays_within_its_share() {
        let mut spin = Spin::new(100_000);
        let (mut now, mut busy) = (0, 0);
        let end = 2_000_000_000;
        // A deadline every 120 us: with no budget five sixths of the time would be waited busily.
        while now < end {
            let deadline = now - now % 120_000 + 120_000;
            match spin.sleep_ns(now, deadline) {
                0 => {
                    now += 1_000;
                    busy += 1_000;
                }
                sleep => now += sleep,
            }
        }
        let share = end / SHARE + CREDIT_LIMIT_NS;
        assert!(busy <= share + share / 10, "{busy}");
        assert!(busy >= end / SHARE / 2, "{busy}");
    }
}
