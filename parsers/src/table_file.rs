//! One table's rows to a Parquet file. Columns do not depend on each other: where several threads work, they
//! are encoded side by side.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;

use crate::error::Error;
use crate::tables::{Kind, Table, spark_schema};
use crate::threads::several_threads;

/// Rows in one row group; a batch that reaches it is the group's last.
const GROUP_ROWS: usize = 1 << 20;

/// Where Spark looks for a table's types before those of the file, of which it knows no nanoseconds.
const SPARK_SCHEMA: &str = "org.apache.spark.sql.parquet.row.metadata";

/// A Parquet file that is being written.
pub(crate) struct TableFile {
    /// Its name when it is whole.
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<File>>,
    groups: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// One for each column of the row group that is being filled; none before its first row.
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl TableFile {
    /// Creates the file `path`, which has another name until it is whole: `part`. `notes` become key-value
    /// metadata.
    pub(crate) fn create(
        path: &Path,
        part: &Path,
        table: Table,
        notes: &[(String, String)],
    ) -> Result<Self, Error> {
        let file = File::create(part).map_err(|error| refused(path, error))?;
        let schema = table.schema();
        let writer = ArrowWriter::try_new(
            BufWriter::with_capacity(1 << 20, file),
            SchemaRef::clone(&schema),
            Some(properties(table, notes)),
        )?;
        let (writer, groups) = writer.into_serialized_writer()?;
        Ok(Self {
            path: path.to_path_buf(),
            writer,
            groups,
            schema,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// Adds the rows of `batch`.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if self.columns.is_empty() {
            let number = self.writer.flushed_row_groups().len();
            self.columns = self.groups.create_column_writers(number)?;
        }
        let mut leaves = Vec::with_capacity(self.columns.len());
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            leaves.extend(compute_leaves(field, column)?);
        }
        let write = |(column, leaf): (&mut ArrowColumnWriter, &ArrowLeafColumn)| column.write(leaf);
        if several_threads() {
            self.columns
                .par_iter_mut()
                .zip(&leaves)
                .try_for_each(write)?;
        } else {
            self.columns.iter_mut().zip(&leaves).try_for_each(write)?;
        }
        self.rows += batch.num_rows();
        if self.rows >= GROUP_ROWS {
            self.end_group()
                .map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.rows = 0;
        let columns = std::mem::take(&mut self.columns);
        if columns.is_empty() {
            return Ok(());
        }
        let chunks: Result<Vec<_>, ParquetError> = if several_threads() {
            let columns = columns.into_par_iter();
            columns.map(ArrowColumnWriter::close).collect()
        } else {
            columns.into_iter().map(ArrowColumnWriter::close).collect()
        };
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks? {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes what is held back and the end of the file.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        let path = self.path.clone();
        let ended = self.end_group().and_then(|()| self.writer.into_inner());
        let buffer = ended.map_err(|error| failed(&path, error))?;
        buffer
            .into_inner()
            .map_err(|error| refused(&path, error.into_error()))?;
        Ok(())
    }
}

fn refused(path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot write {}", path.display()), error)
}

/// What the operating system refused is told as such.
fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => refused(path, *source),
            Err(source) => Error::Table(source.to_string()),
        },
        other => other.into(),
    }
}

fn properties(table: Table, notes: &[(String, String)]) -> WriterProperties {
    let mut metadata = vec![
        KeyValue::new("flowsweep.version".to_owned(), crate::VERSION.to_owned()),
        KeyValue::new("flowsweep.table".to_owned(), table.name().to_owned()),
        KeyValue::new(SPARK_SCHEMA.to_owned(), spark_schema(table.columns())),
    ];
    metadata.extend(
        notes
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone())),
    );
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("flowsweep {}", crate::VERSION))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(metadata));
    for column in table.columns() {
        let path = ColumnPath::from(column.name);
        builder = match column.kind {
            // Few different numbers, without order.
            Kind::Int64 if column.name.starts_with("bucket_") => builder,
            // Numbers that mostly grow, or stay small: differences are smaller than a dictionary, and faster
            // to write.
            Kind::Int64 | Kind::Int32 | Kind::Time => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            // Comparing every text costs more than the least and the greatest of a whole group tell.
            Kind::Text => builder.set_column_statistics_enabled(path, EnabledStatistics::None),
            Kind::Bool => builder,
        };
    }
    builder.build()
}
