//! Pages of a column chunk as stored in the file: compressed, each with its header.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use zstd::bulk::Compressor;

use super::blocks::Blocks;

/// Levels of zstd: the one that saves most bytes per second, and the fastest one.
const LEVEL: i32 = 1;
const LEAST: i32 = -(1 << 17);

/// The pages, in sequence.
pub(super) struct Pages {
    out: TrackedWrite<Blocks>,
    /// Bytes of all pages and their headers before compression.
    pub uncompressed: usize,
    /// Number of next pages that are not worth a search for repetitions.
    without: u32,
}

impl Pages {
    /// Starts without pages; they go to `room`, which is empty.
    pub(super) fn new(room: Blocks) -> Self {
        Self {
            out: TrackedWrite::new(room),
            uncompressed: 0,
            without: 0,
        }
    }

    /// Compresses `bytes`, and adds the page that `page` makes of them.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        page: impl FnOnce(Bytes) -> Page,
    ) -> Result<(), ParquetError> {
        let level = if self.without > 0 { LEAST } else { LEVEL };
        let compressed = compress(bytes, level)?;
        if self.without > 0 {
            self.without -= 1;
        } else if compressed.len() > bytes.len() - bytes.len() / 16 {
            // Packed numbers without a pattern: the next pages rarely have one either.
            self.without = 7;
        }
        let page = CompressedPage::new(page(compressed.into()), bytes.len());
        let added = SerializedPageWriter::new(&mut self.out).write_page(page)?;
        self.uncompressed += added.uncompressed_size;
        Ok(())
    }

    /// Returns the blocks of all pages.
    pub(super) fn into_blocks(self) -> Result<Blocks, ParquetError> {
        self.out.into_inner()
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self::new(Blocks::default())
    }
}

/// Compresses `bytes` into one zstd frame with a checksum, which every decompressor verifies. Hardly any reader
/// verifies the checksum of a page's header (`PageHeader.crc`), and the library does not write it.
fn compress(bytes: &[u8], level: i32) -> io::Result<Vec<u8>> {
    thread_local! {
        // The compressor's tables are allocated once, not for every page.
        static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::default();
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.set_compression_level(level)?;
        compressor.include_checksum(true)?;
        compressor.compress(bytes)
    })
}
