//! Assigns addresses to capture points.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::point::Point;
use super::sighting::Sighting;
use super::window::Side;

/// Points by address; true is IPv6.
#[derive(Debug)]
pub(super) struct Owners {
    points: HashMap<(u128, bool), u16, RandomState>,
}

impl Owners {
    /// Assigns each address to its point; to the last if several points have it.
    pub(super) fn new(points: &[Point]) -> Self {
        let mut all = HashMap::default();
        for (number, point) in points.iter().enumerate() {
            for address in &point.addresses {
                let key = match *address {
                    IpAddr::V4(v4) => (u128::from(u32::from(v4)), false),
                    IpAddr::V6(v6) => (u128::from(v6), true),
                };
                all.insert(key, number as u16);
            }
        }
        Self { points: all }
    }

    /// Returns the points with its source and its destination address.
    pub(super) fn ends(&self, packet: &Sighting) -> (Option<u16>, Option<u16>) {
        let find = |address| self.owner((address, packet.v6));
        (find(packet.source), find(packet.destination))
    }

    /// Returns the point with an address; true is IPv6.
    pub(super) fn owner(&self, address: (u128, bool)) -> Option<u16> {
        self.points.get(&address).copied()
    }

    /// Returns the path between the `ends` of a packet in the capture of `point`, and which side of the path that is;
    /// none if `point` is neither end or both ends, or if the other end is not a point.
    pub(super) fn path(ends: (Option<u16>, Option<u16>), point: u16) -> Option<((u16, u16), Side)> {
        let (Some(sender), Some(receiver)) = ends else {
            return None;
        };
        match (sender == point, receiver == point) {
            (true, false) => Some(((sender, receiver), Side::Sent)),
            (false, true) => Some(((sender, receiver), Side::Received)),
            _ => None,
        }
    }
}
