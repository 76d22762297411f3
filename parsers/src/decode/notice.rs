//! What the quick reading notices of packets that may be copies of others: equal marks among the latest ones.

use super::Packet;
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
}

/// The square root of 2 and of 3: any odd numbers without a pattern would do.
const KEYS: [u64; 2] = [0xb504_f333_f9de_6485, 0xddb3_d742_c265_539d];

/// A hash of two numbers; its upper bits depend on all of theirs.
#[inline]
fn mix(one: u64, other: u64) -> u64 {
    (one.wrapping_mul(KEYS[0]) ^ other).wrapping_mul(KEYS[1])
}

impl Notice {
    pub(crate) fn new(copies: bool, order: bool) -> Self {
        Self {
            marks: Box::new([0; SLOTS]),
            copies,
            order,
            alike: false,
            back: false,
        }
    }

    /// Something that is looked for was noticed.
    pub(crate) fn is_odd(&self) -> bool {
        self.copies && self.alike || self.order && self.back
    }

    #[inline]
    fn note(&mut self, hash: u64) {
        let mark = &mut self.marks[(hash >> SLOT_SHIFT) as usize % SLOTS];
        let rest = (hash >> (SLOT_SHIFT - 32)) as u32;
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
        // Length and identification; flags, window and checksum, which is over ports and addresses, too.
        let (of_ip, of_tcp) = (word(16) << 32, word(46));
        self.note(mix(word(38), of_ip ^ of_tcp.rotate_left(7)));
    }

    /// Notes any packet of a flow.
    pub(crate) fn packet(&mut self, owner: &Owner, packet: &Packet) {
        let ends = owner.hash ^ (u64::from(packet.ident) << 16 | u64::from(packet.checksum_field));
        let numbers = if packet.tcp {
            u64::from(packet.seq) << 32 | u64::from(packet.ack)
        } else {
            // Most hosts give packets of RDMA neither an identification nor a checksum of UDP.
            let number = packet.rdma.map_or(0, |rdma| rdma.number);
            u64::from(number) << 32 | u64::from(packet.ip_bytes)
        };
        let side = u64::from(packet.from_high) << 40;
        self.note(mix(numbers ^ side, ends));
    }
}
