//! Datagrams that network interfaces cut or merge between two captures (UDP GSO and GRO), as those of QUIC: they are in one
//! capture alone, and nothing in their headers tells which bytes they carry. So nothing is said of them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::fate::{Evidence, Fate, FateRow};
use crate::decode::UDP;

/// Most directions that are remembered.
const MOST: usize = 1 << 16;
/// Length of the longest packet that Ethernet carries: what is cut or merged is longer.
const ETHERNET: u32 = 1_500;

/// Datagrams of one direction of a flow that are in one capture alone.
#[derive(Debug, Default)]
struct Alone {
    /// The path, from one point to another.
    path: (u16, u16),
    /// Length of the longest packet that only the sender captured, and of that which only the receiver did.
    longest: (u32, u32),
    /// The sender's capture would lack one, if none was cut.
    is_arrived: bool,
}

/// What is known of datagrams that are in one capture alone.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    alone: HashMap<u64, Alone, RandomState>,
    /// Length of the longest datagram of each path that is in both captures.
    longest: HashMap<(u16, u16), u32>,
}

impl Datagrams {
    /// Takes a datagram of `path`; false where the row is of something else, or of one datagram too many.
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

    /// Directions in which one capture has longer packets than the path carries, and the other one has others.
    pub(super) fn divided(&self) -> HashSet<u64> {
        let divided = self
            .alone
            .iter()
            .filter(|(_, alone)| self.is_divided(alone));
        divided.map(|(&direction, _)| direction).collect()
    }

    /// Paths whose sender's capture lacks datagrams.
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
