//! Pages of a column chunk as they lie in the file: compressed, each with its head.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use zstd::bulk::Compressor;

use super::blocks::Blocks;

/// zstd's levels: the one that saves most bytes per second, and the fastest one.
const LEVEL: i32 = 1;
const LEAST: i32 = -(1 << 17);

/// Pages one behind the other.
pub(super) struct Pages {
    out: TrackedWrite<Blocks>,
    /// Bytes of all pages and their heads before compression.
    pub uncompressed: usize,
    /// Number of pages ahead in which a search for repetitions is not worth its time.
    without: u32,
}

impl Pages {
    /// None yet; they go to `room`, which is empty.
    pub(super) fn new(room: Blocks) -> Self {
        Self {
            out: TrackedWrite::new(room),
            uncompressed: 0,
            without: 0,
        }
    }

    /// Adds what `page` makes of `bytes`, compressed.
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
            // Packed numbers without a pattern: mostly those of the next pages have none either.
            self.without = 7;
        }
        let page = CompressedPage::new(page(compressed.into()), bytes.len());
        let added = SerializedPageWriter::new(&mut self.out).write_page(page)?;
        self.uncompressed += added.uncompressed_size;
        Ok(())
    }

    /// What was added.
    pub(super) fn into_blocks(self) -> Result<Blocks, ParquetError> {
        self.out.into_inner()
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self::new(Blocks::default())
    }
}

/// `bytes` as one zstd frame, with a checksum: whoever unpacks it finds out that it was altered. The one of a page's head
/// (`PageHeader.crc`) hardly any reader looks at, and the library does not write it.
fn compress(bytes: &[u8], level: i32) -> io::Result<Vec<u8>> {
    thread_local! {
        // Its tables are made once, not for every page.
        static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::default();
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.set_compression_level(level)?;
        compressor.include_checksum(true)?;
        compressor.compress(bytes)
    })
}
