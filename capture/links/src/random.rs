//! Turns (seed, names, frame number) into random numbers: each can be computed alone, in any order.
//!
//! `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014) read as a counter-based generator: the n-th number of a stream is
//! `mix(key + n * GAMMA)`, with a key per seed, link direction and purpose. A frame's fate thus depends on the seed
//! and on its number in its direction, and on nothing that other directions, threads or the clock do.

/// The golden ratio in 64 bits, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random numbers of one purpose in one link direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// Returns the stream of a seed for a purpose; `names` are those of the ports it lies between.
    pub fn new(seed: u64, names: [&str; 2], purpose: &str) -> Self {
        let mut key = mix(seed.wrapping_add(GAMMA));
        for text in [names[0], names[1], purpose] {
            for byte in text.bytes() {
                key = mix(key ^ u64::from(byte));
            }
            // Ends the name, so that "a" + "bc" differs from "ab" + "c".
            key = mix(key ^ 0x100);
        }
        Self { key }
    }

    /// Returns the number of frame `index`, 64 bits.
    pub const fn bits(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GAMMA)))
    }

    /// Returns the number of frame `index`, at least 0 and below 1, 53 bits.
    pub fn unit(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns true for frame `index` with this probability.
    pub fn chance(self, index: u64, probability: f64) -> bool {
        self.unit(index) < probability
    }
}

/// Applies the output function of `SplitMix64`.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The published generator seeded with 0: its state is GAMMA when it gives the first number.
        let stream = Stream { key: 0 };
        assert_eq!(stream.bits(1), 0xe220_a839_7b1d_cdaf);
        assert_eq!(stream.bits(2), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn streams_differ_by_seed_direction_and_purpose() {
        let streams = [
            Stream::new(1, ["a", "b"], "loss"),
            Stream::new(2, ["a", "b"], "loss"),
            Stream::new(1, ["b", "a"], "loss"),
            Stream::new(1, ["a", "b"], "jitter"),
            Stream::new(1, ["ab", ""], "loss"),
        ];
        for (index, one) in streams.iter().enumerate() {
            for two in &streams[index + 1..] {
                assert_ne!(one.key, two.key);
                // Neighbouring streams share no numbers at the same place.
                assert!((0..1_000).all(|n| one.bits(n) != two.bits(n)));
            }
        }
    }

    #[test]
    fn unit_is_uniform_and_independent_of_its_neighbour() {
        let stream = Stream::new(7, ["west", "east"], "loss");
        let count = 1_000_000;
        let numbers: Vec<f64> = (0..count).map(|n| stream.unit(n)).collect();
        let mean = numbers.iter().sum::<f64>() / count as f64;
        // Standard error of the mean: sqrt(1/12) / 1000.
        assert!((mean - 0.5).abs() < 4.0 * 0.000_289, "{mean}");
        let lag: f64 = numbers
            .windows(2)
            .map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5))
            .sum::<f64>()
            / count as f64
            * 12.0;
        assert!(lag.abs() < 4.0 / 1_000.0, "{lag}");
    }
}
