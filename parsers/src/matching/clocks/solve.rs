//! Finds offsets, drift and errors of all clocks from packets and readings, each of which concerns a pair of clocks.

use std::collections::{BTreeSet, HashMap};

use super::bounds::Bounds;
use super::fit::{Fit, Stretch, UNKNOWN};
use super::solved::{Fits, Line, Method, Piece, Solved};
use super::steps::{self, Step};
use super::{Clocks, PairReading};

impl Clocks {
    /// Finds the clocks. `kernels`: hosts that share a kernel have the same number.
    pub(in super::super) fn solve(self, kernels: &[Option<usize>]) -> Solved {
        let mut steps: Vec<Step> = Vec::new();
        for (&(first, second), windows) in &self.pairs {
            let [one, other] = [first, second].map(|point| kernels[usize::from(point)]);
            let is_one_clock = one.is_some() && one == other;
            let known = self
                .steps
                .get(&(first, second))
                .map_or(&[][..], Vec::as_slice);
            steps.extend(steps::find(windows.all(), self.shift, known, is_one_clock));
        }
        let steps = merged(steps, 1 << self.shift);
        let reference = self.reference();
        let mut pieces = Vec::with_capacity(steps.len() + 1);
        let mut from = i64::MIN;
        for step in &steps {
            pieces.push(self.piece((from, step.from), kernels, reference));
            from = step.to;
        }
        pieces.push(self.piece((from, i64::MAX), kernels, reference));
        Solved {
            rough: self.rough,
            reference,
            steps,
            pieces,
        }
    }

    /// Returns the point that exchanged packets in both directions with most others; among several the first.
    fn reference(&self) -> usize {
        let mut partners = vec![0; self.rough.len()];
        for (&(first, second), windows) in &self.pairs {
            let mut all = windows.all().iter();
            let is_out = all.clone().any(|window| !window.out.points().is_empty());
            if is_out && all.any(|window| !window.back.points().is_empty()) {
                partners[usize::from(first)] += 1;
                partners[usize::from(second)] += 1;
            }
        }
        let numbered = partners.iter().enumerate();
        let most = numbered.max_by_key(|&(place, &count)| (count, std::cmp::Reverse(place)));
        most.map_or(0, |(place, _)| place)
    }

    /// Finds the clocks between two steps.
    fn piece(&self, (from, to): (i64, i64), kernels: &[Option<usize>], reference: usize) -> Piece {
        let fits = self.fit_pairs(from, to);
        let in_piece = |reading: &&PairReading| (from..=to).contains(&reading.time);
        let readings: Vec<_> = self.readings.iter().filter(in_piece).collect();
        let times = || readings.iter().map(|reading| reading.time);
        let begins = fits.values().map(|fit| fit.from).chain(times());
        let ends = fits.values().map(|fit| fit.to).chain(times());
        let (from, to) = (begins.min().unwrap_or(from), ends.max().unwrap_or(to));
        let mut inconsistent = BTreeSet::new();
        let bounds = [from, to].map(|time| {
            let bounds = self.bounds_at(time, &fits, &readings, kernels);
            let (bounds, removed) = bounds.reconcile(reference);
            inconsistent.extend(removed);
            bounds
        });
        let clocks = self.rough.len();
        let lines: Vec<Option<Line>> = (0..clocks)
            .map(|clock| {
                let is_known = !inconsistent.contains(&clock) && !inconsistent.contains(&reference);
                is_known.then(|| line((from, to), &bounds, reference, clock))?
            })
            .collect();
        let with_reading = |clock: usize| {
            let pairs = readings.iter().map(|reading| reading.pair);
            let mut hosts = pairs.flat_map(|(first, second)| [first, second]);
            hosts.any(|host| usize::from(host) == clock)
        };
        let linked = linked(&fits, reference, clocks);
        let methods = (0..clocks).map(|clock| match lines[clock] {
            _ if inconsistent.contains(&clock) => Method::Inconsistent,
            _ if clock == reference => Method::Reference,
            Some(_) if kernels[clock].is_some() && kernels[clock] == kernels[reference] => {
                Method::SameKernel
            }
            Some(_) if with_reading(clock) => Method::Readings,
            Some(_) => Method::Packets,
            None if linked[clock] => Method::OneWay,
            None => Method::Nothing,
        });
        Piece {
            from,
            to,
            methods: methods.collect(),
            lines,
            fits,
            bounds,
        }
    }

