//! Detects packets that may be copies during the quick reading: equal marks among the latest ones.

use super::checksum::is_left;
use super::segment::Owner;
use super::{Packet, UDP, flag};
use crate::common::suspicion::Suspicion;

/// Remembered marks, each in the slot that its hash selects: few enough for the nearest cache.
const SLOTS: usize = 1 << 12;
/// Right shift that leaves the bits of a hash that select the slot.
const SLOT_SHIFT: u32 = 64 - 12;
/// Bits of a remembered mark for its time, and the right shift from ns to that time: steps of 17 ms.
const TIME_BITS: u32 = 24;
const TIME_SHIFT: u32 = 24;
/// A copy follows within this many steps (1 s), and a copy without identification within fewer (67 ms): the careful
/// reading does not accept later ones as copies.
const IDENTIFIED_STEPS: u64 = 61;
const OTHER_STEPS: u64 = 4;
/// A host answers each packet of an unknown connection with the same RST. If at most one packet in this many is a RST
/// that looks like a copy, no careful reading is needed.
const RESETS: u64 = 16;
/// Bytes of a datagram that distinguish it from others of its length if its checksum was not filled in.
const PEEKED: usize = 32;

/// Marks of the latest packets.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Notice {
    /// Each mark has its time in the low bits.
    marks: Box<[u64]>,
    /// Whether to look for copies, and for times that go back.
    pub copies: bool,
    pub order: bool,
    /// Two packets other than RSTs had the same mark.
    alike: bool,
    /// How often two packets had the same mark, ...
    alike_resets: u64,
    /// ... and the number of all packets.
    noted: u64,
    /// A time went back.
    pub back: bool,
    /// The checksum of a packet was left to the interface: a copy may have a different one.
    left: bool,
}

/// A hash of the headers that a packet and its copies share, with the packet's time.
struct Mark {
    hash: u64,
    time: i64,
    has_ident: bool,
    is_reset: bool,
}

/// From the square roots of 2, 3, 5 and 6: any odd numbers without a pattern would do.
const KEYS: [u64; 4] = [
    0xb504_f333_f9de_6485,
    0xddb3_d742_c265_539d,
    0x8f1b_bcdc_bfa5_3e0b,
    0x9cc4_70a0_4909_73e9,
];

/// Returns a hash of two numbers; each of its bits depends on all of theirs.
#[inline]
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

impl Mark {
    /// Returns the slot that the hash selects.
    #[inline]
    fn slot(&self) -> usize {
        (self.hash >> SLOT_SHIFT) as usize % SLOTS
    }

    /// Returns the remaining bits of the hash and the time, as stored in the slot.
    #[inline]
    fn stamped(&self) -> u64 {
        let time = (self.time >> TIME_SHIFT) as u64 & ((1 << TIME_BITS) - 1);
        self.hash << TIME_BITS | time
    }

    /// Returns whether the mark equals the stored mark `before`, whatever the times.
    #[inline]
    fn is_like(&self, before: u64) -> bool {
        self.hash << TIME_BITS == before >> TIME_BITS << TIME_BITS
    }

    /// Returns whether the packet follows that of `before` as soon as a copy would.
    fn is_soon(&self, before: u64) -> bool {
        let now = self.stamped();
        let steps = if self.has_ident {
            IDENTIFIED_STEPS
        } else {
            OTHER_STEPS
        };
        // Times in files may be slightly out of order.
        let waited = now.wrapping_sub(before).wrapping_add(OTHER_STEPS) & ((1 << TIME_BITS) - 1);
        waited <= steps + OTHER_STEPS
    }
}

impl Notice {
    pub(crate) fn new(copies: bool, order: bool) -> Self {
        Self {
            marks: vec![0; SLOTS].into_boxed_slice(),
            copies,
            order,
            alike: false,
            alike_resets: 0,
            noted: 0,
            back: false,
            left: false,
        }
    }

