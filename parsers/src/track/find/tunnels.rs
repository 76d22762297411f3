//! The tunnels around flows: each is stored once, because many flows share it.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::decode::Outer;

/// The tunnel around the first packet of each direction that is in one.
#[derive(Debug)]
pub(crate) struct Tunnels {
    /// Places in `list`, by connection and whether its key's higher endpoint sends.
    around: HashMap<(u32, bool), u32, RandomState>,
    list: Vec<Outer>,
    places: HashMap<Outer, u32, RandomState>,
}

impl Tunnels {
    pub(crate) fn new(hashing: &RandomState) -> Self {
        Self {
            around: HashMap::with_hasher(hashing.clone()),
            list: Vec::new(),
            places: HashMap::with_hasher(hashing.clone()),
        }
    }

    /// Notes the tunnel around a packet.
    pub(crate) fn note(&mut self, connection: u32, from_high: bool, outer: Outer) {
        let (list, places) = (&mut self.list, &mut self.places);
        self.around
            .entry((connection, from_high))
            .or_insert_with(|| {
                *places.entry(outer).or_insert_with(|| {
                    list.push(outer);
                    list.len() as u32 - 1
                })
            });
    }

    /// Returns the tunnel around the first packet of a direction, if that was in one.
    #[inline]
    pub(crate) fn get(&self, connection: u32, from_high: bool) -> Option<&Outer> {
        if self.list.is_empty() {
            return None;
        }
        let place = self.around.get(&(connection, from_high))?;
        self.list.get(*place as usize)
    }
}
