//! Counts packets in time bins per address pair and direction.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::common::index::Index;
use crate::common::memory::note_short;
use crate::decode::Key;
use crate::decode::segment::Segment;

/// Fewest closed bins that are kept before old ones are handed over.
const FEWEST_KEPT: usize = 1 << 20;
/// How long before the latest packet bins are still expected to grow.
const SETTLED_NS: i64 = 5_000_000_000;

/// The number of no lane.
pub(crate) const NO_LANE: u32 = u32::MAX;

/// One non-empty bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub start: i64,
    pub lane: u32,
    pub packets: u32,
    pub wire: u64,
    pub payload: u64,
}

/// Sender and receiver of a lane's packets. Packed: a flood has millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(Rust, packed(8))]
pub(crate) struct Lane {
    pub v6: bool,
    pub source: u128,
    pub destination: u128,
}

/// The bins, closed ones and the one that each lane is filling.
#[derive(Debug)]
pub(crate) struct Throughput {
    pub bin_ns: i64,
    hashing: RandomState,
    index: Index,
    pub lanes: Vec<Lane>,
    open: Vec<Bin>,
    closed: Vec<Bin>,
    /// Number of closed bins from which on it is worth looking for old ones.
    full: usize,
    latest: i64,
    /// Bins before this were handed over.
    settled: i64,
    /// A packet came for a bin that was handed over.
    pub reopened: bool,
}

impl Throughput {
    pub(crate) fn new(bin_ns: i64) -> Self {
        Self {
            bin_ns,
            hashing: RandomState::default(),
            index: Index::new(),
            lanes: Vec::new(),
            open: Vec::new(),
            closed: Vec::new(),
            full: FEWEST_KEPT,
            latest: i64::MIN,
            settled: i64::MIN,
            reopened: false,
        }
    }

    /// Returns the number of the lane from the key's higher endpoint, where `side` is 1, to its lower one, or back.
    pub(crate) fn lane(&mut self, key: &Key, side: usize) -> u32 {
        let (source, destination) = if side == 1 {
            (key.high, key.low)
        } else {
            (key.low, key.high)
        };
        let lane = Lane {
            v6: key.v6,
            source,
            destination,
        };
        let lanes = &mut self.lanes;
        let hash = self.hashing.hash_one(lane);
        let found = self
            .index
            .find(hash, |number| lanes[number as usize] == lane);
        found.unwrap_or_else(|| {
            let next = lanes.len() as u32;
            self.index.insert(hash, next);
            lanes.push(lane);
            self.open.push(Bin {
                start: i64::MIN,
                lane: next,
                packets: 0,
                wire: 0,
                payload: 0,
            });
            next
        })
    }

    /// Returns the bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let bins = (self.open.capacity() + self.closed.capacity()) * size_of::<Bin>();
        (self.lanes.capacity() * size_of::<Lane>() + bins) as u64 + self.index.bytes()
    }

    /// Returns the bytes by which its lists may grow at once with this many more packets.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        let grows = |length: usize, capacity: usize, size: usize| {
            if length + more > capacity {
                capacity.max(more) * size
            } else {
                0
            }
        };
        let lists = grows(self.lanes.len(), self.lanes.capacity(), size_of::<Lane>())
            + grows(self.open.len(), self.open.capacity(), size_of::<Bin>())
            + grows(self.closed.len(), self.closed.capacity(), size_of::<Bin>());
        lists as u64 + self.index.growth(more)
    }

    /// Counts a packet of lane number `lane`.
    #[inline]
    pub(crate) fn count(&mut self, lane: u32, segment: &Segment) {
        debug_assert_ne!(lane, NO_LANE);
        let Some(bin) = self.open.get_mut(lane as usize) else {
            return;
        };
        let inside = segment.time.wrapping_sub(bin.start) as u64;
        if inside >= self.bin_ns as u64 || bin.packets == 0 || bin.packets == u32::MAX {
            if bin.packets > 0 {
                if self.closed.len() == self.closed.capacity()
                    && self.closed.try_reserve(1).is_err()
                {
                    // The work ends at its next look at the memory taken.
                    note_short();
                    self.closed.clear();
                }
                self.closed.push(*bin);
            }
            bin.start = segment
                .time
                .saturating_sub(segment.time.rem_euclid(self.bin_ns));
            (bin.packets, bin.wire, bin.payload) = (0, 0, 0);
            self.reopened |= bin.start < self.settled;
            self.latest = self.latest.max(segment.time);
        }
        bin.packets += 1;
        bin.wire += u64::from(segment.wire);
        bin.payload += u64::from(segment.payload);
    }

    /// Counts packets of lane number `lane`.
    #[inline]
    pub(crate) fn count_run(&mut self, lane: u32, mut run: &[Segment]) {
        while let Some((first, others)) = run.split_first() {
            self.count(lane, first);
            let bin = &mut self.open[lane as usize];
            let (start, bin_ns) = (bin.start, self.bin_ns as u64);
            let room = (u32::MAX - bin.packets) as usize;
            let (mut inside, mut wire, mut payload) = (0, 0, 0);
            for segment in &others[..room.min(others.len())] {
                if segment.time.wrapping_sub(start) as u64 >= bin_ns {
                    break;
                }
                inside += 1;
                wire += u64::from(segment.wire);
                payload += u64::from(segment.payload);
            }
            bin.packets += inside as u32;
            bin.wire += wire;
            bin.payload += payload;
            run = &others[inside..];
        }
    }

    /// Returns the bins that should grow no more, in the order of the table, if there are many.
    pub(crate) fn settle(&mut self) -> Option<Vec<Bin>> {
        if self.closed.len() < self.full {
            return None;
        }
        let until = self.latest.saturating_sub(SETTLED_NS);
        let until = until.saturating_sub(until.rem_euclid(self.bin_ns));
        let mut old: Vec<Bin> = self
            .open
            .iter()
            .filter(|bin| bin.packets > 0 && bin.start < until)
            .copied()
            .collect();
        for bin in &old {
            self.open[bin.lane as usize].packets = 0;
        }
        old.extend(self.closed.extract_if(.., |bin| bin.start < until));
        self.settled = self.settled.max(until);
        self.full = FEWEST_KEPT.max(self.closed.len() * 2);
        Some(self.in_order(old))
    }

    /// Returns all bins that were not handed over, in the order of the table.
    pub(crate) fn finish(&mut self) -> Vec<Bin> {
        // Reuses the memory of the open bins: a flood has millions.
        let mut bins = std::mem::take(&mut self.open);
        bins.retain(|bin| bin.packets > 0);
        bins.append(&mut self.closed);
        self.in_order(bins)
    }

    /// Sorts bins by time, then by addresses; a bin that time went back to becomes one row with its first part.
    fn in_order(&self, mut bins: Vec<Bin>) -> Vec<Bin> {
        bins.sort_unstable_by(|one, other| {
            one.start
                .cmp(&other.start)
                .then_with(|| self.lanes[one.lane as usize].cmp(&self.lanes[other.lane as usize]))
        });
        bins.dedup_by(|later, first| {
            let same = later.start == first.start && later.lane == first.lane;
            if same {
                first.packets = first.packets.saturating_add(later.packets);
                first.wire += later.wire;
                first.payload += later.payload;
            }
            same
        });
        bins
    }
}
