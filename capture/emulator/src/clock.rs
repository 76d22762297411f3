//! Turns the kernel's wall-clock receive stamps into a clock that never steps.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A stamp may be this much older than the moment its socket was last seen empty: between stamp and queue, a frame
/// spends a time that another core decides.
const STAMP_SLACK_NS: u64 = 10_000_000;

/// Nanoseconds since the emulator started; the clock of every time in this program.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts a clock an hour above 0, so that frames stamped before the start have a time too.
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Returns the present time, nanoseconds.
    pub fn now_ns(self) -> u64 {
        3_600_000_000_000 + self.origin.elapsed().as_nanos() as u64
    }

    /// Returns the present time on both clocks.
    pub fn now(self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Now {
            steady_ns: self.now_ns(),
            wall_ns: wall.map_or(0, |since| since.as_nanos() as u64),
        }
    }
}

/// One moment on the steady clock and on the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// [`Clock`] time.
    pub steady_ns: u64,
    /// `CLOCK_REALTIME` since the epoch.
    pub wall_ns: u64,
}

impl Now {
    /// Returns what, added to a steady time, gives wall-clock time, as long as the wall clock does not step.
    pub const fn wall_offset_ns(self) -> i64 {
        self.wall_ns as i64 - self.steady_ns as i64
    }

    /// Returns the steady time of a wall-clock stamp taken a short while ago.
    ///
    /// `not_before_ns`: when the frame's socket was last seen empty. A stamp older than that, or in the future, was
    /// taken on the other side of a step of the wall clock; the best guess then is now.
    pub const fn steady(self, stamp_ns: u64, not_before_ns: u64) -> u64 {
        let Some(age) = self.wall_ns.checked_sub(stamp_ns) else {
            return self.steady_ns;
        };
        match self.steady_ns.checked_sub(age) {
            Some(time) if time + STAMP_SLACK_NS >= not_before_ns => time,
            _ => self.steady_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now {
        steady_ns: 50_000_000_000,
        wall_ns: 1_700_000_000_000_000_000,
    };

    #[test]
    fn stamp_keeps_its_distance_to_now() {
        assert_eq!(
            NOW.steady(NOW.wall_ns - 70_000, 49_000_000_000),
            50_000_000_000 - 70_000
        );
    }

    #[test]
    fn stamp_from_the_future_is_now() {
        assert_eq!(
            NOW.steady(NOW.wall_ns + 3_600_000_000_000, 0),
            NOW.steady_ns
        );
    }

    #[test]
    fn stamp_from_before_a_step_of_the_wall_clock_is_now() {
        assert_eq!(
            NOW.steady(NOW.wall_ns - 3_600_000_000_000, 0),
            NOW.steady_ns
        );
        assert_eq!(
            NOW.steady(NOW.wall_ns - 5_000_000_000, 49_000_000_000),
            NOW.steady_ns
        );
    }

    #[test]
    fn steady_clock_rises() {
        let clock = Clock::start();
        assert!(clock.now_ns() <= clock.now().steady_ns);
    }
}