    /// Raises `suspicion` for what was wanted and found.
    pub(crate) fn report(&self, suspicion: &Suspicion) {
        let alike = self.alike || self.alike_resets * RESETS > self.noted;
        if self.copies && alike {
            suspicion.raise();
        } else if self.order && self.back {
            suspicion.raise_order();
        }
    }

    #[inline]
    fn note(&mut self, mark: &Mark) {
        self.compare(mark);
        self.marks[mark.slot()] = mark.stamped();
    }

    /// Checks whether `mark` was seen before.
    #[inline]
    fn compare(&mut self, mark: &Mark) {
        let before = self.marks[mark.slot()];
        if mark.is_like(before) {
            self.note_alike(mark, before);
        }
    }

    #[cold]
    fn note_alike(&mut self, mark: &Mark, before: u64) {
        if mark.is_soon(before) {
            self.alike |= !mark.is_reset;
            self.alike_resets += 1;
        }
    }

    /// Counts `packets` more packets.
    pub(crate) fn count(&mut self, packets: usize) {
        self.noted += packets as u64;
    }

    /// Notes the headers of a plain frame: Ethernet, IPv4 without options, TCP; fields that a router changes are left
    /// out.
    #[inline]
    pub(crate) fn frame(&mut self, head: &[u8; 54], time: i64) {
        if let Some(plain) = head.last_chunk() {
            self.plain(plain, time);
        }
    }

    /// Notes the headers of IPv4 without options, and of TCP after it.
    #[inline]
    fn plain(&mut self, head: &[u8; 40], time: i64) {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        // Addresses; ports and number; acknowledgement, flags and window; length and identification. The checksum is
        // left out, because an interface may fill it in between two capture points.
        let ends = mix(word(12) ^ KEYS[0], word(20) ^ KEYS[1]);
        let rest = mix(word(28) ^ KEYS[2], word(2) << 32 ^ KEYS[3]);
        self.note(&Mark {
            hash: ends ^ rest,
            time,
            has_ident: head[4] | head[5] != 0,
            is_reset: head[33] & flag::RST as u8 != 0,
        });
    }

    /// Notes any packet of a flow; its captured `bytes` were decoded as `packet`.
    pub(crate) fn packet(&mut self, owner: &Owner, packet: &Packet, bytes: &[u8], time: i64) {
        // A copy may be a plain frame, for example if it lacks the tag of this one.
        if let Some(head) = plain_headers(packet, bytes) {
            return self.plain(head, time);
        }
        let ends = owner.hash ^ u64::from(packet.ident) << 16;
        let numbers = if packet.tcp {
            u64::from(packet.seq) << 32 | u64::from(packet.ack)
        } else {
            // Most hosts send RDMA packets with neither an identification nor a UDP checksum.
            let number = packet.rdma.map_or(0, |rdma| rdma.number);
            let place = if packet.fragment {
                packet.part.range().0
            } else {
                0
            };
            u64::from(number ^ place) << 32 | u64::from(packet.ip_bytes)
        };
        let numbers = numbers ^ u64::from(packet.from_high) << 40;
        let mark = |other: u64| Mark {
            hash: mix(numbers ^ KEYS[0], ends ^ other ^ KEYS[1]),
            time,
            has_ident: packet.ident != 0,
            is_reset: packet.tcp && packet.tcp_flags & flag::RST != 0,
        };
        let is_left = is_left(packet);
        self.left |= is_left;
        let peeked = if self.left { peek(packet, bytes) } else { 0 };
        if is_left {
            self.note(&mark(peeked));
            return;
        }
        if self.left {
            self.compare(&mark(peeked));
        }
        self.note(&mark(u64::from(packet.checksum_field)));
    }
}

/// Returns the headers of a TCP segment after IPv4 without options, if all of them were captured.
fn plain_headers<'a>(packet: &Packet, bytes: &'a [u8]) -> Option<&'a [u8; 40]> {
    let begin = (packet.transport_at as usize).checked_sub(20)?;
    let head: &[u8; 40] = bytes.get(begin..)?.first_chunk()?;
    (packet.tcp && !packet.fragment && head[0] == 0x45).then_some(head)
}

