//! Clocks of the points, from the packets that two points captured.
//!
//! A packet arrives after it was sent. So its time at the receiver minus its time at the sender is an upper bound on
//! how far the receiver's clock is ahead; packets in the other direction provide the lower bound. `windows` stores the
//! least of these differences (`hull`) in bounded memory, `steps` finds when a clock was set, `fit` fits lines to the
//! minima of both directions, and `bounds` combines all pairs. `solve` uses all of these, and `solved` is the result.

mod bounds;
mod fit;
mod hull;
mod solve;
mod solved;
mod steps;
mod windows;

use std::collections::BTreeMap;

use self::steps::Step;
use self::windows::{FIRST_SHIFT, Windows};
use super::offsets::Rough;

pub(super) use solved::Solved;
pub(crate) use solved::{ClockRow, Delay, Method};

/// Most windows of all pairs.
const ALL_WINDOWS: usize = 1 << 14;

/// A measured difference of two hosts' clocks, such as a reading by NTP in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Numbers of the two points.
    pub first: u16,
    /// The point by whose clock `time` is given.
    pub second: u16,
    /// By the second one's clock.
    pub time: i64,
    /// How far the second clock is ahead of the first, at least and at most, in ns.
    pub bounds: (i64, i64),
}

/// A reading with the rough offsets subtracted.
#[derive(Debug)]
struct PairReading {
    /// The lower number first.
    pair: (u16, u16),
    time: i64,
    bounds: (f64, f64),
}

/// Collects differences of clocks.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Roughly how far the clock of each point is ahead; these offsets are subtracted from all times.
    rough: Vec<i64>,
    shift: u32,
    pairs: BTreeMap<(u16, u16), Windows>,
    readings: Vec<PairReading>,
    /// Steps of each pair that are already known.
    steps: BTreeMap<(u16, u16), Vec<Step>>,
}

impl Clocks {
    pub(super) fn new(rough: &Rough) -> Self {
        let mut steps: BTreeMap<(u16, u16), Vec<Step>> = BTreeMap::new();
        for ambiguity in &rough.ambiguities {
            let offset = rough.offsets[usize::from(ambiguity.pair.1)];
            steps.entry(ambiguity.pair).or_default().push(Step {
                from: ambiguity.from.saturating_sub(offset),
                to: ambiguity.to.saturating_sub(offset),
            });
        }
        Self {
            shift: FIRST_SHIFT,
            pairs: BTreeMap::new(),
            readings: Vec::new(),
            rough: rough.offsets.clone(),
            steps,
        }
    }

    /// Notes a packet with its times by the clocks of the two points.
    pub(super) fn add(&mut self, (sender, receiver): (u16, u16), sent: i64, arrived: i64) {
        let [sent, arrived] = [(sender, sent), (receiver, arrived)]
            .map(|(point, time)| time.saturating_sub(self.rough[usize::from(point)]));
        let difference = arrived.saturating_sub(sent);
        if sender < receiver {
            self.note((sender, receiver), true, (arrived, difference));
        } else {
            self.note((receiver, sender), false, (sent, difference));
        }
    }

    /// Notes a measured difference.
    pub(super) fn read(&mut self, reading: &Reading) {
        let (first, second) = (usize::from(reading.first), usize::from(reading.second));
        let (Some(&here), Some(&there)) = (self.rough.get(first), self.rough.get(second)) else {
            return;
        };
        let (least, most) = reading.bounds;
        let ahead = there.saturating_sub(here);
        let time = reading.time.saturating_sub(there);
        let (least, most) = (least.saturating_sub(ahead), most.saturating_sub(ahead));
        let (pair, bounds) = if first < second {
            ((reading.first, reading.second), (least, most))
        } else {
            let bounds = (most.saturating_neg(), least.saturating_neg());
            ((reading.second, reading.first), bounds)
        };
        let bounds = (bounds.0 as f64, bounds.1 as f64);
        self.readings.push(PairReading { pair, time, bounds });
    }

    fn note(&mut self, pair: (u16, u16), is_out: bool, point: hull::Point) {
        let windows = self.pairs.entry(pair).or_default();
        let before = windows.all().len();
        windows.add(self.shift, is_out, point);
        if windows.all().len() > before {
            while self.is_full() && self.shift < 62 {
                self.shift += 1;
                self.pairs.values_mut().for_each(Windows::coarsen);
            }
        }
    }

    fn is_full(&self) -> bool {
        // In a small run the windows of one pair reach their limit long before those of all pairs.
        self.pairs.values().any(Windows::is_full)
            || self
                .pairs
                .values()
                .map(|windows| windows.all().len())
                .sum::<usize>()
                > ALL_WINDOWS
    }
}
