//! The results of matching in numbers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::clocks::ClockRow;
use super::fate::{Fate, FateRow};
use super::one_way::OneWayRow;
use super::translation::Translation;
use crate::common::error::Damage;

/// Packets from one host to another, by their fate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Name of the host with the source address.
    pub sender: String,
    /// Name of the host with the destination address.
    pub receiver: String,
    /// Packets by the name of their fate.
    pub fates: BTreeMap<&'static str, u64>,
    /// Delivered packets that others overtook.
    pub reordered: u64,
    /// Packets in the sender's capture that repeat sequence numbers.
    pub retransmissions: u64,
    /// Delivered packets that seem to arrive before they were sent, by repaired clocks.
    pub negative_delays: u64,
    /// Delivered packets whose delay cannot be computed from the clocks.
    pub unknown_delays: u64,
}

/// A clock between two steps, compared with the reference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClockFound {
    /// Name of the host.
    pub host: String,
    /// Name of the host whose clock the others are compared with.
    pub reference: String,
    /// How far the host's clock is ahead at the start of this row; none if unknown.
    pub offset_ns: Option<i64>,
    /// The possible error of `offset_ns` until the end of this row.
    pub error_ns: Option<i64>,
    /// How fast it gains on the reference.
    pub drift_ppm: Option<f64>,
    /// How it was found.
    pub method: &'static str,
}

impl ClockFound {
    pub(super) fn new(row: &ClockRow, names: &[String]) -> Self {
        let name = |number: u16| names.get(usize::from(number)).cloned().unwrap_or_default();
        Self {
            host: name(row.host),
            reference: name(row.reference),
            offset_ns: row.offset,
            error_ns: row.error,
            drift_ppm: row.drift_ppm,
            method: row.method.name(),
        }
    }
}

/// An address in one capture that stands for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslationFound {
    /// Name of the host that made the capture.
    pub host: String,
    /// The address in the capture.
    pub seen: IpAddr,
    /// The host's own address, which is also the one in the tables.
    pub own: IpAddr,
}

impl TranslationFound {
    pub(super) fn all(translations: &[Translation], names: &[String]) -> Vec<Self> {
        let hosts = names.iter().zip(translations);
        let found = hosts.flat_map(|(host, translation)| {
            translation.pairs().into_iter().map(|(seen, own)| Self {
                host: host.clone(),
                seen,
                own,
            })
        });
        found.collect()
    }
}

/// Packets of a match by host and path, with the clocks found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchSummary {
    /// The number of records in the captures of each host.
    pub records: Vec<(String, u64)>,
    /// The number of each host's records that are not readable IP packets: they have no fate.
    pub without_ip: Vec<(String, u64)>,
    /// Paths between two hosts that have packets.
    pub paths: Vec<PathCounts>,
    /// Addresses that a router translates, in order of hosts and addresses.
    pub translations: Vec<TranslationFound>,
    /// The clocks of all hosts, in order of hosts and times.
    pub clocks: Vec<ClockFound>,
    /// Packets with an endpoint that is not a captured host.
    pub outside: u64,
    /// Hosts whose captures go back in time, although no other capture shows that their clocks were set.
    pub out_of_order: Vec<String>,
    /// Where reading stopped before the end of a file.
    pub damage: Vec<Damage>,
}

impl MatchSummary {
    /// Returns the number of packets with this fate on all paths.
    pub fn count(&self, fate: &str) -> u64 {
        let counts = self.paths.iter().filter_map(|path| path.fates.get(fate));
        counts.sum()
    }
}

/// Counts rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// For each path, also the number of packets with each fate, by the fate's number.
    paths: BTreeMap<(u16, u16), (PathCounts, [u64; Fate::ALL.len()])>,
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
        let (path, fates) = self.paths.entry((sender, receiver)).or_default();
        fates[row.fate as usize] += 1;
        path.reordered += u64::from(row.reordered_by.is_some_and(|extent| extent > 0));
        path.retransmissions += u64::from(row.is_retransmission == Some(true));
    }

    pub(super) fn add_delay(&mut self, row: &OneWayRow) {
        let (path, _) = self.paths.entry(row.path).or_default();
        path.negative_delays += u64::from(row.delay.duration.is_some_and(|delay| delay < 0));
        path.unknown_delays += u64::from(row.delay.duration.is_none());
    }

    pub(super) fn finish(self, names: &[String]) -> (Vec<PathCounts>, u64) {
        let name = |number: u16| names.get(usize::from(number)).cloned().unwrap_or_default();
        let paths = self.paths.into_iter();
        let paths = paths.map(|((sender, receiver), (path, fates))| PathCounts {
            sender: name(sender),
            receiver: name(receiver),
            fates: counted(fates),
            ..path
        });
        (paths.collect(), self.outside)
    }
}

/// Returns the number of packets by the name of their fate, without zeros.
fn counted(packets: [u64; Fate::ALL.len()]) -> BTreeMap<&'static str, u64> {
    let all = Fate::ALL.iter().map(|fate| fate.name()).zip(packets);
    all.filter(|&(_, packets)| packets > 0).collect()
}
