//! Items by number in chunks, so that growing copies no more than the first of them.

use crate::memory::use_large_pages;

/// Bytes of a chunk, at least.
const CHUNK_BYTES: usize = 16 << 20;

/// A list that only grows.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: Vec<Vec<T>>,
    length: usize,
}

impl<T> Arena<T> {
    /// Items of a chunk.
    const CHUNK: usize = (CHUNK_BYTES / size_of::<T>()).next_power_of_two();

    pub(crate) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            length: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Appends `item`; its number.
    pub(crate) fn push(&mut self, item: T) -> u32 {
        let number = self.length;
        if number.is_multiple_of(Self::CHUNK) {
            // The first chunk grows as it fills: a capture with three flows needs no room for thousands.
            self.chunks
                .push(room(if number == 0 { 4 } else { Self::CHUNK }));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            if chunk.len() == chunk.capacity() {
                let mut larger = room(2 * chunk.len());
                larger.append(chunk);
                *chunk = larger;
            }
            chunk.push(item);
        }
        self.length += 1;
        number as u32
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        self.chunks
            .get(number / Self::CHUNK)?
            .get(number % Self::CHUNK)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        self.chunks
            .get_mut(number / Self::CHUNK)?
            .get_mut(number % Self::CHUNK)
    }

    /// Its parts, which follow each other.
    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.chunks.iter_mut().map(Vec::as_mut_slice)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.chunks.iter().flatten())
    }
}

/// Room for `items`, in large pages.
fn room<T>(items: usize) -> Vec<T> {
    let room = Vec::with_capacity(items);
    use_large_pages(&room);
    room
}
