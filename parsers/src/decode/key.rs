//! The key of a flow: the endpoints and the protocol of all its packets.

use std::hash::{BuildHasher, Hasher};

/// Two endpoints and a protocol, the lower endpoint first, so that both directions have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Key {
    /// Address of the lower endpoint; an IPv4 address in the low 32 bits.
    pub low: u128,
    /// Address of the higher endpoint.
    pub high: u128,
    /// Port of the lower endpoint; 0 if the protocol has no ports.
    pub low_port: u16,
    /// Port of the higher endpoint.
    pub high_port: u16,
    /// IP protocol number, or [`FRAGMENT`].
    pub protocol: u8,
    /// IP version 6.
    pub v6: bool,
    /// Distinguishes TCP connections, consecutive or concurrent, that have all of the above in common.
    pub life: u32,
    /// The VLAN or virtual network that distinguishes equal addresses, if the caller wants that; else 0.
    pub network: u32,
}

impl Key {
    /// Returns the key of a packet from `source` to `destination`, each an address and a port, and whether the source
    /// is the higher endpoint.
    #[inline]
    pub(crate) fn new(
        source: (u128, u16),
        destination: (u128, u16),
        protocol: u8,
        v6: bool,
    ) -> (Self, bool) {
        let from_high = source > destination;
        let (low, high) = if from_high {
            (destination, source)
        } else {
            (source, destination)
        };
        let key = Self {
            low: low.0,
            high: high.0,
            low_port: low.1,
            high_port: high.1,
            protocol,
            v6,
            life: 0,
            network: 0,
        };
        (key, from_high)
    }

    /// Returns whether a host sends to itself: no network carries these packets, RFC 1122 3.2.1.3 and RFC 4291 2.5.3.
    pub(crate) fn is_local(&self) -> bool {
        let is_loopback = |end: u128| if self.v6 { end == 1 } else { end >> 24 == 127 };
        self.low == self.high || is_loopback(self.low) || is_loopback(self.high)
    }

    /// Returns the length of an IP header without options.
    pub(crate) fn ip_header(&self) -> u32 {
        if self.v6 { 40 } else { 20 }
    }

    /// Returns its hash under `state`.
    #[inline]
    pub(crate) fn hash(&self, state: &impl BuildHasher) -> u64 {
        let mut hasher = state.build_hasher();
        let ports = u64::from(self.low_port) << 32
            | u64::from(self.high_port) << 16
            | u64::from(self.protocol) << 8
            | u64::from(self.v6);
        if self.v6 {
            hasher.write_u128(self.low);
            hasher.write_u128(self.high);
        } else {
            hasher.write_u64((self.low as u64) << 32 | self.high as u64);
        }
        hasher.write_u64(ports);
        if self.network != 0 {
            hasher.write_u32(self.network);
        }
        let hash = hasher.finish();
        // Spreads `life` over the upper bits, which choose the slot of a table.
        hash ^ u64::from(self.life).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
