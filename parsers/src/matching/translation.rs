//! Addresses of one capture that stand for others: of a host behind a router that translates them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;

use crate::decode::{Key, Outcome, Packet};

/// An address with whether it is one of IPv6.
pub(super) type Address = (u128, bool);

/// The host's own address for each address of one capture that stands for another.
#[derive(Debug, Clone, Default)]
pub(super) struct Translation(HashMap<Address, u128, RandomState>);

impl Translation {
    /// Notes that `address` stands for `own`.
    pub(super) fn add(&mut self, address: Address, own: u128) {
        self.0.insert(address, own);
    }

    /// Gives `packet` the addresses that its hosts have for themselves.
    pub(super) fn apply(&self, packet: &mut Packet) {
        if self.0.is_empty() || packet.outcome != Outcome::Flow {
            return;
        }
        let key = packet.key;
        let own = |address| self.0.get(&(address, key.v6)).copied().unwrap_or(address);
        let low = (own(key.low), key.low_port);
        let high = (own(key.high), key.high_port);
        let (source, destination) = if packet.from_high {
            (high, low)
        } else {
            (low, high)
        };
        (packet.key, packet.from_high) = Key::new(source, destination, key.protocol, key.v6);
    }

    /// Each translated address with the host's own, in the order of addresses.
    pub(super) fn pairs(&self) -> Vec<(IpAddr, IpAddr)> {
        let pairs = self.0.iter();
        let mut pairs: Vec<_> = pairs
            .map(|(&(seen, v6), &own)| (ip_address(seen, v6), ip_address(own, v6)))
            .collect();
        pairs.sort();
        pairs
    }
}

fn ip_address(address: u128, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::from(address).into()
    } else {
        Ipv4Addr::from(address as u32).into()
    }
}
