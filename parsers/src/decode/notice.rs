//! What the quick reading notices of packets that may be copies of others: equal marks among the latest ones.

use super::Packet;
use super::checksum::is_left;
use super::segment::Owner;

/// Marks that are remembered, each in the slot that it chooses: few enough for the nearest cache.
const SLOTS: usize = 1 << 12;
/// Right shift that leaves the bits of a hash that choose the slot.
const SLOT_SHIFT: u32 = 64 - 12;

/// Marks of the latest packets.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Notice {
    marks: Box<[u32; SLOTS]>,
    /// Looks for copies, and for times that go back.
    pub copies: bool,
    pub order: bool,
    /// Two packets had the same mark.
    alike: bool,
    /// A time went back.
    pub back: bool,
    /// The checksum of a packet was left to the interface: a copy of it may have another one.
    left: bool,
}

/// The square root of 2 and of 3: any odd numbers without a pattern would do.
const KEYS: [u64; 2] = [0xb504_f333_f9de_6485, 0xddb3_d742_c265_539d];

/// Bits of the checksum among the eight bytes that end with the urgent pointer.
const CHECKSUM: u64 = 0xffff << 32;

/// A hash of two numbers; its upper bits depend on all of theirs.
#[inline]
fn mix(one: u64, other: u64) -> u64 {
    (one.wrapping_mul(KEYS[0]) ^ other).wrapping_mul(KEYS[1])
}

/// The slot of a mark, and what is remembered there.
#[inline]
fn split(hash: u64) -> (usize, u32) {
    let slot = (hash >> SLOT_SHIFT) as usize % SLOTS;
    (slot, (hash >> (SLOT_SHIFT - 32)) as u32)
}

impl Notice {
    pub(crate) fn new(copies: bool, order: bool) -> Self {
        Self {
            marks: Box::new([0; SLOTS]),
            copies,
            order,
            alike: false,
            back: false,
            left: false,
        }
    }

    /// Something that is looked for was noticed.
    pub(crate) fn is_odd(&self) -> bool {
        self.copies && self.alike || self.order && self.back
    }

    #[inline]
    fn note(&mut self, hash: u64) {
        let (slot, rest) = split(hash);
        let mark = &mut self.marks[slot];
        self.alike |= *mark == rest;
        *mark = rest;
    }

    /// Notes the headers of a plain frame: Ethernet, IPv4 without options, TCP. Not what a router changes.
    #[inline]
    pub(crate) fn frame(&mut self, head: &[u8; 54]) {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        // Numbers; receiver and ports; length and identification; flags and window. Not the checksum, which an interface
        // may fill in between two capture points.
        let (of_ip, of_tcp) = (word(16) << 32, word(46) & !CHECKSUM);
        self.note(mix(
            word(38) ^ word(30).rotate_left(29),
            of_ip ^ of_tcp.rotate_left(7),
        ));
    }

    /// Notes any packet of a flow.
    pub(crate) fn packet(&mut self, owner: &Owner, packet: &Packet) {
        let ends = owner.hash ^ u64::from(packet.ident) << 16;
        let numbers = if packet.tcp {
            u64::from(packet.seq) << 32 | u64::from(packet.ack)
        } else {
            // Most hosts give packets of RDMA neither an identification nor a checksum of UDP.
            let number = packet.rdma.map_or(0, |rdma| rdma.number);
            u64::from(number) << 32 | u64::from(packet.ip_bytes)
        };
        let side = u64::from(packet.from_high) << 40;
        let is_left = is_left(packet);
        self.left |= is_left;
        if is_left {
            self.note(mix(numbers ^ side, ends));
            return;
        }
        if self.left {
            let (slot, rest) = split(mix(numbers ^ side, ends));
            self.alike |= self.marks[slot] == rest;
        }
        let stated = u64::from(packet.checksum_field);
        self.note(mix(numbers ^ side, ends ^ stated));
    }
}