    /// Fits lines to the packets of each pair during this time.
    fn fit_pairs(&self, from: i64, to: i64) -> Fits {
        let mut fits = HashMap::default();
        for (&pair, windows) in &self.pairs {
            if let Some(fit) = Fit::new(&Stretch::gather(windows.all(), from, to)) {
                fits.insert(pair, fit);
            }
        }
        fits
    }

    /// Returns the bounds at `time` from packets, readings and shared kernels.
    fn bounds_at(
        &self,
        time: i64,
        fits: &Fits,
        readings: &[&PairReading],
        kernels: &[Option<usize>],
    ) -> Bounds {
        let mut bounds = Bounds::new(self.rough.len());
        let mut limit = |(first, second): (u16, u16), limits: (f64, f64)| {
            bounds.limit(usize::from(first), usize::from(second), limits);
        };
        for (&pair, fit) in fits {
            limit(pair, fit.bounds(time));
        }
        for reading in readings {
            limit(reading.pair, carry(reading, fits.get(&reading.pair), time));
        }
        for (first, kernel) in kernels.iter().enumerate() {
            for (second, other) in kernels.iter().enumerate().skip(first + 1) {
                if kernel.is_some() && kernel == other {
                    let ahead = self.rough[second].saturating_sub(self.rough[first]);
                    bounds.limit(first, second, (-ahead as f64, -ahead as f64));
                }
            }
        }
        bounds
    }
}

/// Carries a reading to another time, using the drift that packets show.
fn carry(reading: &PairReading, fit: Option<&Fit>, time: i64) -> (f64, f64) {
    let (least, most) = reading.bounds;
    let (slope, error) = fit.map_or((0.0, UNKNOWN), |fit| (fit.slope, fit.slope_error));
    let passed = time.saturating_sub(reading.time) as f64;
    let (drift, wide) = (slope * passed, error * passed.abs());
    (least + drift - wide, most + drift + wide)
}

/// Returns the line through the middle of the bounds at both ends.
fn line(
    (from, to): (i64, i64),
    bounds: &[Bounds; 2],
    reference: usize,
    clock: usize,
) -> Option<Line> {
    let ends = bounds.each_ref().map(|bounds| {
        let (least, most) = (
            -bounds.most(clock, reference),
            bounds.most(reference, clock),
        );
        (f64::midpoint(least, most), (most - least) / 2.0)
    });
    if ends.iter().any(|(_, error)| !error.is_finite()) {
        return None;
    }
    let span = to.saturating_sub(from).max(1) as f64;
    Some(Line {
        from,
        offset: ends[0].0,
        slope: (ends[1].0 - ends[0].0) / span,
        error: ends[0].1.max(ends[1].1),
    })
}

/// Returns which points are connected to the reference by packets, directly or through other points.
fn linked(fits: &Fits, reference: usize, clocks: usize) -> Vec<bool> {
    let mut linked = vec![false; clocks];
    let mut ready = vec![reference];
    while let Some(here) = ready.pop() {
        if std::mem::replace(&mut linked[here], true) {
            continue;
        }
        for &(first, second) in fits.keys() {
            let (first, second) = (usize::from(first), usize::from(second));
            if first == here {
                ready.push(second);
            } else if second == here {
                ready.push(first);
            }
        }
    }
    linked
}

/// Merges steps that several pairs saw: at most a window is between them.
fn merged(mut steps: Vec<Step>, window: i64) -> Vec<Step> {
    steps.sort_unstable();
    let mut merged: Vec<Step> = Vec::new();
    for step in steps {
        match merged.last_mut() {
            Some(last) if step.from.saturating_sub(last.to) <= window => {
                last.to = last.to.max(step.to);
            }
            _ => merged.push(step),
        }
    }
    merged
}
