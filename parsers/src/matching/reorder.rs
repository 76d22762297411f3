//! Counts the packets that overtook another one: the reordering extent of RFC 4737 4.2.

use std::collections::VecDeque;

/// Arrivals that are remembered; an extent beyond them is at least this large.
const REMEMBERED: usize = 1 << 14;

/// Arrivals on one path, from one host to another.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    sent: u64,
    arrived: u64,
    /// Arrivals sent later than all that arrived before: place among the sent packets, place among the arrivals. Both
    /// increase.
    latest: VecDeque<(u64, u64)>,
}

impl Arrivals {
    /// Returns the place of the next packet sent.
    pub(super) fn send(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// Counts the packets that the host sent after the one at `place`.
    pub(super) fn sent_since(&self, place: u64) -> u64 {
        self.sent.saturating_sub(place)
    }

    /// Notes the arrival of the packet sent at `place`. Returns the number of arrivals from the first packet that
    /// overtook it, inclusive, to its own; 0 if it is in order.
    pub(super) fn arrive(&mut self, place: u64) -> u64 {
        self.arrived += 1;
        if self.latest.back().is_none_or(|&(last, _)| last < place) {
            self.latest.push_back((place, self.arrived));
            if self.latest.len() > REMEMBERED {
                self.latest.pop_front();
            }
            return 0;
        }
        let first = self.latest.partition_point(|&(sent, _)| sent < place);
        self.latest
            .get(first)
            .map_or(0, |&(_, arrival)| self.arrived - arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::Arrivals;

    #[test]
    fn the_extent_is_that_of_the_standard() {
        let mut arrivals = Arrivals::default();
        for _ in 0..10 {
            arrivals.send();
        }
        // The sequence 1 2 3 7 8 9 10 4 5 6 of RFC 4737 4.2.3: extents of late packets are counted from the arrival of
        // 7.
        let order = [1, 2, 3, 7, 8, 9, 10, 4, 5, 6];
        let extents: Vec<u64> = order.iter().map(|&place| arrivals.arrive(place)).collect();
        assert_eq!(extents, [0, 0, 0, 0, 0, 0, 0, 4, 5, 6]);
    }
}
