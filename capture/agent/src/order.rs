//! Collects pcap records in the order of their stamps.
//!
//! The kernel stamps a packet before it takes a place in the ring. Where one processor receives while another sends, the
//! two steps interleave, and up to one packet in a hundred came out of the ring some microseconds after a younger one.

use std::collections::VecDeque;

use crate::sys::libpcap::Packet;

/// Packets that may still be overtaken by an older one.
const WINDOW: usize = 64;
/// Largest step back that is put right; a larger one is a clock that was set, and stays to be seen.
const LARGEST_STEP_S: f64 = 1e-3;

struct Recent {
    seconds: u32,
    fraction: u32,
    /// Where its record begins.
    start: usize,
}

/// Records in memory, sorted within a short window.
pub struct Ordered {
    bytes: Vec<u8>,
    recent: VecDeque<Recent>,
    /// Seconds per unit of a stamp's sub-second part.
    unit_s: f64,
}

impl Ordered {
    /// Room for `capacity` bytes; stamps count in `resolution_ns`.
    pub fn new(capacity: usize, resolution_ns: u32) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            recent: VecDeque::with_capacity(WINDOW + 1),
            unit_s: f64::from(resolution_ns) * 1e-9,
        }
    }

    /// Adds bytes that are no record, such as the header of the file.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the record of a packet at its place.
    pub fn push(&mut self, packet: &Packet<'_>) {
        let end = self.bytes.len();
        for word in [
            packet.seconds,
            packet.fraction,
            packet.bytes.len() as u32,
            packet.length,
        ] {
            self.bytes.extend(word.to_ne_bytes());
        }
        self.bytes.extend_from_slice(packet.bytes);
        let place = self.place(packet);
        let mut start = end;
        if place < self.recent.len() {
            start = self.recent[place].start;
            let length = self.bytes.len() - end;
            self.bytes[start..].rotate_right(length);
            for later in self.recent.iter_mut().skip(place) {
                later.start += length;
            }
        }
        let recent = Recent {
            seconds: packet.seconds,
            fraction: packet.fraction,
            start,
        };
        self.recent.insert(place, recent);
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
    }

    /// The number of recent packets that stay before `packet`.
    fn place(&self, packet: &Packet<'_>) -> usize {
        let stamp = (packet.seconds, packet.fraction);
        let before = |recent: &Recent| (recent.seconds, recent.fraction) <= stamp;
        match self.recent.back() {
            Some(last) if !before(last) && self.step_s(last, packet) <= LARGEST_STEP_S => self
                .recent
                .iter()
                .rposition(before)
                .map_or(0, |index| index + 1),
            _ => self.recent.len(),
        }
    }

    fn step_s(&self, last: &Recent, packet: &Packet<'_>) -> f64 {
        f64::from(last.seconds) - f64::from(packet.seconds)
            + (f64::from(last.fraction) - f64::from(packet.fraction)) * self.unit_s
    }

    /// Bytes collected.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes that no further packet can change, and how many packets come after them.
    pub fn settled(&self) -> (&[u8], usize) {
        let end = self
            .recent
            .front()
            .map_or(self.bytes.len(), |first| first.start);
        (&self.bytes[..end], self.recent.len())
    }

    /// All bytes.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the settled bytes.
    pub fn forget_settled(&mut self) {
        let settled = self.settled().0.len();
        self.bytes.drain(..settled);
        for recent in &mut self.recent {
            recent.start -= settled;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fractions(stamps: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut ordered = Ordered::new(0, 1);
        let mut bytes = Vec::new();
        for &(seconds, fraction) in stamps {
            ordered.push(&Packet {
                seconds,
                fraction,
                length: 3,
                bytes: &[1, 2, 3],
            });
            if ordered.len() > 40 * 19 {
                bytes.extend_from_slice(ordered.settled().0);
                ordered.forget_settled();
            }
        }
        bytes.extend_from_slice(ordered.all());
        bytes
            .chunks(19)
            .map(|record| {
                let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|i| record[at + i]));
                assert_eq!(&record[8..], [3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]);
                (word(0), word(4))
            })
            .collect()
    }

    #[test]
    fn packets_that_come_microseconds_late_are_put_in_their_place() {
        let stamps = [
            (5, 100),
            (5, 900),
            (5, 400),
            (5, 400),
            (5, 950),
            (5, 500),
            (5, 960),
        ];
        let mut sorted = stamps;
        sorted.sort_unstable();
        assert_eq!(fractions(&stamps), sorted);
    }

    #[test]
    fn a_second_s_border_is_no_border() {
        let stamps = [(5, 999_999_990), (6, 10), (5, 999_999_995)];
        assert_eq!(
            fractions(&stamps),
            [(5, 999_999_990), (5, 999_999_995), (6, 10)]
        );
    }

    #[test]
    fn a_clock_that_was_set_back_stays_visible() {
        let stamps = [(9, 5), (8, 5), (8, 6), (9, 6)];
        assert_eq!(fractions(&stamps), stamps);
    }

    #[test]
    fn long_streams_stay_whole_and_sorted() {
        let stamps: Vec<_> = (0..5_000_u32)
            .map(|n| (1, 10 * n + 37 * (n % 7 % 2)))
            .collect();
        let mut sorted = stamps.clone();
        sorted.sort_unstable();
        assert_eq!(fractions(&stamps), sorted);
    }
}
