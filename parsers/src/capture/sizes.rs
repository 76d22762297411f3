//! How many packets the next chunks have: more if most of them belong to different connections.

use std::collections::VecDeque;

use crate::common::threads::several_threads;

/// Packets in a chunk at first: few enough that they stay in the cache.
pub(crate) const SMALLEST: usize = 1 << 12;
/// The same with several threads: the work should take longer than waking a thread up.
pub(crate) const SMALLEST_SHARED: usize = 1 << 14;
/// Most packets in a chunk. With very many connections each packet of a small chunk misses the cache for its
/// connection's state; in a large chunk several packets share that miss.
pub(crate) const LARGEST: usize = 1 << 19;

/// Sizes of the next chunks. A pipe can be read only once, and the direction of its rows depends on the chunks. Its
/// sizes are therefore always decided the same number of chunks ahead: as many as can be in progress.
pub(crate) struct Sizes {
    smallest: usize,
    /// The factor by which a chunk grows if most packets belong to different connections: smaller if another thread
    /// waits for it.
    growth: usize,
    decided: VecDeque<usize>,
}

impl Sizes {
    /// Allows for at most `chunks` in progress.
    pub(crate) fn new(from_pipe: bool, chunks: usize) -> Self {
        let (smallest, growth) = if several_threads() && !from_pipe {
            (SMALLEST_SHARED, 8)
        } else {
            (SMALLEST, 16)
        };
        let ahead = if from_pipe { chunks } else { 1 };
        Self {
            smallest,
            growth,
            decided: VecDeque::from(vec![smallest; ahead]),
        }
    }

    /// Returns whether the next chunk is a large one for many connections.
    pub(crate) fn large_comes(&self) -> bool {
        self.decided
            .front()
            .is_some_and(|&size| size > SMALLEST_SHARED)
    }

    pub(crate) fn next(&mut self) -> usize {
        self.decided.pop_front().unwrap_or(self.smallest)
    }

    /// Decides the size of a later chunk by one of `size` with these numbers of packets and connections.
    pub(crate) fn decide(&mut self, size: usize, packets: usize, connections: usize) {
        let size = if connections * 2 > packets {
            size * self.growth
        } else if connections * 8 > packets {
            size * 2
        } else if connections * 32 < packets {
            size / 2
        } else {
            size
        };
        self.decided.push_back(size.clamp(self.smallest, LARGEST));
    }
}
