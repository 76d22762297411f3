//! Decoded packets to flows: which connection and direction each belongs to, and what is counted there.

mod arena;
mod direction;
mod gaps;
mod index;
mod ranges;
mod tcp;
mod throughput;

pub(crate) use direction::Direction;
pub(crate) use gaps::bucket_bounds;
pub(crate) use tcp::Rtt;
pub(crate) use throughput::{Bin, Throughput};

use crate::decode::{Key, Outcome, Packet, flag};
use crate::memory::prefetch;
use arena::Arena;
use index::Index;
use std::collections::HashSet;
use tcp::Acknowledged;

/// No direction: that side sent nothing.
const NONE: u32 = u32::MAX;
/// Packets between one step of asking for memory and the next.
const AHEAD: usize = 6;

/// One connection: the packets of one key from one initial sequence number, or without a long pause.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    pub key: Key,
    /// Directions by sender: the key's lower endpoint, then the higher; an index or [`NONE`].
    directions: [u32; 2],
    /// Address pair in the throughput table.
    pair: u32,
    /// Outermost VLAN id of the first packet.
    pub vlan: u16,
    /// The first packet came from the higher endpoint.
    first_from_high: bool,
    /// Who initiated, once a SYN or SYN-ACK told: whether it is the higher endpoint.
    initiator_high: Option<bool>,
    /// A SYN, with or without ACK, was captured.
    pub syn_seen: bool,
    /// A RST was captured.
    pub reset: bool,
    /// Time of the latest packet, for the idle timeout.
    latest: i64,
}

impl Flow {
    /// Whether the initiator is the key's higher endpoint.
    pub(crate) fn forward_from_high(&self) -> bool {
        self.initiator_high.unwrap_or(self.first_from_high)
    }
}

/// What the tracker says about one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Connection number; none for a packet that belongs to no flow.
    pub connection: Option<u32>,
    pub backward: bool,
    pub gap_ns: Option<i64>,
    pub window_bytes: Option<i64>,
}

/// The flow table and everything that is counted per flow.
pub(crate) struct Tracker {
    index: Index,
    flows: Arena<Flow>,
    directions: Arena<Direction>,
    pub throughput: Throughput,
    /// Silence after which a flow that is not TCP ends.
    idle_ns: i64,
    /// The buckets of gaps are wanted.
    count_gaps: bool,
    slots: Vec<u64>,
    /// Connections whose initiator became known after packets of theirs were assigned the wrong way round.
    pub turned: Vec<u32>,
    /// The same, known from an earlier pass.
    known: HashSet<u32>,
}

impl Tracker {
    pub(crate) fn new(bin_ns: i64, idle_ns: i64, count_gaps: bool, known: HashSet<u32>) -> Self {
        Self {
            index: Index::new(),
            flows: Arena::new(),
            directions: Arena::new(),
            throughput: Throughput::new(bin_ns),
            idle_ns,
            count_gaps,
            slots: Vec::new(),
            turned: Vec::new(),
            known,
        }
    }

    /// Counts `packets`, in order. `assigned`, where wanted, is given one entry for each.
    pub(crate) fn process(
        &mut self,
        packets: &[Packet],
        mut assigned: Option<&mut Vec<Assignment>>,
    ) {
        // The flow table is larger than the cache: hash first, and ask for the memory before it is used.
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.extend(packets.iter().map(|packet| self.index.hash(&packet.key)));
        for (position, packet) in packets.iter().enumerate() {
            self.look_ahead(packets, &slots, position);
            let told = if packet.outcome == Outcome::Flow {
                self.packet(packet, slots[position])
            } else {
                Assignment {
                    connection: None,
                    backward: false,
                    gap_ns: None,
                    window_bytes: None,
                }
            };
            if let Some(list) = assigned.as_deref_mut() {
                list.push(told);
            }
        }
        self.slots = slots;
    }

    /// Asks, step by step, for the memory that the packets behind `position` will use.
    #[inline]
    fn look_ahead(&self, packets: &[Packet], slots: &[u64], position: usize) {
        if let Some(&hash) = slots.get(position + 3 * AHEAD) {
            self.index.prefetch(hash);
        }
        let flow_at = |position: usize| {
            let id = self.index.first(*slots.get(position)?)?;
            self.flows.get(id)
        };
        if let Some(flow) = flow_at(position + 2 * AHEAD) {
            prefetch(flow);
        }
        if let Some(flow) = flow_at(position + AHEAD) {
            for id in flow.directions {
                if let Some(direction) = self.directions.get(id) {
                    prefetch(direction);
                }
            }
        }
        if self.count_gaps
            && let (Some(flow), Some(packet)) = (flow_at(position + 2), packets.get(position + 2))
            && let Some(own) = self
                .directions
                .get(flow.directions[usize::from(packet.from_high)])
        {
            own.prefetch_gap(packet);
        }
    }

