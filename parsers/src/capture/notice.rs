//! What the quick reading notices of packets that may be copies of others: equal marks among the latest ones.

use crate::decode::Packet;
use crate::decode::segment::Owner;

/// Marks that are remembered, each in the slot that it chooses: few enough for the nearest cache.
const SLOTS: usize = 1 << 12;
/// Of 64 bits those that choose the slot.
const SLOT_SHIFT: u32 = 64 - 12;

/// Marks of the latest packets.
pub(crate) struct Notice {
    marks: Box<[u32]>,
    /// Looks for copies, and for times that go back.
    pub copies: bool,
    pub order: bool,
    /// Something was noticed.
    pub odd: bool,
}

/// Both products of two numbers in one: each bit of it depends on all of theirs.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// Digits of pi: any odd numbers would do.
const KEYS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345];

impl Notice {
    pub(crate) fn new(copies: bool, order: bool) -> Self {
        Self {
            marks: vec![0; SLOTS].into_boxed_slice(),
            copies,
            order,
            odd: false,
        }
    }

    #[inline]
    fn note(&mut self, hash: u64) {
        if let Some(mark) = self.marks.get_mut((hash >> SLOT_SHIFT) as usize) {
            self.odd |= *mark == hash as u32;
            *mark = hash as u32;
        }
    }

    /// Notes the headers of a plain frame: Ethernet, IPv4 without options, TCP.
    #[inline]
    pub(crate) fn frame(&mut self, head: &[u8; 54]) {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
        // Not what a router changes: TTL and the checksum of IP, between the identification and the addresses.
        let ends = word(26) ^ (half(18) << 48 | half(50) << 16);
        self.note(fold(ends ^ KEYS[0], word(34) ^ KEYS[1]) ^ word(42).wrapping_mul(KEYS[0]));
    }

    /// Notes any packet of a flow.
    pub(crate) fn packet(&mut self, owner: &Owner, packet: &Packet) {
        let ends = owner.hash ^ (u64::from(packet.ident) << 16 | u64::from(packet.checksum_field));
        let numbers = if packet.tcp {
            u64::from(packet.seq) << 32 | u64::from(packet.ack)
        } else {
            u64::from(packet.ip_bytes)
        };
        let side = u64::from(packet.from_high) << 40;
        self.note(fold(ends ^ KEYS[0], numbers ^ side ^ KEYS[1]));
    }
}
