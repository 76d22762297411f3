//! Different texts of a column, numbered in order of appearance.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::common::index::Index;

/// Most values: their numbers have 16 bits.
const MOST: usize = 1 << 16;
/// Most bytes of the values: a larger dictionary saves little.
const MOST_BYTES: usize = 1 << 20;

/// The first 16 bytes of a value, and its length: for most values these are all bytes.
type Start = (u128, usize);

/// Assigns numbers to values.
pub(super) struct Dictionary {
    index: Index,
    /// The first bytes of each value.
    starts: Vec<Start>,
    places: Vec<Range<usize>>,
    /// The values, concatenated.
    bytes: Vec<u8>,
    /// Keyed at random, because the senders of the packets chose some of the values. The numbers do not depend on it.
    hashing: RandomState,
}

impl Dictionary {
    pub(super) fn new() -> Self {
        Self {
            index: Index::new(),
            starts: Vec::new(),
            places: Vec::new(),
            bytes: Vec::new(),
            hashing: RandomState::default(),
        }
    }

    /// Returns the number of the value at `place` in `bytes`; none if the dictionary is full.
    #[inline]
    pub(super) fn number(&mut self, bytes: &[u8], place: Range<usize>) -> Option<u16> {
        let start = start(bytes, place.clone());
        let long = place.len() > 16;
        let hash = if long {
            self.hashing.hash_one(&bytes[place.clone()])
        } else {
            self.hashing.hash_one(start.0)
        };
        let same = |number: u32| {
            let number = number as usize;
            self.starts[number] == start
                && (!long || self.bytes[self.places[number].clone()] == bytes[place.clone()])
        };
        if let Some(number) = self.index.find(hash, same) {
            return Some(number as u16);
        }
        self.add(hash, start, &bytes[place])
    }

    #[cold]
    fn add(&mut self, hash: u64, start: Start, value: &[u8]) -> Option<u16> {
        let number = self.starts.len();
        if number == MOST || self.bytes.len() + value.len() > MOST_BYTES {
            return None;
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.places.push(from..self.bytes.len());
        self.starts.push(start);
        self.index.insert(hash, number as u32);
        Some(number as u16)
    }

    /// Returns all values, in the order of their numbers.
    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.bytes[place.clone()])
    }

    /// Returns the value that got `number`.
    pub(super) fn value(&self, number: u16) -> &[u8] {
        &self.bytes[self.places[usize::from(number)].clone()]
    }
}

#[inline]
fn start(bytes: &[u8], place: Range<usize>) -> Start {
    let length = place.len();
    let padded = if let Some(first) = bytes[place.start..].first_chunk() {
        u128::from_le_bytes(*first)
    } else {
        let mut first = [0; 16];
        let length = length.min(16);
        first[..length].copy_from_slice(&bytes[place.start..place.start + length]);
        u128::from_le_bytes(first)
    };
    let behind = 8 * 16_usize.saturating_sub(length) as u32;
    // Bytes after the value are shifted out without a branch on its length, which cannot be predicted.
    let own = padded.checked_shl(behind).unwrap_or(0);
    (own, length)
}
