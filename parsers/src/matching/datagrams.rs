//! Datagrams that network interfaces cut or merge between two captures (UDP GSO and GRO), such as those of QUIC. Each
//! is in one capture only, and no header shows which bytes it carries; therefore their fates are unknown.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::fate::{Evidence, Fate, FateRow};
use crate::decode::UDP;

/// Most directions of flows that are stored.
const MOST: usize = 1 << 16;
/// Length of the longest IP packet on Ethernet; datagrams that are cut or merged are longer.
const ETHERNET: u32 = 1_500;

/// The datagrams of one direction of a flow that only one of the two hosts captured.
#[derive(Debug, Default)]
struct Alone {
    /// The path, from one point to another.
    path: (u16, u16),
    /// Lengths of the longest packet that only the sender captured, and of the longest that only the receiver captured.
    longest: (u32, u32),
    /// A datagram arrived that the sender's capture lacks, unless datagrams were cut or merged.
    is_arrived: bool,
}

/// Finds flows whose datagrams were cut or merged.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    alone: HashMap<u64, Alone, RandomState>,
    /// Length of the longest datagram on each path that both hosts captured.
    longest: HashMap<(u16, u16), u32>,
}

impl Datagrams {
    /// Notes a datagram of `path`; returns false if the row is of another protocol, or if there are too many flows.
    pub(super) fn take(&mut self, row: &FateRow, path: (u16, u16)) -> bool {
        let packet = &row.packet;
        if packet.protocol != UDP || packet.is_fragment || row.fate == Fate::Duplicated {
            return false;
        }
        if row.fate == Fate::Delivered {
            let longest = self.longest.entry(path).or_default();
            *longest = packet.ip_bytes.max(*longest);
            return true;
        }
        if self.alone.len() >= MOST && !self.alone.contains_key(&packet.direction) {
            return false;
        }
        let alone = self.alone.entry(packet.direction).or_default();
        alone.path = path;
        alone.is_arrived |= row.evidence == Evidence::Arrived;
        let longest = if row.sent.is_some() {
            &mut alone.longest.0
        } else {
            &mut alone.longest.1
        };
        *longest = packet.ip_bytes.max(*longest);
        true
    }

    /// Returns directions in which one capture has packets longer than the path carries, and the other has different
    /// lengths.
    pub(super) fn divided(&self) -> HashSet<u64> {
        let divided = self
            .alone
            .iter()
            .filter(|(_, alone)| self.is_divided(alone));
        divided.map(|(&direction, _)| direction).collect()
    }

    /// Returns paths whose sender's capture lacks datagrams.
    pub(super) fn lacking(&self) -> HashSet<(u16, u16)> {
        let all = self.alone.values();
        let lacking = all.filter(|alone| alone.is_arrived && !self.is_divided(alone));
        lacking.map(|alone| alone.path).collect()
    }

    fn is_divided(&self, alone: &Alone) -> bool {
        let (sent, received) = alone.longest;
        let carried = self.longest.get(&alone.path).copied().unwrap_or_default();
        let is_longer = sent.max(received) > carried.max(ETHERNET);
        is_longer && sent.min(received) > 0 && sent != received
    }
}
