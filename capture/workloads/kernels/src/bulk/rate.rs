//! The sending rate: from the intervals in which packets were sent and have arrived.

use super::wire::Report;

/// Packets that arrive this much more slowly than they were sent: the path is filling up.
const SLOWER: f64 = 0.03;
/// More than single losses: a queue overflows.
const MANY_LOST: f64 = 0.02;
/// After the path was full: a little below what it carries, so that its queue empties.
const BELOW: f64 = 0.98;
/// Every further step up is longer by this, up to the longest: other flows may have ended.
const STEP: f64 = 0.01;
const LONGEST_STEP: f64 = 0.10;

/// The rate of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    packet_bits: f64,
    least_bit_s: f64,
    most_bit_s: f64,
    bit_s: f64,
    step: f64,
    /// Counts the changes: reports about an earlier rate say nothing about this one.
    pub epoch: u32,
    /// How often it was lowered.
    pub lowered: u64,
}

impl Rate {
    /// Begins at a rate; `packet_bits` is the UDP payload of a packet.
    pub fn new(packet_bits: f64, start_bit_s: f64, bounds_bit_s: (f64, f64)) -> Self {
        let (least_bit_s, most_bit_s) = bounds_bit_s;
        Self {
            packet_bits,
            least_bit_s: least_bit_s.min(most_bit_s),
            most_bit_s,
            bit_s: start_bit_s.min(most_bit_s),
            step: LONGEST_STEP,
            epoch: 0,
            lowered: 0,
        }
    }

    /// Returns the UDP payload per second.
    pub fn bit_s(&self) -> f64 {
        self.bit_s
    }

    /// Returns the time between two packets.
    pub fn interval_ns(&self) -> f64 {
        self.packet_bits / self.bit_s * 1e9
    }

    /// Learns from a measurement of the current rate.
    pub fn learn(&mut self, report: &Report) {
        if report.epoch != self.epoch || report.arrived == 0 || report.spent_us == 0 {
            return;
        }
        let elapsed = report.elapsed_ns as f64;
        let arrival_ns = elapsed / f64::from(report.arrived);
        // Compared with the time in which they really were sent: a sender may be late itself.
        let stretched = elapsed / (1e3 * f64::from(report.spent_us)) - 1.0;
        let lost = 1.0 - f64::from(report.arrived) / f64::from(report.sent);
        let full = stretched > SLOWER || lost > MANY_LOST;
        let wanted = if full {
            self.step = 0.0;
            self.lowered += 1;
            let carried = self.packet_bits / arrival_ns * 1e9;
            (carried * BELOW).min(self.bit_s)
        } else {
            self.step = (self.step + STEP).min(LONGEST_STEP);
            self.bit_s * (1.0 + self.step)
        };
        let next = wanted.clamp(self.least_bit_s, self.most_bit_s);
        if (next - self.bit_s).abs() > f64::EPSILON * self.bit_s {
            self.bit_s = next;
            self.epoch += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a receiver sees of 1000 packets sent at `rate` over a path of `path` bit/s.
    fn report(rate: &Rate, path: f64, random_loss: f64, queue_is_full: bool) -> Report {
        let carried = (path / rate.bit_s()).min(1.0);
        let kept = if queue_is_full { carried } else { 1.0 } * (1.0 - random_loss);
        let stretch = if queue_is_full { 1.0 } else { carried };
        Report {
            epoch: rate.epoch,
            sent: 1000,
            arrived: (1000.0 * kept).round() as u32,
            elapsed_ns: (1000.0 * rate.interval_ns() / stretch) as u64,
            spent_us: rate.interval_ns() as u32,
            ..Report::default()
        }
    }

    #[test]
    fn finds_the_path_and_stays_near_it() {
        for random_loss in [0.0, 0.001, 0.01] {
            let mut rate = Rate::new(11_776.0, 20e6, (1e6, 1e9));
            let mut sum = 0.0;
            for step in 0..200 {
                let full = step % 3 == 0;
                let seen = report(&rate, 100e6, random_loss, full);
                rate.learn(&seen);
                sum += if step < 100 { 0.0 } else { rate.bit_s() };
            }
            let mean = sum / 100.0;
            assert!((95e6..105e6).contains(&mean), "{mean} at {random_loss}");
            assert!(rate.lowered > 0);
        }
    }

    #[test]
    fn an_old_report_changes_nothing() {
        let mut rate = Rate::new(11_776.0, 20e6, (1e6, 1e9));
        let old = report(&rate, 10e6, 0.0, true);
        rate.learn(&report(&rate, 100e6, 0.0, false));
        let before = rate.bit_s();
        rate.learn(&old);
        assert_eq!(rate.bit_s().to_bits(), before.to_bits());
    }

    #[test]
    fn other_flows_do_not_push_it_below_the_least() {
        let mut rate = Rate::new(11_776.0, 50e6, (10e6, 1e9));
        for _ in 0..100 {
            rate.learn(&report(&rate, 1e6, 0.0, true));
        }
        assert_eq!(rate.bit_s().to_bits(), 10e6_f64.to_bits());
    }

    #[test]
    fn the_most_is_not_exceeded() {
        let mut rate = Rate::new(11_776.0, 90e6, (1e6, 95e6));
        for _ in 0..10 {
            rate.learn(&report(&rate, 1e9, 0.0, false));
        }
        assert!(rate.bit_s() <= 95e6);
    }
}
