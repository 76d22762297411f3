//! Findings of an earlier reading about the points and the paths between them.

use std::collections::{BTreeMap, HashMap, HashSet};

/// When one point captured, and how well.
#[derive(Debug, Clone, Copy)]
pub(in crate::matching) struct Coverage {
    /// Common times of its first and last packet.
    pub first: i64,
    pub last: i64,
    /// Whether its capture lacks packets.
    pub is_incomplete: bool,
    /// Whether some of its packets come too late to meet those of other points.
    pub is_out_of_order: bool,
    /// The shortest and the longest delay of packets to or from it.
    pub shortest_ns: i64,
    pub longest_ns: i64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            first: i64::MAX,
            last: i64::MIN,
            is_incomplete: false,
            is_out_of_order: false,
            shortest_ns: 0,
            longest_ns: 0,
        }
    }
}

impl Coverage {
    /// Notes a packet.
    pub(in crate::matching) fn see(&mut self, common_time: i64) {
        self.first = self.first.min(common_time);
        self.last = self.last.max(common_time);
    }

    /// Returns whether it was capturing when a packet sent at `sent` arrived.
    pub(super) fn holds_arrival(&self, sent: i64) -> bool {
        sent.saturating_add(self.shortest_ns) >= self.first
            && sent.saturating_add(self.longest_ns) <= self.last
    }

    /// Returns whether it was capturing when a packet that arrived at `arrived` was sent.
    pub(super) fn holds_sending(&self, arrived: i64) -> bool {
        arrived.saturating_sub(self.longest_ns) >= self.first
            && arrived.saturating_sub(self.shortest_ns) <= self.last
    }
}

/// Why packets of a path that are in only one capture may be neither lost nor missing from the other capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matching) enum Doubt {
    /// Interfaces cut or merged segments with payload between the two captures.
    Resegmented,
    /// No packet of the path was matched.
    Unmatched,
}

/// Coverage of each point and doubts about each path, from an earlier reading.
#[derive(Debug, Clone, Default)]
pub(in crate::matching) struct Known {
    /// Coverage of each point, as far as it has been read, in this reading or an earlier one.
    pub coverage: Vec<Coverage>,
    pub doubts: HashMap<(u16, u16), Doubt>,
    /// Directions of flows whose datagrams interfaces cut or merged.
    pub divided: HashSet<u64>,
    /// The length of the shortest packet that routers divided, by path.
    pub fragmented: BTreeMap<(u16, u16), u32>,
}
