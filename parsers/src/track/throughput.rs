//! Packets to time bins per address pair and direction.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::decode::{Key, Packet};

/// One non-empty bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub start: i64,
    /// Address pair and sender: pair * 2, plus 1 where the higher address sent.
    pub lane: u32,
    pub packets: u32,
    pub wire: u64,
    pub payload: u64,
}

/// Two addresses, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub low: u128,
    pub high: u128,
    pub v6: bool,
}

/// The bins, closed ones and the one that each lane is filling.
#[derive(Debug)]
pub(crate) struct Throughput {
    pub bin_ns: i64,
    numbers: HashMap<Pair, u32, RandomState>,
    pub pairs: Vec<Pair>,
    open: Vec<[Bin; 2]>,
    closed: Vec<Bin>,
}

impl Throughput {
    pub(crate) fn new(bin_ns: i64) -> Self {
        Self {
            bin_ns,
            numbers: HashMap::default(),
            pairs: Vec::new(),
            open: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Number of the address pair of `key`.
    pub(crate) fn pair(&mut self, key: &Key) -> u32 {
        // The key orders endpoints by address first, so its addresses are in order.
        let pair = Pair {
            low: key.low,
            high: key.high,
            v6: key.v6,
        };
        let next = self.pairs.len() as u32;
        let number = *self.numbers.entry(pair).or_insert(next);
        if number == next {
            self.pairs.push(pair);
            let empty = |side| Bin {
                start: i64::MIN,
                lane: next * 2 + side,
                packets: 0,
                wire: 0,
                payload: 0,
            };
            self.open.push([empty(0), empty(1)]);
        }
        number
    }

    /// Counts a packet of pair number `pair`, sent by `side`.
    #[inline]
    pub(crate) fn count(&mut self, pair: u32, side: usize, packet: &Packet) {
        let Some(lanes) = self.open.get_mut(pair as usize) else {
            return;
        };
        // One address may talk to itself over two ports: then there is one direction only.
        let bin = &mut lanes[side];
        let inside = packet.time.wrapping_sub(bin.start) as u64;
        if inside >= self.bin_ns as u64 || bin.packets == 0 || bin.packets == u32::MAX {
            if bin.packets > 0 {
                self.closed.push(*bin);
            }
            bin.start = packet
                .time
                .saturating_sub(packet.time.rem_euclid(self.bin_ns));
            (bin.packets, bin.wire, bin.payload) = (0, 0, 0);
        }
        bin.packets += 1;
        bin.wire += u64::from(packet.wire);
        bin.payload += u64::from(packet.payload);
    }

    /// All bins by time, then by lane, each once. Empties the table.
    pub(crate) fn finish(&mut self) -> Vec<Bin> {
        let mut bins = std::mem::take(&mut self.closed);
        bins.extend(self.open.iter().flatten().filter(|bin| bin.packets > 0));
        for bin in &mut bins {
            let same = self
                .pairs
                .get(bin.lane as usize / 2)
                .is_some_and(|pair| pair.low == pair.high);
            if same {
                bin.lane &= !1;
            }
        }
        self.open.clear();
        bins
    }
}
