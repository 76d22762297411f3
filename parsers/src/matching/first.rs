//! Findings of the first reading: which captures lack packets, on which paths segments were cut or merged, which paths
//! have no matching packets and therefore no evidence, the delays of packets, and the clocks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::clocks::Clocks;
use super::datagrams::Datagrams;
use super::fate::{Evidence, Fate, FateRow};
use super::fragmented::Fragments;
use super::matcher::{Doubt, Findings, Moment};

/// Evidence about one path, from one host to another.
#[derive(Debug, Default)]
struct Path {
    is_matched: bool,
    /// Whether segments with payload are only in the sender's capture, and only in the receiver's.
    has_alone: (bool, bool),
    /// Points whose captures lack packets of this path.
    lacking: BTreeSet<usize>,
}

impl Path {
    /// Returns whether segments with payload may have been cut or merged between the two captures.
    fn is_resegmented(&self) -> bool {
        self.has_alone == (true, true)
    }
}

/// The findings of the first reading.
pub(super) struct First {
    paths: BTreeMap<(u16, u16), Path>,
    datagrams: Datagrams,
    fragments: Fragments,
    /// The shortest and the longest delay to or from each point.
    pub delays: Vec<Option<(i64, i64)>>,
    pub clocks: Clocks,
}

impl First {
    pub(super) fn new(clocks: Clocks, points: usize) -> Self {
        Self {
            paths: BTreeMap::new(),
            datagrams: Datagrams::default(),
            fragments: Fragments::default(),
            delays: vec![None; points],
            clocks,
        }
    }

    /// Returns paths whose segments must be matched by their bytes.
    pub(super) fn resegmented(&self) -> HashMap<(u16, u16), Doubt> {
        let paths = self
            .paths
            .iter()
            .filter(|(_, about)| about.is_resegmented());
        paths.map(|(&path, _)| (path, Doubt::Resegmented)).collect()
    }

    /// Adds to `doubts` the paths on which a packet in only one capture proves nothing.
    pub(super) fn add_unmatched(&self, doubts: &mut HashMap<(u16, u16), Doubt>) {
        let paths = self.paths.iter().filter(|(_, about)| !about.is_matched);
        doubts.extend(paths.map(|(&path, _)| (path, Doubt::Unmatched)));
    }

    /// Returns directions of flows whose datagrams interfaces cut or merged.
    pub(super) fn divided(&self) -> HashSet<u64> {
        self.datagrams.divided()
    }

    /// Returns the length of the shortest packet that routers divided, by path.
    pub(super) fn fragmented(&self) -> BTreeMap<(u16, u16), u32> {
        self.fragments.divided()
    }

    /// Returns points whose captures certainly lack packets.
    pub(super) fn lacks(&self, doubts: &HashMap<(u16, u16), Doubt>) -> BTreeSet<usize> {
        let mut lacking = self.datagrams.lacking();
        lacking.extend(self.fragments.lacking());
        let mut all = BTreeSet::new();
        for (path, about) in &self.paths {
            let doubt = doubts.get(path);
            if doubt != Some(&Doubt::Unmatched) {
                all.extend(&about.lacking);
                all.extend(lacking.contains(path).then_some(usize::from(path.0)));
            }
        }
        all
    }
}

impl Findings for First {
    fn fate(&mut self, row: &FateRow) {
        let (Some(sender), Some(receiver), false) =
            (row.sender, row.receiver, row.fate == Fate::Outside)
        else {
            return;
        };
        let path = self.paths.entry((sender, receiver)).or_default();
        path.is_matched |= row.fate == Fate::Delivered;
        if row.packet.is_data() && row.fate != Fate::Duplicated {
            path.has_alone.0 |= row.received.is_none();
            path.has_alone.1 |= row.sent.is_none();
        }
        let is_part = self.fragments.take(row, (sender, receiver));
        if is_part || self.datagrams.take(row, (sender, receiver)) {
            return;
        }
        let lacking = match row.evidence {
            Evidence::Acknowledged => receiver,
            Evidence::Arrived => sender,
            _ => return,
        };
        path.lacking.insert(usize::from(lacking));
    }

    fn matched(&mut self, path: (u16, u16), sent: Moment, received: Moment) {
        let delay_ns = received.common_time.saturating_sub(sent.common_time);
        self.clocks.add(path, sent.time, received.time);
        for point in [path.0, path.1] {
            if let Some(delays) = self.delays.get_mut(usize::from(point)) {
                let (shortest, longest) = delays.get_or_insert((delay_ns, delay_ns));
                (*shortest, *longest) = (delay_ns.min(*shortest), delay_ns.max(*longest));
            }
        }
    }
}
