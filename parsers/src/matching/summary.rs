//! What was found, in numbers.

use std::collections::BTreeMap;

use super::fate::{Fate, FateRow};
use crate::common::error::Damage;

/// Packets from one host to another, by their fate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Names of the hosts.
    pub sender: String,
    /// Who has the destination address.
    pub receiver: String,
    /// Packets by the name of their fate.
    pub fates: BTreeMap<&'static str, u64>,
    /// Delivered packets that others overtook.
    pub reordered: u64,
    /// Packets in the sender's capture that repeat sequence numbers.
    pub retransmissions: u64,
}

/// What was read and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchSummary {
    /// Each host with the records of its captures.
    pub records: Vec<(String, u64)>,
    /// Each host with the records that are no readable IP packet: they have no fate.
    pub without_ip: Vec<(String, u64)>,
    /// Paths between two hosts that have a packet.
    pub paths: Vec<PathCounts>,
    /// Packets of which one end is no captured host.
    pub outside: u64,
    /// Where reading stopped before the end of a file.
    pub damage: Vec<Damage>,
}

impl MatchSummary {
    /// Packets with this fate on all paths.
    pub fn count(&self, fate: &str) -> u64 {
        let counts = self.paths.iter().filter_map(|path| path.fates.get(fate));
        counts.sum()
    }
}

/// Counts rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    paths: BTreeMap<(u16, u16), PathCounts>,
    outside: u64,
}

impl Counts {
    pub(super) fn add(&mut self, row: &FateRow) {
        let (Some(sender), Some(receiver), false) =
            (row.sender, row.receiver, row.fate == Fate::Outside)
        else {
            self.outside += 1;
            return;
        };
        let path = self.paths.entry((sender, receiver)).or_default();
        *path.fates.entry(row.fate.name()).or_default() += 1;
        path.reordered += u64::from(row.reordered_by.is_some_and(|extent| extent > 0));
        path.retransmissions += u64::from(row.is_retransmission == Some(true));
    }

    pub(super) fn finish(self, names: &[String]) -> (Vec<PathCounts>, u64) {
        let name = |number: u16| names.get(usize::from(number)).cloned().unwrap_or_default();
        let paths = self.paths.into_iter();
        let paths = paths.map(|((sender, receiver), path)| PathCounts {
            sender: name(sender),
            receiver: name(receiver),
            ..path
        });
        (paths.collect(), self.outside)
    }
}
