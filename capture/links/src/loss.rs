//! Decides by a frame's number whether the line loses it: independently, or in bursts.

use crate::random::Stream;

/// How the line loses frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each frame with the same probability, whatever happened to the others.
    Independent {
        /// Probability.
        rate: f64,
    },
    /// Gilbert and Elliott's two states; probabilities per frame.
    GilbertElliott {
        /// From the good state to the bad one.
        p: f64,
        /// From the bad state to the good one.
        r: f64,
        /// Loss in the good state.
        good: f64,
        /// Loss in the bad state.
        bad: f64,
    },
}

/// Decides about the frames of one direction in their order.
#[derive(Debug, Clone)]
pub struct LossState {
    loss: Option<Loss>,
    bad: bool,
    state: Stream,
    fate: Stream,
}

impl LossState {
    /// Begins in the good state.
    pub fn new(loss: Option<Loss>, seed: u64, names: [&str; 2]) -> Self {
        Self {
            loss,
            bad: false,
            state: Stream::new(seed, names, "loss state"),
            fate: Stream::new(seed, names, "loss"),
        }
    }

    /// Sets another law from the next frame on; a law that stays keeps its state.
    pub fn set(&mut self, loss: Option<Loss>) {
        if self.loss != loss {
            self.loss = loss;
            self.bad = false;
        }
    }

    /// Returns whether frame `index` is lost. Call it once for each frame, in order.
    pub fn lose(&mut self, index: u64) -> bool {
        let probability = match self.loss {
            None => return false,
            Some(Loss::Independent { rate }) => rate,
            Some(Loss::GilbertElliott { p, r, good, bad }) => {
                let leave = if self.bad { r } else { p };
                self.bad ^= self.state.chance(index, leave);
                if self.bad { bad } else { good }
            }
        };
        self.fate.chance(index, probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 2_000_000;

    fn losses(loss: Loss, seed: u64) -> Vec<bool> {
        let mut state = LossState::new(Some(loss), seed, ["west", "east"]);
        (0..COUNT).map(|index| state.lose(index)).collect()
    }

    fn lost(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64
    }

    fn bursts(losses: &[bool]) -> f64 {
        let starts = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        (starts + usize::from(losses[0])) as f64
    }

    #[test]
    fn independent_loss_lies_in_the_binomial_interval_and_has_no_memory() {
        for rate in [1e-4, 1e-3, 1e-2, 1e-1] {
            let losses = losses(Loss::Independent { rate }, 11);
            let expected = COUNT as f64 * rate;
            let deviation = (expected * (1.0 - rate)).sqrt();
            let found = lost(&losses);
            // 2.576 standard deviations hold 99 %.
            assert!(
                (found - expected).abs() < 2.576 * deviation,
                "{rate} {found}"
            );
            // The runs test (Wald and Wolfowitz) reduced to its bursts: n p (1 - p) of them.
            let expected = COUNT as f64 * rate * (1.0 - rate);
            assert!(
                (bursts(&losses) - expected).abs() < 4.0 * expected.sqrt(),
                "{rate}"
            );
        }
    }

    #[test]
    fn bursts_have_the_asked_rate_and_length() {
        let (p, r) = (0.002, 0.25);
        let losses = losses(
            Loss::GilbertElliott {
                p,
                r,
                good: 0.0,
                bad: 1.0,
            },
            5,
        );
        let rate = lost(&losses) / COUNT as f64;
        assert!((rate / (p / (p + r)) - 1.0).abs() < 0.05, "{rate}");
        let length = lost(&losses) / bursts(&losses);
        assert!((length * r - 1.0).abs() < 0.05, "{length}");
    }

    #[test]
    fn states_lose_with_their_own_probability() {
        let (p, r, good, bad) = (0.01, 0.1, 0.001, 0.5);
        let losses = losses(Loss::GilbertElliott { p, r, good, bad }, 9);
        let expected = (p * bad + r * good) / (p + r);
        let rate = lost(&losses) / COUNT as f64;
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate} {expected}");
    }

    #[test]
    fn same_seed_loses_the_same_frames() {
        let loss = Loss::Independent { rate: 0.01 };
        assert_eq!(losses(loss, 1), losses(loss, 1));
        assert_ne!(losses(loss, 1), losses(loss, 2));
    }

    #[test]
    fn extremes_lose_all_and_nothing() {
        assert!(
            losses(Loss::Independent { rate: 1.0 }, 1)
                .iter()
                .all(|lost| *lost)
        );
        assert!(
            losses(Loss::Independent { rate: 0.0 }, 1)
                .iter()
                .all(|lost| !*lost)
        );
    }
}