    #[inline]
    fn packet(&mut self, packet: &Packet, hash: u64) -> Assignment {
        let id = self.find_flow(packet, hash);
        let side = usize::from(packet.from_high);
        let Some(flow) = self.flows.get_mut(id) else {
            unreachable!("flow ids come from the arena")
        };
        flow.latest = flow.latest.max(packet.time);
        let fresh = flow.directions == [NONE; 2];
        let own = if flow.directions[side] == NONE {
            let own = self.directions.push(Direction::new(packet.time));
            flow.directions[side] = own;
            own
        } else {
            flow.directions[side]
        };
        let peer = flow.directions[1 - side];
        if packet.tcp
            && packet.tcp_flags & (flag::SYN | flag::RST) != 0
            && note_start(flow, packet)
            && !fresh
        {
            self.turned.push(id);
        }
        let backward = flow.forward_from_high() != packet.from_high;
        self.throughput.count(flow.pair, side, packet);

        let mut told = Acknowledged::default();
        if packet.tcp
            && let Some(peer) = self.directions.get_mut(peer)
        {
            told = peer.tcp.acknowledged(packet);
        }
        let Some(own) = self.directions.get_mut(own) else {
            unreachable!("direction ids come from the arena")
        };
        let gap_ns = own.count(packet, self.count_gaps);
        let mut window_bytes = None;
        if packet.tcp {
            own.tcp.sent(packet, told);
            window_bytes = own.tcp.window_bytes(packet, told);
        }
        Assignment {
            connection: Some(id),
            backward,
            gap_ns,
            window_bytes,
        }
    }

    /// The flow of `packet`, a new one where it starts one.
    #[inline]
    fn find_flow(&mut self, packet: &Packet, hash: u64) -> u32 {
        let flows = &self.flows;
        let found = self.index.find(hash, |id| {
            flows.get(id).is_some_and(|flow| flow.key == packet.key)
        });
        if let Some(id) = found
            && !self.starts_new(id, packet)
        {
            return id;
        }
        let pair = self.throughput.pair(&packet.key);
        let turned = !self.known.is_empty() && self.known.contains(&(self.flows.len() as u32));
        let id = self.flows.push(Flow {
            key: packet.key,
            directions: [NONE; 2],
            pair,
            vlan: packet.vlan,
            first_from_high: packet.from_high != turned,
            initiator_high: None,
            syn_seen: false,
            reset: false,
            latest: packet.time,
        });
        if let Some(old) = found {
            self.index.replace(hash, old, id);
        } else {
            let (index, flows) = (&mut self.index, &self.flows);
            index.insert(hash, id, |index, id| {
                flows.get(id).map_or(0, |flow| index.hash(&flow.key))
            });
        }
        id
    }

    /// Whether `packet` begins another connection between the endpoints of flow `id`.
    #[inline]
    fn starts_new(&self, id: u32, packet: &Packet) -> bool {
        let Some(flow) = self.flows.get(id) else {
            return true;
        };
        if packet.tcp {
            if packet.tcp_flags & (flag::SYN | flag::ACK) != flag::SYN {
                return false;
            }
            let own = flow.directions[usize::from(packet.from_high)];
            return self
                .directions
                .get(own)
                .is_some_and(|own| own.tcp.other_connection(packet.seq));
        }
        packet.key.protocol != 6 && packet.time.saturating_sub(flow.latest) > self.idle_ns
    }

    /// Connections in order of their first packet.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (u32, &Flow)> {
        self.flows.iter()
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        self.flows.len()
    }

    /// The directions of `flow` that sent a packet, forward first: whether backward, sender high, counts, and
    /// the counts of the other side.
    pub(crate) fn sides<'a>(
        &'a self,
        flow: &'a Flow,
    ) -> impl Iterator<Item = (bool, bool, &'a Direction, Option<&'a Direction>)> {
        let forward = flow.forward_from_high();
        [false, true].into_iter().filter_map(move |backward| {
            let high = forward != backward;
            let own = self.directions.get(flow.directions[usize::from(high)])?;
            let peer = self.directions.get(flow.directions[usize::from(!high)]);
            Some((backward, high, own, peer))
        })
    }
}

/// Learns from a SYN or RST; whether packets before it were assigned the wrong way round.
fn note_start(flow: &mut Flow, packet: &Packet) -> bool {
    if packet.tcp_flags & flag::RST != 0 {
        flow.reset = true;
    }
    if packet.tcp_flags & flag::SYN == 0 {
        return false;
    }
    flow.syn_seen = true;
    if flow.initiator_high.is_some() {
        return false;
    }
    let answer = packet.tcp_flags & flag::ACK != 0;
    let initiator_high = packet.from_high != answer;
    flow.initiator_high = Some(initiator_high);
    initiator_high != flow.first_from_high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_connection_stays_below_the_memory_it_is_promised() {
        println!("{} {}", size_of::<Flow>(), size_of::<Direction>());
        assert!(size_of::<Flow>() + 2 * size_of::<Direction>() <= 896);
    }
}
