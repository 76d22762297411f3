//! Turns (arrival time, frame size) into the frame's fate on one direction of a link.
//!
//! Pure: no clock, no I/O. All times are computed from arrival times, so a late scheduler delays single frames and
//! never lowers the rate:
//!
//! ```text
//! depart  = max(arrival, busy) + bits / rate        busy = depart of the frame before
//! deliver = depart + delay
//! ```
//!
//! Advice: what is added here later (jitter, loss, other queues) must stay a function of the offered frames and a seed,
//! and `deliver` must not fall, since the engine keeps each direction's frames in a first-in-first-out queue.

use std::num::NonZeroU64;

const NANOSECONDS: u64 = 1_000_000_000;

/// What one direction of a link does to frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Propagation delay, nanoseconds, one way.
    pub delay_ns: u64,
    /// Rate in bit/s; `None` is unlimited.
    pub rate_bit_s: Option<NonZeroU64>,
    /// Bytes that may wait, the frame under transmission included. A frame that finds the link idle always passes.
    pub queue_bytes: u64,
    /// Added to every frame's size when its time on the line is computed.
    pub overhead_bytes: u64,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the other end at this time, in the clock of the arrival times.
    Deliver {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// The queue had no room for it.
    QueueFull,
}

/// One direction of a link: its parameters and the time up to which it is busy.
#[derive(Debug, Clone)]
pub struct Direction {
    parameters: Parameters,
    /// The line is busy until `busy_ns + remainder / rate` nanoseconds. The remainder keeps the rate exact for ever.
    busy_ns: u64,
    remainder: u64,
    last_arrival_ns: u64,
}

