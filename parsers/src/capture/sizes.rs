//! How many packets the next chunks hold: more where most of them belong to different connections.

use std::collections::VecDeque;

use crate::common::threads::several_threads;

/// Packets in a chunk at first: few enough that they stay in the cache.
pub(crate) const SMALLEST: usize = 1 << 12;
/// The same where several threads work: what one is woken up for should last longer than that takes.
pub(crate) const SMALLEST_SHARED: usize = 1 << 14;
/// Packets in a chunk at most. With very many connections each packet of a small chunk would find its
/// connection's state out of the cache; in a large one several packets share that wait.
pub(crate) const LARGEST: usize = 1 << 19;

/// Sizes of the next chunks. From a pipe, whose packets come once, the direction of a row depends on the chunk: there a
/// size is decided so many chunks before as can be under way, whether they are or not.
pub(crate) struct Sizes {
    smallest: usize,
    /// How many times as large a chunk becomes where most packets belong to different connections: less where another
    /// thread waits for it.
    growth: usize,
    decided: VecDeque<usize>,
}

impl Sizes {
    /// At most `chunks` are under way.
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

    /// The next chunk is one of many connections.
    pub(crate) fn large_comes(&self) -> bool {
        self.decided
            .front()
            .is_some_and(|&size| size > SMALLEST_SHARED)
    }

    pub(crate) fn next(&mut self) -> usize {
        self.decided.pop_front().unwrap_or(self.smallest)
    }

    /// Decides on a later chunk by one of `size`, with its numbers of packets and connections.
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
