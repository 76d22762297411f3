//! Addresses in one capture that stand for others: those of hosts behind a router that translates them.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;

use crate::decode::{Key, Outcome, Packet};

/// An address; true is IPv6.
pub(super) type Address = (u128, bool);

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    pub address: Address,
    pub port: u16,
    pub protocol: u8,
}

/// Maps addresses in one capture to the hosts' own addresses, and endpoints to the hosts' own addresses and ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Translation {
    addresses: HashMap<Address, u128, RandomState>,
    endpoints: HashMap<Endpoint, (u128, u16), RandomState>,
}

impl Translation {
    /// Notes that `address` stands for `own`.
    pub(super) fn add_address(&mut self, address: Address, own: u128) {
        self.addresses.insert(address, own);
    }

    /// Notes that `endpoint` stands for `own`.
    pub(super) fn add_endpoint(&mut self, endpoint: Endpoint, own: (u128, u16)) {
        self.endpoints.insert(endpoint, own);
    }

    /// Returns the host's own address and port.
    pub(super) fn find(&self, endpoint: Endpoint) -> (u128, u16) {
        if let Some(&own) = self.endpoints.get(&endpoint) {
            return own;
        }
        let own = self.addresses.get(&endpoint.address).copied();
        (own.unwrap_or(endpoint.address.0), endpoint.port)
    }

    /// Replaces the addresses and ports of `packet` by the hosts' own.
    pub(super) fn apply(&self, packet: &mut Packet) {
        if self.addresses.is_empty() && self.endpoints.is_empty() || packet.outcome != Outcome::Flow
        {
            return;
        }
        let key = packet.key;
        let own = |address, port| {
            self.find(Endpoint {
                address: (address, key.v6),
                port,
                protocol: key.protocol,
            })
        };
        let low = own(key.low, key.low_port);
        let high = own(key.high, key.high_port);
        let (source, destination) = if packet.from_high {
            (high, low)
        } else {
            (low, high)
        };
        (packet.key, packet.from_high) = Key::new(source, destination, key.protocol, key.v6);
    }

    /// Returns each translated address with the host's own, in the order of addresses.
    pub(super) fn pairs(&self) -> Vec<(IpAddr, IpAddr)> {
        let addresses = self.addresses.iter().map(|(&seen, &own)| (seen, own));
        let endpoints = self.endpoints.iter();
        let endpoints = endpoints.map(|(seen, own)| (seen.address, own.0));
        let pairs = addresses
            .chain(endpoints)
            .filter(|&(seen, own)| seen.0 != own);
        let pairs: BTreeSet<_> = pairs
            .map(|((seen, v6), own)| (ip_address(seen, v6), ip_address(own, v6)))
            .collect();
        pairs.into_iter().collect()
    }
}

fn ip_address(address: u128, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::from(address).into()
    } else {
        Ipv4Addr::from(address as u32).into()
    }
}