/// Returns a hash of the start of a datagram's payload. A TCP segment is identified by its numbers.
fn peek(packet: &Packet, bytes: &[u8]) -> u64 {
    if packet.key.protocol != UDP {
        return 0;
    }
    let begin = packet.transport_at as usize + 8;
    let end = begin + PEEKED.min(packet.payload as usize);
    let payload = bytes.get(begin..end.min(bytes.len()));
    let words = payload.unwrap_or_default().chunks(8);
    words.fold(0, |hash, word| {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        mix(hash ^ KEYS[2], u64::from_le_bytes(bytes) ^ KEYS[3])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Returns the headers of an acknowledgement with these numbers.
    fn frame(port: u16, ack: u32, ident: u16, flags: u8) -> [u8; 54] {
        let mut head = [0; 54];
        head[12..15].copy_from_slice(&[8, 0, 0x45]);
        head[16..18].copy_from_slice(&[0, 40]);
        head[18..20].copy_from_slice(&ident.to_be_bytes());
        head[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        head[34..36].copy_from_slice(&port.to_be_bytes());
        head[42..46].copy_from_slice(&ack.to_be_bytes());
        head[46..50].copy_from_slice(&[0x50, flags, 0xff, 0xff]);
        head
    }

    fn noticed(frames: impl IntoIterator<Item = ([u8; 54], i64)>) -> bool {
        let mut notice = Notice::new(true, true);
        for (head, time) in frames {
            notice.count(1);
            notice.frame(&head, time);
        }
        is_odd(&notice)
    }

    fn is_odd(notice: &Notice) -> bool {
        let suspicion = Suspicion::default();
        notice.report(&suspicion);
        suspicion.is_raised()
    }

    #[test]
    fn no_two_acknowledgements_of_a_long_transfer_look_alike() {
        let acks = (0..3_000_000_u32).map(|number| {
            let port = 5000 + (number / 16 % 16) as u16;
            let head = frame(port, number.wrapping_mul(2896), number as u16, 0x10);
            (head, i64::from(number) * 1000)
        });
        assert!(!noticed(acks));
    }

    #[test]
    fn a_copy_looks_alike_until_none_can_follow() {
        let [numbered, other] = [7, 0].map(|ident| frame(5000, 1, ident, 0x10));
        for (head, wait, expected) in [
            (numbered, 3_000, true),
            (numbered, SECOND, true),
            (numbered, 2 * SECOND, false),
            (other, 3_000, true),
            (other, SECOND / 20, true),
            (other, SECOND / 2, false),
        ] {
            let start = 1_700_000_000 * SECOND;
            assert_eq!(noticed([(head, start), (head, start + wait)]), expected);
            // Times in a file may be slightly out of order.
            assert!(noticed([(head, start), (head, start - 3_000)]));
        }
    }

    #[test]
    fn a_few_equal_resets_are_answers_and_many_may_be_copies() {
        let resets = |count: i64| (0..count).map(|at| (frame(1, 0, 0, flag::RST as u8), at * 1000));
        let others = (0..200_u32).map(|at| (frame(2, at, 0, 0x10), i64::from(at) * 1000));
        assert!(!noticed(others.clone().chain(resets(10))));
        assert!(noticed(others.chain(resets(40))));
        assert!(noticed(resets(2)));
    }

    #[test]
    fn datagrams_whose_checksum_was_left_differ_by_their_payload() {
        let mut notice = Notice::new(true, false);
        let packet = Packet {
            transport_at: 34,
            payload: 100,
            ip_bytes: 128,
            key: crate::decode::Key {
                protocol: UDP,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut bytes = [0; 142];
        for number in 0..100 {
            bytes[60] = number;
            notice.packet(&Owner::default(), &packet, &bytes, 0);
        }
        assert!(!is_odd(&notice));
        notice.packet(&Owner::default(), &packet, &bytes, 0);
        assert!(is_odd(&notice));
    }
}
