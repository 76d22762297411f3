//! Writes one table's rows to a Parquet file. Columns do not depend on each other: with several threads, they are
//! encoded in parallel.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_array::{ArrayRef, RecordBatch, UInt16Array};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;

use super::blocks::Blocks;
use super::column::ColumnWriter;
use crate::common::error::Error;
use crate::common::threads::{in_batches, several_threads};
use crate::tables::{Table, spark_schema};

/// The place of one table.
#[derive(Debug, Clone)]
pub struct Place {
    /// The path of the file, which does not exist yet.
    pub path: PathBuf,
    /// Its name in errors: the final name, if the file is renamed later.
    pub name: String,
}

/// Rows in one row group; a batch that reaches it is the group's last.
const GROUP_ROWS: usize = 1 << 20;

/// The key of the types that Spark prefers to those of the file: Spark does not support the file's nanoseconds.
const SPARK_SCHEMA: &str = "org.apache.spark.sql.parquet.row.metadata";

/// A Parquet file that is being written.
pub(crate) struct TableFile {
    /// Its name in errors.
    name: String,
    writer: SerializedFileWriter<BufWriter<File>>,
    table: Table,
    /// One writer for each column of the current row group; none before its first row.
    columns: Vec<ColumnWriter>,
    /// Room for the columns of the next group.
    rooms: Vec<Blocks>,
    rows: usize,
}

impl TableFile {
    /// Creates the file. `notes` become key-value metadata.
    pub(crate) fn create(
        place: &Place,
        table: Table,
        notes: &[(String, String)],
    ) -> Result<Self, Error> {
        // An existing file is not touched, and no link is followed.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&place.path)
            .map_err(|error| refused(&place.name, error))?;
        let writer = ArrowWriter::try_new(
            BufWriter::with_capacity(1 << 20, file),
            table.schema(),
            Some(properties(table, notes)),
        )?;
        // The Arrow writer contributes the file's schema; the columns are written by our own code.
        let (writer, _) = writer.into_serialized_writer()?;
        Ok(Self {
            name: place.name.clone(),
            writer,
            table,
            columns: Vec::new(),
            rooms: Vec::new(),
            rows: 0,
        })
    }

    /// Adds the rows of `batch`.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if self.columns.is_empty() {
            self.begin_group(batch);
        }
        let write = |(column, array): (&mut ColumnWriter, &ArrayRef)| column.write(array);
        let mut arrays: Vec<&ArrayRef> = Vec::new();
        for (column, array) in self.table.columns().iter().zip(batch.columns()) {
            if !column.twin {
                arrays.push(array);
            } else if arrays
                .last()
                .is_none_or(|before| numbers(before) != numbers(array))
            {
                let what = format!("{} does not follow the column before it", column.name);
                return Err(Error::Table(what));
            }
        }
        if several_threads() {
            let columns = self.columns.par_iter_mut().zip(arrays);
            in_batches(columns, batch.num_rows()).try_for_each(write)?;
        } else {
            let mut columns = self.columns.iter_mut().zip(arrays);
            columns.try_for_each(write)?;
        }
        self.rows += batch.num_rows();
        if self.rows >= GROUP_ROWS {
            self.end_group()
                .map_err(|error| failed(&self.name, error))?;
        }
        Ok(())
    }

    fn begin_group(&mut self, batch: &RecordBatch) {
        let descriptions = self.writer.schema_descr().columns().iter().cloned();
        let columns = self.table.columns().iter().zip(descriptions);
        let mut rooms = self.rooms.drain(..);
        for ((column, description), array) in columns.zip(batch.columns()) {
            match self.columns.last_mut() {
                Some(before) if column.twin => before.has_twin(column, description, array),
                _ => {
                    let room = rooms.next().unwrap_or_default();
                    self.columns
                        .push(ColumnWriter::new(column, description, room));
                }
            }
        }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.rows = 0;
        let columns = std::mem::take(&mut self.columns);
        if columns.is_empty() {
            return Ok(());
        }
        let chunks: Result<Vec<_>, ParquetError> = if several_threads() {
            let columns = columns.into_par_iter();
            columns.map(ColumnWriter::close).collect()
        } else {
            columns.into_iter().map(ColumnWriter::close).collect()
        };
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks? {
            self.rooms.push(chunk.append_to(&mut group)?);
        }
        group.close()?;
        Ok(())
    }

    /// Writes the remaining rows and the footer.
    pub(crate) fn close(mut self) -> Result<Written, Error> {
        let ended = self.end_group();
        let name = self.name;
        let buffer = ended.and_then(|()| self.writer.into_inner());
        let buffer = buffer.map_err(|error| failed(&name, error))?;
        let file = buffer.into_inner();
        let file = file.map_err(|error| refused(&name, error.into_error()))?;
        Ok(Written { name, file })
    }
}

/// A complete file.
pub(crate) struct Written {
    name: String,
    file: File,
}

impl Written {
    /// Waits until the file is safely on disk.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let synced = self.file.sync_data();
        synced.map_err(|error| refused(&self.name, error))
    }
}

/// Returns the numbers of a dictionary array's values in its list.
fn numbers(array: &ArrayRef) -> Option<&UInt16Array> {
    Some(array.as_dictionary_opt::<UInt16Type>()?.keys())
}

fn refused(name: &str, error: io::Error) -> Error {
    Error::io(format!("cannot write {name}"), error)
}

/// Reports an error of the operating system as such.
fn failed(name: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => refused(name, *source),
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
    WriterProperties::builder()
        .set_created_by(format!("flowsweep {}", crate::VERSION))
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(metadata))
        .build()
}