impl Direction {
    /// An idle direction.
    pub const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            busy_ns: 0,
            remainder: 0,
            last_arrival_ns: 0,
        }
    }

    /// What this direction was asked to do.
    pub const fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// Decides about the next frame. Frames come in the order of their arrival; a stamp that goes back counts as equal
    /// to the one before.
    pub fn offer(&mut self, arrival_ns: u64, frame_bytes: u64) -> Fate {
        let arrival_ns = arrival_ns.max(self.last_arrival_ns);
        self.last_arrival_ns = arrival_ns;
        let Some(rate) = self.parameters.rate_bit_s else {
            return self.deliver(arrival_ns);
        };
        let line_bytes = frame_bytes + self.parameters.overhead_bytes;
        let waiting = self.waiting_bytes(arrival_ns, rate);
        if waiting > 0 && waiting + line_bytes > self.parameters.queue_bytes {
            return Fate::QueueFull;
        }
        if waiting == 0 {
            self.busy_ns = arrival_ns;
            self.remainder = 0;
        }
        let numerator =
            u128::from(line_bytes * 8) * u128::from(NANOSECONDS) + u128::from(self.remainder);
        let rate = u128::from(rate.get());
        self.busy_ns += (numerator / rate) as u64;
        self.remainder = (numerator % rate) as u64;
        self.deliver(self.busy_ns)
    }

    const fn deliver(&self, depart_ns: u64) -> Fate {
        Fate::Deliver {
            at_ns: depart_ns + self.parameters.delay_ns,
        }
    }

    /// Bytes accepted and not yet sent at this time; a begun byte counts whole.
    fn waiting_bytes(&self, at_ns: u64, rate: NonZeroU64) -> u64 {
        if self.busy_ns < at_ns {
            return 0;
        }
        let bit_ns =
            u128::from(self.busy_ns - at_ns) * u128::from(rate.get()) + u128::from(self.remainder);
        bit_ns.div_ceil(8 * u128::from(NANOSECONDS)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(rate_bit_s: u64, delay_ns: u64, queue_bytes: u64) -> Direction {
        Direction::new(Parameters {
            delay_ns,
            rate_bit_s: NonZeroU64::new(rate_bit_s),
            queue_bytes,
            overhead_bytes: 0,
        })
    }

    fn deliver_ns(fate: Fate) -> u64 {
        match fate {
            Fate::Deliver { at_ns } => at_ns,
            Fate::QueueFull => panic!("dropped"),
        }
    }

    #[test]
    fn unlimited_link_only_delays() {
        let mut link = link(0, 150_000, 0);
        assert_eq!(link.offer(1_000, 1_514), Fate::Deliver { at_ns: 151_000 });
        assert_eq!(link.offer(1_000, 60), Fate::Deliver { at_ns: 151_000 });
    }

    #[test]
    fn frame_takes_its_bits_divided_by_the_rate() {
        let mut link = link(100_000_000, 5_000_000, 100_000);
        assert_eq!(deliver_ns(link.offer(0, 1_250)), 100_000 + 5_000_000);
        assert_eq!(deliver_ns(link.offer(0, 1_250)), 200_000 + 5_000_000);
        assert_eq!(
            deliver_ns(link.offer(1_000_000, 1_250)),
            1_100_000 + 5_000_000
        );
    }

    #[test]
    fn rate_has_no_rounding_drift_over_millions_of_frames() {
        // 7 bit/ns: no frame takes a whole number of nanoseconds.
        let rate = 7_000_000_000;
        let mut link = link(rate, 0, u64::MAX);
        let mut bytes = 0;
        let mut last = 0;
        for number in 0..3_000_000_u64 {
            let size = 60 + number % 1_455;
            bytes += size;
            last = deliver_ns(link.offer(0, size));
        }
        let exact = u128::from(bytes) * 8 * u128::from(NANOSECONDS) / u128::from(rate);
        assert_eq!(u128::from(last), exact);
    }

    #[test]
    fn twice_the_rate_is_halved_exactly() {
        let mut link = link(10_000_000, 0, 64 * 1_024);
        // 1250-byte frames every 500 us: 20 Mbit/s offered.
        let delivered = (0..20_000_u64)
            .filter(|number| link.offer(number * 500_000, 1_250) != Fate::QueueFull)
            .count();
        // 10 s at 10 Mbit/s are 10,000 frames; what still waits at the end fills the queue.
        let waiting = 64 * 1_024 / 1_250;
        assert!(
            (10_000..=10_000 + waiting + 1).contains(&delivered),
            "{delivered}"
        );
    }

    #[test]
    fn drop_tail_keeps_the_wait_below_the_queue_divided_by_the_rate() {
        let mut link = link(1_000_000, 0, 10_000);
        let fates: Vec<_> = (0..20).map(|_| link.offer(0, 1_000)).collect();
        assert_eq!(
            fates
                .iter()
                .filter(|fate| **fate == Fate::QueueFull)
                .count(),
            10
        );
        assert_eq!(deliver_ns(fates[9]), 80_000_000);
        // One frame has left after 8 ms: room for one more.
        assert_eq!(
            link.offer(8_000_000, 1_000),
            Fate::Deliver { at_ns: 88_000_000 }
        );
        assert_eq!(link.offer(8_000_000, 1_000), Fate::QueueFull);
    }

    #[test]
    fn idle_link_takes_a_frame_larger_than_its_queue() {
        let mut link = link(1_000_000, 0, 100);
        assert_eq!(deliver_ns(link.offer(0, 1_000)), 8_000_000);
        assert_eq!(link.offer(1, 1_000), Fate::QueueFull);
        assert_eq!(deliver_ns(link.offer(8_000_000, 1_000)), 16_000_000);
    }

    #[test]
    fn overhead_counts_on_the_line() {
        let mut link = Direction::new(Parameters {
            delay_ns: 0,
            rate_bit_s: NonZeroU64::new(8_000_000_000),
            queue_bytes: 1_000,
            overhead_bytes: 24,
        });
        assert_eq!(deliver_ns(link.offer(0, 60)), 84);
    }

    #[test]
    fn slowest_rate_does_not_overflow() {
        let mut link = link(1, 0, u64::from(u32::MAX));
        assert_eq!(deliver_ns(link.offer(0, 65_535)), 65_535 * 8 * NANOSECONDS);
    }

    proptest! {
        #[test]
        fn fate_is_deterministic_in_order_and_never_faster_than_the_link(
            rate in 1_000_u64..20_000_000_000,
            delay in 0_u64..100_000_000,
            queue in 0_u64..1_000_000,
            frames in prop::collection::vec((0_u64..2_000_000, 14_u64..9_018), 1..300),
        ) {
            let (mut one, mut two) = (link(rate, delay, queue), link(rate, delay, queue));
            let (mut arrival, mut first, mut last, mut bytes) = (0, None, 0, 0);
            for (gap, size) in frames {
                arrival += gap;
                let fate = one.offer(arrival, size);
                prop_assert_eq!(fate, two.offer(arrival, size));
                if let Fate::Deliver { at_ns } = fate {
                    let alone = (size * 8 * NANOSECONDS) / rate;
                    prop_assert!(at_ns >= arrival + delay + alone);
                    prop_assert!(at_ns >= last);
                    // Wait and transmission together never exceed the queue (or the frame itself).
                    let bound = (u128::from(queue.max(size)) * 8 * u128::from(NANOSECONDS)).div_ceil(u128::from(rate));
                    prop_assert!(u128::from(at_ns - arrival - delay) <= bound);
                    first.get_or_insert(arrival);
                    bytes += size;
                    last = at_ns;
                }
            }
            if let Some(first) = first {
                let least = u128::from(bytes) * 8 * u128::from(NANOSECONDS) / u128::from(rate);
                prop_assert!(u128::from(last - delay - first) >= least.saturating_sub(1));
            }
        }
    }
}
