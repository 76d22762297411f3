//! Arrow batches to a folder of Parquet files that appear whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::error::Error;
use crate::run::Sink;
use crate::tables::{Kind, Table};

/// Where each table goes, and what is noted in it.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Path of each table's file.
    pub paths: BTreeMap<Table, PathBuf>,
    /// Key-value metadata of every file: where the rows come from.
    pub notes: Vec<(String, String)>,
}

impl Layout {
    /// `<folder>/<table>.parquet` for each of `tables`.
    pub fn flat(folder: &Path, tables: &[Table]) -> Self {
        let path = |table: Table| folder.join(format!("{}.parquet", table.name()));
        Self {
            paths: tables.iter().map(|&table| (table, path(table))).collect(),
            notes: Vec::new(),
        }
    }

    /// `<folder>/<table>/run=<run>/host=<host>/<table>.parquet` for each of `tables`.
    pub fn hive(folder: &Path, run: &str, host: &str, tables: &[Table]) -> Self {
        let path = |table: Table| {
            folder
                .join(table.name())
                .join(format!("run={run}"))
                .join(format!("host={host}"))
                .join(format!("{}.parquet", table.name()))
        };
        Self {
            paths: tables.iter().map(|&table| (table, path(table))).collect(),
            notes: Vec::new(),
        }
    }
}

struct Part {
    writer: ArrowWriter<BufWriter<File>>,
    unfinished: PathBuf,
    path: PathBuf,
}

/// Writes tables beside their final names; [`Folder::commit`] gives them those. Dropped before, it removes
/// what it wrote.
pub struct Folder {
    parts: BTreeMap<Table, Part>,
    written: Vec<(PathBuf, PathBuf)>,
    notes: Vec<(String, String)>,
}

impl Folder {
    /// Creates the folders and the unfinished files.
    pub fn create(layout: &Layout) -> Result<Self, Error> {
        let mut folder = Self {
            parts: BTreeMap::new(),
            written: Vec::new(),
            notes: layout.notes.clone(),
        };
        for (&table, path) in &layout.paths {
            folder.open(table, path)?;
        }
        Ok(folder)
    }

    fn open(&mut self, table: Table, path: &Path) -> Result<(), Error> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|error| Error::io(format!("cannot create {}", parent.display()), error))?;
        }
        // The process id keeps two runs that write to one folder apart.
        let part = path.with_extension(format!("parquet.part-{}", std::process::id()));
        let file = File::create(&part)
            .map_err(|error| Error::io(format!("cannot write {}", part.display()), error))?;
        let writer = ArrowWriter::try_new(
            BufWriter::with_capacity(1 << 20, file),
            table.schema(),
            Some(properties(table, &self.notes)),
        );
        let path = path.to_path_buf();
        match writer {
            Ok(writer) => {
                self.parts.insert(
                    table,
                    Part {
                        writer,
                        unfinished: part,
                        path,
                    },
                );
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&part);
                Err(error.into())
            }
        }
    }

    /// Completes every file, still under its unfinished name.
    pub fn finish(&mut self) -> Result<(), Error> {
        while let Some((_, part)) = self.parts.pop_first() {
            self.written.push((part.unfinished, part.path));
            let buffer = part.writer.into_inner()?;
            buffer
                .into_inner()
                .map_err(|error| Error::io("cannot write tables", error.into_error()))?;
        }
        Ok(())
    }

    /// Gives every file its final name.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, Error> {
        self.finish()?;
        let mut paths = Vec::new();
        while let Some((part, path)) = self.written.pop() {
            if let Err(error) = fs::rename(&part, &path) {
                self.written.push((part, path.clone()));
                return Err(Error::io(format!("cannot write {}", path.display()), error));
            }
            paths.push(path);
        }
        paths.sort();
        Ok(paths)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let open = self.parts.values().map(|part| &part.unfinished);
        for part in open.chain(self.written.iter().map(|(part, _)| part)) {
            let _ = fs::remove_file(part);
        }
    }
}

impl Sink for Folder {
    fn batch(&mut self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        if let Some(part) = self.parts.get_mut(&table) {
            part.writer.write(&batch)?;
        }
        Ok(())
    }

    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let Some(old) = self.parts.remove(&table) else {
            return Ok(false);
        };
        let path = old.path.clone();
        drop(old.writer);
        self.open(table, &path)?;
        Ok(true)
    }
}

fn properties(table: Table, notes: &[(String, String)]) -> WriterProperties {
    let mut metadata = vec![
        KeyValue::new("flowsweep.version".to_owned(), crate::VERSION.to_owned()),
        KeyValue::new("flowsweep.table".to_owned(), table.name().to_owned()),
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
        .set_key_value_metadata(Some(metadata));
    // Numbers that mostly grow, or stay small: differences are smaller than a dictionary, and faster to write.
    for column in table.columns() {
        if matches!(column.kind, Kind::Int64 | Kind::Time) {
            let path = ColumnPath::from(column.name);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}
