//! One connection: who talks with whom, where it ends and the next one begins, who initiated it.

use super::throughput::{NO_LANE, Throughput};
use crate::common::suspicion::Suspicion;
use crate::decode::segment::{Segment, since};
use crate::decode::{Key, TCP, flag};

/// One connection: the packets of one key from one initial sequence number, or without a long pause. Fills one
/// cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Connection {
    low: u128,
    high: u128,
    /// TCP: the key's life, and its network in the upper bits. Else the time of the latest packet, for the timeout.
    latest_or_life: u64,
    /// TCP: initial sequence number of each side, or the number before the first byte seen. Else the key's network.
    bases_or_network: [u32; 2],
    /// Where each side's bytes are counted over time; [`NO_LANE`] before its first packet.
    lanes: [u32; 2],
    low_port: u16,
    high_port: u16,
    /// Outermost VLAN id of the first packet.
    pub vlan: u16,
    protocol: u8,
    bits: u8,
}

const V6: u8 = 1;
/// The first packet came from the higher endpoint.
const FIRST_HIGH: u8 = 2;
/// A SYN or SYN-ACK showed who initiated, ...
const TOLD: u8 = 4;
/// ... and it was the higher endpoint.
const TOLD_HIGH: u8 = 8;
/// A SYN, with or without ACK, was captured.
const SYN: u8 = 16;
const RESET: u8 = 32;
/// The first base is known; shifted left by one: the second.
const BASE: u8 = 64;

impl Connection {
    /// Begins with `segment`, whose sender is taken for the initiator, or if `turned` its receiver.
    pub(crate) fn new(key: &Key, vlan: u16, segment: &Segment, turned: bool) -> Self {
        let mut bits = if key.v6 { V6 } else { 0 };
        if segment.is_from_high() != turned {
            bits |= FIRST_HIGH;
        }
        let (latest_or_life, bases_or_network) = if key.protocol == TCP {
            let life = u64::from(key.network) << 32 | u64::from(key.life);
            (life, [0; 2])
        } else {
            (segment.time as u64, [key.network, 0])
        };
        Self {
            low: key.low,
            high: key.high,
            latest_or_life,
            bases_or_network,
            lanes: [NO_LANE; 2],
            low_port: key.low_port,
            high_port: key.high_port,
            vlan,
            protocol: key.protocol,
            bits,
        }
    }

    pub(crate) fn key(&self) -> Key {
        let (life, network) = if self.protocol == TCP {
            (
                self.latest_or_life as u32,
                (self.latest_or_life >> 32) as u32,
            )
        } else {
            (0, self.bases_or_network[0])
        };
        Key {
            low: self.low,
            high: self.high,
            low_port: self.low_port,
            high_port: self.high_port,
            protocol: self.protocol,
            v6: self.has(V6),
            life,
            network,
        }
    }

    #[inline]
    pub(crate) fn is(&self, key: &Key) -> bool {
        self.key() == *key
    }

    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// Returns whether the initiator is the key's higher endpoint.
    pub(crate) fn forward_from_high(&self) -> bool {
        self.has(if self.has(TOLD) {
            TOLD_HIGH
        } else {
            FIRST_HIGH
        })
    }

    /// Returns whether a SYN, with or without ACK, was captured.
    pub(crate) fn syn_seen(&self) -> bool {
        self.has(SYN)
    }

    /// Returns whether a RST was captured.
    pub(crate) fn reset(&self) -> bool {
        self.has(RESET)
    }

    /// Returns whether `segment` ends a long silence, and so begins another connection between these endpoints. TCP has
    /// no timeout: sifting separates the lives of a key.
    #[inline]
    pub(crate) fn ended_before(&self, segment: &Segment, idle_ns: i64) -> bool {
        self.protocol != TCP && since(segment.time, self.latest_or_life as i64) > idle_ns
    }

    /// Returns whether `segment`, a SYN, may begin another connection between these endpoints.
    fn may_end(&self, segment: &Segment) -> bool {
        if segment.flags() & (flag::SYN | flag::ACK) != flag::SYN {
            return false;
        }
        let side = usize::from(segment.is_from_high());
        self.has(BASE << side) && self.bases_or_network[side] != segment.seq
    }

    /// Takes in `segment`; returns whether that turned the direction.
    #[inline]
    fn note(&mut self, segment: &Segment, suspicion: &Suspicion) -> bool {
        if self.protocol != TCP {
            let latest = (self.latest_or_life as i64).max(segment.time);
            self.latest_or_life = latest as u64;
            return false;
        }
        if !segment.tcp() {
            return false;
        }
        let side = usize::from(segment.is_from_high());
        if !self.has(BASE << side) {
            self.bits |= BASE << side;
            let before = u32::from(!segment.has(flag::SYN));
            self.bases_or_network[side] = segment.seq.wrapping_sub(before);
        }
        if !segment.has(flag::SYN | flag::RST) {
            return false;
        }
        if self.may_end(segment) {
            suspicion.raise();
        }
        let forward = self.forward_from_high();
        self.note_ends(segment);
        forward != self.forward_from_high()
    }

    /// Takes in a packet; returns whether the direction turned. Raises `suspicion` if it may be of another connection.
    #[inline]
    pub(crate) fn take(
        &mut self,
        segment: &Segment,
        throughput: &mut Throughput,
        suspicion: &Suspicion,
    ) -> bool {
        let turned = self.note(segment, suspicion);
        self.take_refused(segment, throughput);
        turned
    }

    /// Takes in a packet that its receiver refuses, which does not change the connection.
    #[inline]
    pub(crate) fn take_refused(&mut self, segment: &Segment, throughput: &mut Throughput) {
        let side = usize::from(segment.is_from_high());
        if self.lanes[side] == NO_LANE {
            self.lanes[side] = throughput.lane(&self.key(), side);
        }
        throughput.count(self.lanes[side], segment);
    }

    /// Takes in packets of the side that sent the one before them: [`crate::decode::segment::OwnerKind::Run`].
    #[inline]
    pub(crate) fn take_run(&mut self, run: &[Segment], throughput: &mut Throughput) {
        let Some(first) = run.first() else { return };
        throughput.count_run(self.lanes[usize::from(first.is_from_high())], run);
    }

    fn note_ends(&mut self, segment: &Segment) {
        if segment.has(flag::RST) {
            self.bits |= RESET;
        }
        if !segment.has(flag::SYN) {
            return;
        }
        self.bits |= SYN;
        if !self.has(TOLD) {
            let answer = segment.has(flag::ACK);
            self.bits |= TOLD;
            if segment.is_from_high() != answer {
                self.bits |= TOLD_HIGH;
            }
        }
    }
}
