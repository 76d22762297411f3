//! The fast ways of the parser, each of which can be switched off: what it gains is measured, and tests hold the tables
//! with and without it equal.

/// A set of fast ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastWays(u8);

impl FastWays {
    /// `records/pcapng/fast.rs`: packets in blocks without options.
    pub const BLOCKS: Self = Self(1);
    /// `decode/fast.rs`: Ethernet, IPv4 and TCP at once, and connections that are remembered.
    pub const FRAMES: Self = Self(2);
    /// `track/find/connections.rs`: packets of one side that follow each other are assigned together.
    pub const RUNS: Self = Self(4);
    /// `track/find/connections.rs`: connections are guessed by hash, and their memory is asked for ahead.
    pub const GUESSES: Self = Self(8);
    /// `track/tcp/fast.rs`: segments in order.
    pub const SEGMENTS: Self = Self(16);
    /// `track/tcp/fast.rs`: full segments one behind the other; none without [`Self::SEGMENTS`].
    pub const BURSTS: Self = Self(32);

    /// `pipeline/run.rs`: a capture in which nothing odd is noticed is not sifted.
    pub const QUICK: Self = Self(64);
    /// `pipeline/run.rs`: one in which only times go back is put in order, and no more is done.
    pub const ORDER: Self = Self(128);

    /// Each of them by name.
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

    /// The one called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|&(known, _)| known == name);
        found.map(|(_, way)| way)
    }

    /// The fast ways that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are in the set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
