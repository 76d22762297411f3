//! Turns a random number into a deviation of the propagation delay with a given law and standard deviation.

use std::f64::consts::{PI, SQRT_2};

use serde::Deserialize;

use crate::random::Stream;

/// Shape of the Pareto law, as in netem's table of that name.
const SHAPE: f64 = 3.0;
/// The Pareto law is cut at this multiple of its minimum, which one frame in a thousand exceeds: uncut, its fourth
/// moment is infinite, and no finite sample could verify its standard deviation.
const CUT: f64 = 10.0;

/// Distribution of the deviation. Each has mean 0 and standard deviation 1 before it is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// Equally likely within 1.732 standard deviations to either side.
    Uniform,
    /// Gauss's law.
    Normal,
    /// Many frames a little early, few very late: a bounded Pareto law.
    Pareto,
}

/// The requested deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// Standard deviation, nanoseconds.
    pub std_ns: f64,
    /// Its law.
    pub law: Law,
}

impl Jitter {
    /// Returns the deviation of frame `index`, nanoseconds; negative is early.
    pub fn sample_ns(self, stream: Stream, index: u64) -> i64 {
        (self.std_ns * self.law.sample(stream, index)).round() as i64
    }
}

impl Law {
    /// Returns a number with mean 0 and standard deviation 1.
    fn sample(self, stream: Stream, index: u64) -> f64 {
        // Two numbers per frame, as one of the laws needs both.
        let unit = stream.unit(2 * index);
        match self {
            Self::Uniform => (unit - 0.5) * 12_f64.sqrt(),
            // Box and Muller 1958; 1 - u is never 0.
            Self::Normal => {
                SQRT_2 * (-(1.0 - unit).ln()).sqrt() * (2.0 * PI * stream.unit(2 * index + 1)).cos()
            }
            Self::Pareto => {
                let (mean, deviation) = pareto_moments();
                // The inverse of 1 - x^-SHAPE, stretched to end at CUT.
                let kept = 1.0 - CUT.powf(-SHAPE);
                ((1.0 - unit * kept).powf(-1.0 / SHAPE) - mean) / deviation
            }
        }
    }
}

/// Returns mean and standard deviation of the Pareto law between 1 and `CUT`.
fn pareto_moments() -> (f64, f64) {
    let scale = SHAPE / (1.0 - CUT.powf(-SHAPE));
    let moment = |order: f64| scale / (SHAPE - order) * (1.0 - CUT.powf(order - SHAPE));
    (moment(1.0), (moment(2.0) - moment(1.0).powi(2)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cumulative distribution of a law at `x` standard deviations.
    fn cumulative(law: Law, x: f64) -> f64 {
        match law {
            Law::Uniform => (x / 12_f64.sqrt() + 0.5).clamp(0.0, 1.0),
            Law::Normal => 0.5 * (1.0 + error_function(x / SQRT_2)),
            Law::Pareto => {
                let (mean, deviation) = pareto_moments();
                let value = (mean + deviation * x).clamp(1.0, CUT);
                (1.0 - value.powf(-SHAPE)) / (1.0 - CUT.powf(-SHAPE))
            }
        }
    }

    /// Returns the error function by Abramowitz and Stegun 7.1.26: within 1.5e-7.
    fn error_function(x: f64) -> f64 {
        let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
        let poly = [
            1.061_405_429,
            -1.453_152_027,
            1.421_413_741,
            -0.284_496_736,
            0.254_829_592,
        ];
        let sum = poly.iter().fold(0.0, |sum, factor| (sum + factor) * t);
        (1.0 - sum * (-x * x).exp()).copysign(x)
    }

    #[test]
    fn law_has_the_asked_deviation_and_shape() {
        let count = 200_000_u64;
        for law in [Law::Uniform, Law::Normal, Law::Pareto] {
            let jitter = Jitter {
                std_ns: 250_000.0,
                law,
            };
            let stream = Stream::new(3, ["west", "east"], "jitter");
            let mut samples: Vec<f64> = (0..count)
                .map(|n| jitter.sample_ns(stream, n) as f64 / jitter.std_ns)
                .collect();
            let mean = samples.iter().sum::<f64>() / count as f64;
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64;
            assert!(mean.abs() < 0.01, "{law:?} {mean}");
            assert!((variance.sqrt() - 1.0).abs() < 0.03, "{law:?} {variance}");
            // Kolmogorov and Smirnov: 1.63 / sqrt(n) is exceeded once in a hundred.
            samples.sort_by(f64::total_cmp);
            let distance = samples
                .iter()
                .enumerate()
                .map(|(rank, &x)| {
                    let law = cumulative(law, x);
                    let below = rank as f64 / count as f64;
                    (law - below)
                        .abs()
                        .max((law - below - 1.0 / count as f64).abs())
                })
                .fold(0.0, f64::max);
            assert!(
                distance < 1.63 / (count as f64).sqrt(),
                "{law:?} {distance}"
            );
        }
    }

    #[test]
    fn no_sample_leaves_the_range_of_its_law() {
        let stream = Stream::new(0, ["a", "b"], "jitter");
        for n in 0..100_000 {
            assert!(Law::Uniform.sample(stream, n).abs() <= 1.733);
            assert!((-0.70..=12.2).contains(&Law::Pareto.sample(stream, n)));
            assert!(Law::Normal.sample(stream, n).abs() < 8.6);
        }
    }
}
