//! Packets that a router on the path divides into fragments (RFC 791 3.2): the sender's capture has the whole packets,
//! the receiver's has the fragments. They share only addresses and the identification, so their fates are unknown.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;

use super::fate::{Evidence, Fate, FateRow};
use super::sighting::Sighting;
use super::window::Side;

/// Most packets of each kind that are stored.
const MOST: usize = 1 << 16;

/// A path, and the identification of a packet.
type Whole = ((u16, u16), u16);

/// Finds paths on which packets are divided.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Lengths of whole packets that only the sender captured.
    whole: HashMap<Whole, u32, RandomState>,
    /// Packets of which only the receiver captured a fragment.
    parts: HashSet<Whole, RandomState>,
    /// Paths with a fragment that was sent during the sender's capture.
    arrived: HashSet<(u16, u16)>,
}

impl Fragments {
    /// Notes a packet of `path`. Returns whether it is a fragment that the sender's capture lacks.
    pub(super) fn take(&mut self, row: &FateRow, path: (u16, u16)) -> bool {
        let packet = &row.packet;
        if packet.v6 || packet.ident == 0 || matches!(row.fate, Fate::Delivered | Fate::Duplicated)
        {
            return false;
        }
        let key = (path, packet.ident);
        if packet.is_fragment && row.sent.is_none() {
            if self.parts.len() < MOST {
                self.parts.insert(key);
            }
            if row.evidence == Evidence::Arrived {
                self.arrived.insert(path);
            }
            return true;
        }
        if !packet.is_fragment && row.received.is_none() && self.whole.len() < MOST {
            self.whole.insert(key, packet.ip_bytes);
        }
        false
    }

    /// Returns the length of the shortest packet that was divided, by path.
    pub(super) fn divided(&self) -> BTreeMap<(u16, u16), u32> {
        let mut all = BTreeMap::new();
        for key in &self.parts {
            if let Some(&bytes) = self.whole.get(key) {
                let shortest = all.entry(key.0).or_insert(bytes);
                *shortest = bytes.min(*shortest);
            }
        }
        all
    }

    /// Returns paths with a fragment that the sender's capture lacks although no packet was divided.
    pub(super) fn lacking(&self) -> HashSet<(u16, u16)> {
        let divided = self.divided();
        let arrived = self.arrived.iter().copied();
        arrived.filter(|path| !divided.contains_key(path)).collect()
    }
}

/// Returns whether a packet in only one capture may have been divided, or may be a fragment.
pub(super) fn may_be_divided(
    divided: &BTreeMap<(u16, u16), u32>,
    packet: &Sighting,
    path: (u16, u16),
    side: Side,
) -> bool {
    divided.get(&path).is_some_and(|&shortest| match side {
        Side::Sent => !packet.is_fragment && packet.ip_bytes >= shortest,
        Side::Received => packet.is_fragment,
    })
}
