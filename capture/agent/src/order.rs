//! Collects pcap records in the order of their stamps.
//!
//! The kernel stamps a packet before it takes a place in the ring. Where one processor receives while another sends,
//! the two steps interleave, and up to one packet in a hundred came out of the ring some microseconds after a younger
//! one.

use crate::sys::libpcap::Packet;

/// Packets that may still be overtaken by an older one.
const WINDOW: usize = 64;
/// Largest step back that is put right; a larger one means that the clock was set, and stays visible.
const LARGEST_STEP_S: f64 = 1e-3;

/// Seconds and sub-second part in one word that sorts as they do.
type Stamp = u64;

const fn stamp(seconds: u32, fraction: u32) -> Stamp {
    (seconds as u64) << 32 | fraction as u64
}

#[derive(Debug, Default, Clone, Copy)]
struct Recent {
    stamp: Stamp,
    /// Where its record begins.
    start: usize,
}

/// Records in memory, sorted within a short window.
pub struct Ordered {
    bytes: Vec<u8>,
    /// The latest records: record n is at place n % WINDOW.
    recent: [Recent; WINDOW],
    /// Records since the last [`Self::clear`].
    count: usize,
    /// The stamp of the last record.
    last: Stamp,
    /// Seconds per unit of a stamp's sub-second part.
    unit_s: f64,
}

impl Ordered {
    /// Reserves `capacity` bytes; stamps are in units of `resolution_ns`.
    pub fn new(capacity: usize, resolution_ns: u32) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            recent: [Recent::default(); WINDOW],
            count: 0,
            last: 0,
            unit_s: f64::from(resolution_ns) * 1e-9,
        }
    }

    /// Adds bytes that are no record, such as the header of the file.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the record of a packet at its place.
    #[inline]
    pub fn push(&mut self, packet: &Packet<'_>) {
        let start = self.bytes.len();
        let stamp = stamp(packet.seconds, packet.fraction);
        let mut header = [0; 16];
        for (place, word) in header.chunks_exact_mut(4).zip([
            packet.seconds,
            packet.fraction,
            packet.bytes.len() as u32,
            packet.length,
        ]) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(packet.bytes);
        self.recent[self.count % WINDOW] = Recent { stamp, start };
        self.count += 1;
        if stamp >= self.last || self.held() == 1 || self.step_s(stamp) > LARGEST_STEP_S {
            self.last = stamp;
        } else {
            self.sort_last();
        }
    }

    /// Moves the last record before the younger ones of the window.
    #[cold]
    fn sort_last(&mut self) {
        let newest = self.recent[(self.count - 1) % WINDOW];
        let length = self.bytes.len() - newest.start;
        let oldest = self.count - self.held();
        let mut place = self.count - 1;
        while place > oldest {
            let before = self.recent[(place - 1) % WINDOW];
            if before.stamp <= newest.stamp {
                break;
            }
            self.recent[place % WINDOW] = Recent {
                start: before.start + length,
                ..before
            };
            self.recent[(place - 1) % WINDOW] = Recent {
                start: before.start,
                ..newest
            };
            place -= 1;
        }
        let start = self.recent[place % WINDOW].start;
        self.bytes[start..].rotate_right(length);
    }

    /// Returns how far a stamp lies before the last one, in seconds.
    fn step_s(&self, stamp: Stamp) -> f64 {
        let part = |shift: u32| {
            f64::from((self.last >> shift) as u32) - f64::from((stamp >> shift) as u32)
        };
        part(32) + part(0) * self.unit_s
    }

    /// Returns how many records a further packet can still overtake.
    fn held(&self) -> usize {
        self.count.min(WINDOW)
    }

    /// Returns the number of bytes collected.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes that no further packet can change, and how many packets come after them.
    pub fn settled(&self) -> (&[u8], usize) {
        let held = self.held();
        let end = match held {
            0 => self.bytes.len(),
            _ => self.recent[(self.count - held) % WINDOW].start,
        };
        (&self.bytes[..end], held)
    }

    /// Returns all bytes in memory, settled or not.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the settled bytes.
    pub fn forget_settled(&mut self) {
        let settled = self.settled().0.len();
        self.bytes.drain(..settled);
        for number in self.count - self.held()..self.count {
            self.recent[number % WINDOW].start -= settled;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
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
