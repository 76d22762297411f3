//! What the first reading finds: which captures lack packets, of which paths nothing can be said because packets do not
//! match, how long packets are under way, and the clocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::clocks::Clocks;
use super::fate::{Evidence, Fate, FateRow};
use super::matcher::{Doubt, Findings};

/// The longest IP packet of a network that has no jumbo frames, and of one that has.
const LONGEST: u32 = 1500;
const LONGEST_JUMBO: u32 = 9216;

/// Evidence about one path, from one host to another.
#[derive(Debug, Default)]
struct Path {
    is_matched: bool,
    /// The longest segments with payload, in the sender's capture and in the receiver's.
    longest: (u32, u32),
    /// Points whose captures lack packets of it: with payload of TCP, and others.
    lacking_data: BTreeSet<usize>,
    lacking: BTreeSet<usize>,
}

impl Path {
    fn doubt(&self) -> Option<Doubt> {
        let (sent, received) = self.longest;
        let longest = sent.max(received);
        if longest > LONGEST_JUMBO || (longest > LONGEST && sent != received) {
            Some(Doubt::Merged)
        } else {
            (!self.is_matched).then_some(Doubt::Unmatched)
        }
    }
}

/// The findings of the first reading.
pub(super) struct First {
    paths: BTreeMap<(u16, u16), Path>,
    /// The shortest and the longest delay of each point, to it or from it.
    pub delays: Vec<Option<(i64, i64)>>,
    pub clocks: Clocks,
}

impl First {
    pub(super) fn new(clocks: Clocks, points: usize) -> Self {
        Self {
            paths: BTreeMap::new(),
            delays: vec![None; points],
            clocks,
        }
    }

    /// The paths of which a packet in one capture alone says nothing.
    pub(super) fn doubts(&self) -> HashMap<(u16, u16), Doubt> {
        let paths = self.paths.iter();
        paths
            .filter_map(|(&path, about)| Some((path, about.doubt()?)))
            .collect()
    }

    /// Points whose captures lack packets for certain.
    pub(super) fn lacks(&self, doubts: &HashMap<(u16, u16), Doubt>) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        for (path, about) in &self.paths {
            let doubt = doubts.get(path);
            if doubt != Some(&Doubt::Unmatched) {
                all.extend(&about.lacking);
            }
            if doubt.is_none() {
                all.extend(&about.lacking_data);
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
        if row.packet.is_data() {
            let bytes = row.packet.ip_bytes;
            if row.sent.is_some() {
                path.longest.0 = bytes.max(path.longest.0);
            }
            if row.received.is_some() {
                path.longest.1 = bytes.max(path.longest.1);
            }
        }
        let lacking = match row.evidence {
            Evidence::Acknowledged => receiver,
            Evidence::Arrived => sender,
            _ => return,
        };
        let lacks = if row.packet.is_data() {
            &mut path.lacking_data
        } else {
            &mut path.lacking
        };
        lacks.insert(usize::from(lacking));
    }

    fn matched(&mut self, path: (u16, u16), sent: i64, received: i64) {
        let delay_ns = received.saturating_sub(sent);
        self.clocks.add(path, sent, received);
        for point in [path.0, path.1] {
            if let Some(delays) = self.delays.get_mut(usize::from(point)) {
                let (shortest, longest) = delays.get_or_insert((delay_ns, delay_ns));
                (*shortest, *longest) = (delay_ns.min(*shortest), delay_ns.max(*longest));
            }
        }
    }
}
