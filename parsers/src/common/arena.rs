//! A list in chunks, with items by number: growing copies none of them.

use crate::common::memory::use_large_pages;

/// Bytes of a chunk, at least.
const CHUNK_BYTES: usize = 16 << 20;

/// A list that only grows.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: Vec<Vec<T>>,
    length: usize,
}

impl<T> Arena<T> {
    /// Items in a chunk.
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

    /// Appends `item`; returns its number.
    pub(crate) fn push(&mut self, item: T) -> u32 {
        let number = self.length;
        if number.is_multiple_of(Self::CHUNK) {
            self.chunks.push(room());
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(item);
        }
        self.length += 1;
        number as u32
    }

    /// Appends items until there are `length`. Each is built in place: moving it there would write it twice.
    pub(crate) fn lengthen(&mut self, length: usize)
    where
        T: Default,
    {
        while self.length < length {
            if self.length.is_multiple_of(Self::CHUNK) {
                self.chunks.push(room());
            }
            let Some(chunk) = self.chunks.last_mut() else {
                return;
            };
            let before = chunk.len();
            let more = (length - self.length).min(Self::CHUNK - before);
            chunk.resize_with(before + more, T::default);
            self.length += more;
        }
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

    /// Returns the chunks in order.
    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.chunks.iter_mut().map(Vec::as_mut_slice)
    }

    /// Returns the chunks, so that they can be freed one by one.
    pub(crate) fn into_parts(self) -> Vec<Vec<T>> {
        self.chunks
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.chunks.iter().flatten())
    }
}

/// Returns room for a chunk in large pages. Only pages that are used take memory.
fn room<T>() -> Vec<T> {
    let room = Vec::with_capacity(Arena::<T>::CHUNK);
    use_large_pages(&room);
    room
}
