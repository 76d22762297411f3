//! The fast paths of the parser. Each of them can be switched off to measure its gain, and so that tests can check that
//! the tables are the same without it.

/// A set of fast paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastPaths(u8);

impl FastPaths {
    /// `records/pcapng/fast.rs`: packets in blocks without options.
    pub const BLOCKS: Self = Self(1);
    /// `decode/fast.rs`: Ethernet, IPv4 and TCP in one step, and remembered connections.
    pub const FRAMES: Self = Self(2);
    /// `track/find/connections.rs`: consecutive packets of one side are assigned together.
    pub const RUNS: Self = Self(4);
    /// `track/find/connections.rs`: connections are guessed by hash, and their memory is prefetched.
    pub const GUESSES: Self = Self(8);
    /// `track/tcp/fast.rs`: segments in order.
    pub const SEGMENTS: Self = Self(16);
    /// `track/tcp/fast.rs`: consecutive full segments; off without [`Self::SEGMENTS`].
    pub const BURSTS: Self = Self(32);

    /// `pipeline/run.rs`: a capture in which nothing odd is noticed is not sifted.
    pub const QUICK: Self = Self(64);
    /// `pipeline/run.rs`: a capture in which only times go back is sorted, and nothing more.
    pub const ORDER: Self = Self(128);

    /// All fast paths by name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("blocks", Self::BLOCKS),
        ("frames", Self::FRAMES),
        ("runs", Self::RUNS),
        ("guesses", Self::GUESSES),
        ("segments", Self::SEGMENTS),
        ("bursts", Self::BURSTS),
        ("quick", Self::QUICK),
        ("order", Self::ORDER),
    ];

    /// Returns the fast path called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|&(known, _)| known == name);
        found.map(|(_, path)| path)
    }

    /// Returns the fast paths of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all of `other` are in the set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
