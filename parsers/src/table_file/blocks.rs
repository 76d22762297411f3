//! Bytes in blocks: growing copies none, and the blocks of one column chunk are reused for the next one.

use std::array::IntoIter;
use std::io::{self, Read, Write};
use std::iter::Flatten;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// Size of the first block, and of the largest ones.
const SMALLEST: usize = 1 << 16;
const LARGEST: usize = 1 << 20;

/// A growing sequence of bytes: writes append to it.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    full: Vec<Vec<u8>>,
    length: usize,
    /// Empty blocks.
    spare: Vec<Vec<u8>>,
}

impl Blocks {
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Empties the blocks; keeps their memory.
    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.full.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut self.full);
    }
}

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self
            .full
            .last()
            .is_none_or(|last| last.len() == last.capacity())
        {
            let block = self.spare.pop();
            let room = self.length.clamp(SMALLEST, LARGEST);
            self.full
                .push(block.unwrap_or_else(|| Vec::with_capacity(room)));
        }
        let Some(last) = self.full.last_mut() else {
            return Ok(0);
        };
        let count = bytes.len().min(last.capacity() - last.len());
        last.extend_from_slice(&bytes[..count]);
        self.length += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of both sets of blocks in sequence.
pub(super) struct Whole<'a>(pub [&'a Blocks; 2]);

/// The rest of a block, and the blocks after it.
pub(super) struct Rest<'a>(&'a [u8], Flatten<IntoIter<&'a Vec<Vec<u8>>, 2>>);

impl Read for Rest<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.0.is_empty() {
            let Some(next) = self.1.next() else {
                return Ok(0);
            };
            self.0 = next;
        }
        self.0.read(to)
    }
}

impl Length for Whole<'_> {
    fn len(&self) -> u64 {
        self.0.map(|blocks| blocks.length as u64).iter().sum()
    }
}

impl<'a> ChunkReader for Whole<'a> {
    type T = Rest<'a>;

    fn get_read(&self, start: u64) -> Result<Rest<'a>> {
        let mut rest = Rest(&[], self.0.map(|blocks| &blocks.full).into_iter().flatten());
        io::copy(&mut rest.by_ref().take(start), &mut io::sink())?;
        Ok(rest)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
