//! Encodes one column of a row group: Arrow arrays into a Parquet column chunk.
//!
//! The library's own writer hashes every value of a dictionary, even though the array has its number: with it, parsing
//! with `packets` took 1.5 times as long. The file, its footer and the page headers are the library's.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBufferBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::Page;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;

use super::blocks::{Blocks, Whole};
use super::pages::Pages;
use super::values::Values;
use super::{delta, rle};
use crate::tables::{Column, Kind};

/// Rows in a page; a batch that reaches it is the page's last.
const PAGE_ROWS: usize = 1 << 14;

/// A column chunk that is being filled.
pub(super) struct ColumnWriter {
    column: &'static Column,
    description: ColumnDescPtr,
    /// The next column, if it has the same pages, and the list of its values.
    twin: Option<(&'static Column, ColumnDescPtr, ArrayRef)>,
    values: Values,
    /// Rows of the page that have a value; `unknown` counts the others.
    known: BooleanBufferBuilder,
    unknown: usize,
    /// Buffer for the bytes of one page.
    page: Vec<u8>,
    /// Pages that are full.
    pages: Pages,
    rows: usize,
    nulls: usize,
    encodings: Vec<Encoding>,
}

/// A complete column chunk and its twin's: the footer entry of each, and their pages.
pub(super) struct ColumnChunk {
    /// With the page that lists its values, if there is one.
    columns: [Option<(Blocks, ColumnCloseResult)>; 2],
    pages: Blocks,
}

impl ColumnChunk {
    /// Writes the chunk to `group`; returns the blocks of its pages, empty.
    pub(super) fn append_to<W: std::io::Write + Send>(
        mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<Blocks, ParquetError> {
        for (dictionary, about) in self.columns.into_iter().flatten() {
            group.append_column(&Whole([&dictionary, &self.pages]), about)?;
        }
        self.pages.clear();
        Ok(self.pages)
    }
}

impl ColumnWriter {
    /// `room` is empty and receives the pages.
    pub(super) fn new(column: &'static Column, description: ColumnDescPtr, room: Blocks) -> Self {
        Self {
            column,
            description,
            twin: None,
            values: Values::for_column(column),
            known: BooleanBufferBuilder::new(0),
            unknown: 0,
            page: Vec::new(),
            pages: Pages::new(room),
            rows: 0,
            nulls: 0,
            encodings: vec![Encoding::RLE],
        }
    }

    /// Notes that the next column, `column` with rows like `array`, has the same pages.
    pub(super) fn has_twin(
        &mut self,
        column: &'static Column,
        description: ColumnDescPtr,
        array: &dyn Array,
    ) {
        let list = Arc::clone(array.as_dictionary::<UInt16Type>().values());
        self.twin = Some((column, description, list));
    }

    /// Adds the rows of `array`, which is of the column's kind.
    pub(super) fn write(&mut self, array: &dyn Array) -> Result<(), ParquetError> {
        self.values.append(array)?;
        match array.nulls() {
            Some(nulls) => self.known.append_buffer(nulls.inner()),
            None => self.known.append_n(array.len(), true),
        }
        self.unknown += array.null_count();
        if self.known.len() >= PAGE_ROWS {
            self.end_page()?;
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), ParquetError> {
        let rows = self.known.len();
        let mut page = std::mem::take(&mut self.page);
        page.clear();
        if self.column.nullable {
            self.write_levels(&mut page);
        }
        let encoding = self.values.encode(&mut page);
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        self.rows += rows;
        self.nulls += self.unknown;
        self.known.truncate(0);
        self.unknown = 0;
        self.pages.add(&page, |buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.page = page;
        Ok(())
    }

    /// Writes the definition levels of the page: 1 if a row has a value.
    fn write_levels(&self, out: &mut Vec<u8>) {
        let rows = self.known.len();
        let mut levels = Vec::new();
        if self.unknown == 0 || self.unknown == rows {
            rle::run(rows, u16::from(self.unknown == 0), 1, &mut levels);
        } else {
            delta::varint(rle::packed_head(rows), &mut levels);
            levels.extend_from_slice(self.known.as_slice());
        }
        out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        out.append(&mut levels);
    }

    /// Ends the last page and the chunk.
    pub(super) fn close(mut self) -> Result<ColumnChunk, ParquetError> {
        if !self.known.is_empty() {
            self.end_page()?;
        }
        let twin = self.twin.take().and_then(|(column, description, list)| {
            let values = self.values.twin(column, list)?;
            Some((column, description, values))
        });
        let uncompressed = self.pages.uncompressed;
        let pages = std::mem::take(&mut self.pages).into_blocks()?;
        let close = |column, description, values: &Values| {
            self.about(column, description, values, (pages.length(), uncompressed))
        };
        let one = close(self.column, self.description.clone(), &self.values)?;
        let twin = twin.map(|(column, description, values)| close(column, description, &values));
        Ok(ColumnChunk {
            columns: [Some(one), twin.transpose()?],
            pages,
        })
    }

    /// Returns the dictionary of `values`, and the footer's entry for a column with pages of these sizes, compressed
    /// and uncompressed.
    fn about(
        &self,
        column: &Column,
        description: ColumnDescPtr,
        values: &Values,
        (compressed, uncompressed): (usize, usize),
    ) -> Result<(Blocks, ColumnCloseResult), ParquetError> {
        let mut encodings = self.encodings.clone();
        let mut dictionary = Pages::default();
        if let Some((page, count)) = values.dictionary() {
            encodings.push(Encoding::PLAIN);
            dictionary.add(&page, |buf| Page::DictionaryPage {
                buf,
                num_values: count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            })?;
        }
        let uncompressed = dictionary.uncompressed + uncompressed;
        let dictionary = dictionary.into_blocks()?;
        let data_from = dictionary.length();
        let bytes = data_from + compressed;
        let mut about = ColumnChunkMetaData::builder(description)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_data_page_offset(data_from as i64)
            .set_dictionary_page_offset((data_from > 0).then_some(0));
        if let Some(statistics) = self.statistics(column, values) {
            about = about.set_statistics(statistics);
        }
        let about = ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: self.rows as u64,
            metadata: about.set_encodings(encodings).build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((dictionary, about))
    }

    /// Returns none for texts: comparing all of them costs more than the minimum and maximum of a whole row group save.
    fn statistics(&self, column: &Column, values: &Values) -> Option<Statistics> {
        let least = values.range().map(|(least, _)| least);
        let greatest = values.range().map(|(_, greatest)| greatest);
        let nulls = Some(self.nulls as u64);
        match column.kind {
            Kind::Text | Kind::Float => None,
            Kind::Int64 | Kind::Time => {
                Some(Statistics::int64(least, greatest, None, nulls, false))
            }
            Kind::Int32 => {
                let [least, greatest] = [least, greatest].map(|it| it.map(|value| value as i32));
                Some(Statistics::int32(least, greatest, None, nulls, false))
            }
            Kind::Bool => {
                let [least, greatest] = [least, greatest].map(|it| it.map(|value| value != 0));
                Some(Statistics::boolean(least, greatest, None, nulls, false))
            }
        }
    }
}
