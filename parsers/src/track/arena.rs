//! Items by number in chunks that never move, so that growing copies nothing.

use crate::memory::use_large_pages;

const CHUNK: usize = 1 << 15;

/// A list that only grows.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: Vec<Vec<T>>,
    length: usize,
}

impl<T> Arena<T> {
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
        if number.is_multiple_of(CHUNK) {
            // The first chunk grows as it fills: a capture with three flows needs no room for thousands.
            let chunk = Vec::with_capacity(if number == 0 { 4 } else { CHUNK });
            use_large_pages(&chunk);
            self.chunks.push(chunk);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(item);
        }
        self.length += 1;
        number as u32
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        self.chunks.get(number / CHUNK)?.get(number % CHUNK)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        self.chunks.get_mut(number / CHUNK)?.get_mut(number % CHUNK)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.chunks.iter().flatten())
    }
}
