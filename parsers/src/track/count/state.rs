//! What is counted of one connection, and of one packet.

use super::direction::Direction;

/// State of one connection: what each endpoint sent, the key's lower endpoint first. Fills cache lines.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct ConnectionState {
    pub sides: [Option<Direction>; 2],
}

/// The result of counting one packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PacketFacts {
    pub gap_ns: Option<i64>,
    pub window_bytes: Option<i64>,
}

impl ConnectionState {
    /// Prefetches what this points to; this itself must be in the cache.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        for direction in self.sides.iter().flatten() {
            direction.look_ahead();
        }
    }

    /// Prefetches what that points to, which must be in the cache, too.
    #[inline]
    pub(crate) fn look_further(&self) {
        for direction in self.sides.iter().flatten() {
            direction.tcp.look_further();
        }
    }
}
