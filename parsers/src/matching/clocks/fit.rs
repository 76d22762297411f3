//! Two parallel lines that bound the difference of two clocks.

use super::hull::{Point, reduce_to_hull};
use super::windows::Window;

/// The fastest drift of a computer's clock, in ns per ns: the kernel's limit for slewing.
pub(super) const FASTEST: f64 = 500e-6;
/// The drift of an uncorrected quartz, assumed if packets do not show the drift.
pub(super) const UNKNOWN: f64 = 100e-6;
/// Fewest windows with packets from which a slope is estimated, in each direction that has any.
const MINIMA: usize = 20;

/// Packets of a pair during a time in which neither clock stepped.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// Hulls of both directions.
    out: Vec<Point>,
    back: Vec<Point>,
    /// The lowest point of each window.
    least: [Vec<Point>; 2],
}

impl Stretch {
    /// Collects the hulls of all packets in `windows` whose times are between `from` and `to`.
    pub(super) fn gather(windows: &[Window], from: i64, to: i64) -> Self {
        let mut found = Self::default();
        for window in windows {
            for (way, (all, bottom)) in [
                (&mut found.out, &window.out),
                (&mut found.back, &window.back),
            ]
            .into_iter()
            .enumerate()
            {
                let inside = bottom.points().iter().copied();
                let inside = inside.filter(|&(time, _)| (from..=to).contains(&time));
                let before = all.len();
                all.extend(inside);
                let lowest = all[before..].iter().min_by_key(|point| point.1);
                found.least[way].extend(lowest);
            }
        }
        reduce_to_hull(&mut found.out);
        reduce_to_hull(&mut found.back);
        found
    }
}

/// Bounds the second point's clock minus the first point's: between `slope * t - back` and `slope * t + out`, where `t`
/// is the time since `base`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    pub base: i64,
    pub slope: f64,
    pub slope_error: f64,
    /// For packets to the second point, and to the first; none if there are no such packets.
    pub out: Option<f64>,
    pub back: Option<f64>,
    /// First and last time.
    pub from: i64,
    pub to: i64,
    /// The median distance of the windows' minima above the lines.
    scatter: f64,
}

impl Fit {
    /// Fits the lines; returns none without a packet.
    pub(super) fn new(stretch: &Stretch) -> Option<Self> {
        let ends = |points: &[Point]| Some((points.first()?.0, points.last()?.0));
        let (from, to) = match (ends(&stretch.out), ends(&stretch.back)) {
            (Some(out), Some(back)) => (out.0.min(back.0), out.1.max(back.1)),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        let mut fit = Self {
            base: from,
            slope: 0.0,
            slope_error: UNKNOWN,
            out: None,
            back: None,
            from,
            to,
            scatter: 0.0,
        };
        if stretch
            .least
            .iter()
            .all(|least| least.is_empty() || least.len() >= MINIMA)
        {
            let slope = fit.best_slope(stretch);
            let error = 2.0 * fit.scatter_at(stretch, slope) / (to - from).max(1) as f64;
            if error < UNKNOWN {
                (fit.slope, fit.slope_error) = (slope, error);
            }
        }
        fit.out = fit.lowest(&stretch.out, fit.slope);
        fit.back = fit.lowest(&stretch.back, -fit.slope);
        fit.scatter = fit.scatter_at(stretch, fit.slope);
        Some(fit)
    }

    /// Returns the slope at which the lines are, on average, closest to the packets of both directions.
    fn best_slope(&self, stretch: &Stretch) -> f64 {
        let slopes = |points: &[Point], sign: f64| -> Vec<f64> {
            let edges = points.windows(2);
            let edges =
                edges.map(|two| (two[1].1 - two[0].1) as f64 / (two[1].0 - two[0].0) as f64);
            edges.map(|slope| sign * slope).collect()
        };
        let mut tried = slopes(&stretch.out, 1.0);
        tried.extend(slopes(&stretch.back, -1.0));
        tried.retain(|slope| slope.abs() <= FASTEST);
        tried.extend([-FASTEST, FASTEST]);
        tried.sort_by(f64::total_cmp);
        let means = [0, 1].map(|way: usize| {
            let times = stretch.least[way].iter().map(|&(time, _)| self.since(time));
            times.sum::<f64>() / stretch.least[way].len().max(1) as f64
        });
        let heights: Vec<f64> = tried
            .iter()
            .map(|&slope| {
                let out = self.lowest(&stretch.out, slope);
                let back = self.lowest(&stretch.back, -slope);
                out.map_or(0.0, |out| out + slope * means[0])
                    + back.map_or(0.0, |back| back - slope * means[1])
            })
            .collect();
        let highest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Differences below a thousandth of a nanosecond are due to rounding.
        let best = heights.iter().zip(&tried);
        let best: Vec<f64> = best
            .filter(|&(&height, _)| height >= highest - 1e-3)
            .map(|(_, &slope)| slope)
            .collect();
        match (best.first(), best.last()) {
            (Some(&least), Some(&most)) => f64::midpoint(least, most),
            _ => 0.0,
        }
    }

    fn scatter_at(&self, stretch: &Stretch, slope: f64) -> f64 {
        let mut heights = Vec::new();
        for (least, slope) in stretch.least.iter().zip([slope, -slope]) {
            if let Some(bottom) = self.lowest(least, slope) {
                let above = least.iter().map(|&point| self.above(point, slope) - bottom);
                heights.extend(above);
            }
        }
        median(&mut heights)
    }

    fn lowest(&self, points: &[Point], slope: f64) -> Option<f64> {
        let heights = points.iter().map(|&point| self.above(point, slope));
        heights.reduce(f64::min)
    }

    fn above(&self, (time, difference): Point, slope: f64) -> f64 {
        difference as f64 - slope * self.since(time)
    }

    fn since(&self, time: i64) -> f64 {
        time.saturating_sub(self.base) as f64
    }

    /// Returns the least and the greatest difference at `time`; infinite if packets do not bound it.
    pub(super) fn bounds(&self, time: i64) -> (f64, f64) {
        let middle = self.slope * self.since(time);
        let outside = (self.from.saturating_sub(time)).max(time.saturating_sub(self.to));
        let wide = self.scatter + self.slope_error * outside.max(0) as f64;
        // Without a known slope, the clocks may have drifted over the whole span.
        let wide = wide
            + if self.slope == 0.0 {
                self.slope_error * (self.to - self.from) as f64
            } else {
                0.0
            };
        (
            self.back
                .map_or(f64::NEG_INFINITY, |back| middle - back - wide),
            self.out.map_or(f64::INFINITY, |out| middle + out + wide),
        )
    }

    /// Returns the shortest round-trip time.
    pub(super) fn round_trip(&self) -> Option<f64> {
        Some(self.out? + self.back?)
    }

    /// Returns how much longer a packet took than the fastest one of its direction.
    pub(super) fn excess(&self, is_out: bool, point: Point) -> Option<i64> {
        let (bottom, slope) = if is_out {
            (self.out?, self.slope)
        } else {
            (self.back?, -self.slope)
        };
        Some(((self.above(point, slope) - bottom).round() as i64).max(0))
    }
}

/// Returns the median: of an even number of values the greater of the middle two, of none 0.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
