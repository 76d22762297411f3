//! Turns an Ethernet frame and the port it came from into the ports it goes to: a learning switch between sites.

use std::collections::HashMap;

/// Number of a port, in the order of the configuration.
pub type PortIndex = usize;

/// Addresses kept before the table is emptied and filled again; bounds memory when addresses are forged.
const TABLE_LIMIT: usize = 65_536;

/// Length of the two addresses at the start of a frame.
const ADDRESSES: usize = 12;

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// To one port.
    Port(PortIndex),
    /// To every port but the one it came from.
    Flood,
    /// Nowhere: its destination is behind the port it came from, or it is too short to have one.
    Nowhere,
}

/// The table of learned addresses.
#[derive(Debug, Default)]
pub struct Switch {
    table: HashMap<[u8; 6], PortIndex>,
}

impl Switch {
    /// Learns the frame's source and finds its destination.
    pub fn route(&mut self, frame: &[u8], from: PortIndex) -> Route {
        if frame.len() < ADDRESSES {
            return Route::Nowhere;
        }
        let (mut destination, mut source) = ([0; 6], [0; 6]);
        destination.copy_from_slice(&frame[..6]);
        source.copy_from_slice(&frame[6..ADDRESSES]);
        self.learn(source, from);
        if is_group(destination) {
            return Route::Flood;
        }
        match self.table.get(&destination) {
            Some(&port) if port == from => Route::Nowhere,
            Some(&port) => Route::Port(port),
            None => Route::Flood,
        }
    }

    fn learn(&mut self, source: [u8; 6], from: PortIndex) {
        if is_group(source) || self.table.get(&source) == Some(&from) {
            return;
        }
        if self.table.len() >= TABLE_LIMIT {
            self.table.clear();
        }
        self.table.insert(source, from);
    }
}

/// Returns whether it is broadcast or multicast: those have the lowest bit of the first byte set.
const fn is_group(address: [u8; 6]) -> bool {
    address[0] & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(destination: [u8; 6], source: [u8; 6]) -> Vec<u8> {
        [&destination[..], &source, &[8, 0]].concat()
    }

    #[test]
    fn unknown_destination_is_flooded_until_it_is_learned() {
        let mut switch = Switch::default();
        assert_eq!(switch.route(&frame(B, A), 0), Route::Flood);
        assert_eq!(switch.route(&frame(A, B), 2), Route::Port(0));
        assert_eq!(switch.route(&frame(B, A), 0), Route::Port(2));
    }

    #[test]
    fn broadcast_and_multicast_are_flooded_and_never_learned() {
        let mut switch = Switch::default();
        let group = [1, 0, 0x5e, 0, 0, 1];
        assert_eq!(switch.route(&frame([0xff; 6], group), 1), Route::Flood);
        assert_eq!(switch.route(&frame(group, A), 0), Route::Flood);
    }

    #[test]
    fn neighbours_behind_one_port_do_not_cross_a_link() {
        let mut switch = Switch::default();
        switch.route(&frame(B, A), 0);
        assert_eq!(switch.route(&frame(A, B), 0), Route::Nowhere);
    }

    #[test]
    fn address_that_moves_is_learned_anew() {
        let mut switch = Switch::default();
        switch.route(&frame(B, A), 0);
        switch.route(&frame(B, A), 1);
        assert_eq!(switch.route(&frame(A, B), 2), Route::Port(1));
    }

    #[test]
    fn frame_without_addresses_goes_nowhere() {
        assert_eq!(Switch::default().route(&[0xff; 11], 0), Route::Nowhere);
    }

    #[test]
    fn table_stays_bounded_when_sources_are_forged() {
        let mut switch = Switch::default();
        for number in 0..200_000_u32 {
            let [a, b, c, d] = number.to_be_bytes();
            switch.route(&frame(B, [2, 1, a, b, c, d]), 0);
        }
        assert!(switch.table.len() <= TABLE_LIMIT);
    }
}
