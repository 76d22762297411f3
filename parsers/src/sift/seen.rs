//! How often one content was sent, and at which places it was recorded.

use super::held::Held;
use super::identity::Identity;

/// How long a packet is remembered.
pub(super) const LONGEST_NS: i64 = 1_000_000_000;
/// Places at which copies of one packet are counted separately.
const MOST_PLACES: usize = 16;

/// Sightings of packets with one content.
pub(super) struct Seen {
    /// Number of the packet that the next copies are of, and time of its latest sighting.
    pub(super) number: u64,
    pub(super) time: i64,
    /// How often it was sent.
    pub(super) sent: u32,
    /// How often it was seen at the first place, ...
    pub(super) first: (u64, u32),
    /// ... and at others.
    pub(super) others: Vec<(u64, u32)>,
    /// How often the latest packet that was sent was recorded.
    pub(super) recorded: u32,
    /// Flow and direction of its packets.
    pub(super) sender: u64,
    /// Identity of the latest packet that was sent.
    pub(super) identity: Identity,
}

impl Seen {
    pub(super) fn new(packet: &Held) -> Self {
        Self {
            number: packet.number,
            time: packet.segment.time,
            sent: 1,
            first: (packet.identity.point, 1),
            others: Vec::new(),
            recorded: 1,
            sender: sender(packet),
            identity: packet.identity,
        }
    }

    /// Returns this as a part of packet `number`, which was seen at `point` before.
    pub(super) fn part_of(self, number: u64, point: u64) -> Self {
        Self {
            number,
            first: (point, 1),
            others: vec![self.first],
            recorded: 2,
            ..self
        }
    }

    /// Takes in a packet alike that was sent, which is no copy.
    pub(super) fn note_sent(&mut self, packet: &Held) {
        let times = self.times_at(packet.identity.point);
        *times += 1;
        self.sent = self.sent.max(*self.times_at(packet.identity.point));
        self.number = packet.number;
        self.recorded = 1;
        self.time = packet.segment.time;
        self.identity = packet.identity;
    }

    /// Takes in a copy of the packet that was sent last.
    pub(super) fn note_copy(&mut self, packet: &Held) {
        if self.times(packet.identity.point) < self.sent {
            *self.times_at(packet.identity.point) += 1;
        }
        self.recorded += 1;
        self.time = packet.segment.time;
        // A mesh passes a packet on in several frames; the radio repeats the latest of them.
        self.identity.frame_number = packet.identity.frame_number;
    }

    /// Returns how often it was seen at `point`.
    pub(super) fn times(&self, point: u64) -> u32 {
        let all = std::iter::once(&self.first).chain(&self.others);
        let mut there = all.filter(|place| place.0 == point);
        there.next().map_or(0, |place| place.1)
    }

    pub(super) fn times_at(&mut self, point: u64) -> &mut u32 {
        if self.first.0 == point {
            return &mut self.first.1;
        }
        let place = self.others.iter().position(|other| other.0 == point);
        let full = (self.others.len() == MOST_PLACES).then_some(MOST_PLACES - 1);
        let place = place.or(full).unwrap_or_else(|| {
            self.others.push((point, 0));
            self.others.len() - 1
        });
        &mut self.others[place].1
    }
}

/// Returns a number for the flow and the direction of `packet`.
pub(super) fn sender(packet: &Held) -> u64 {
    packet.owner.hash ^ packet.side() as u64
}
