//! Arrow batches to a folder of Parquet files that appear whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use rayon::prelude::*;

use crate::error::Error;
use crate::run::Sink;
use crate::table_file::TableFile;
use crate::tables::Table;
use crate::threads::several_threads;

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
    file: Mutex<TableFile>,
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
        match TableFile::create(path, &part, table, &self.notes) {
            Ok(file) => {
                let path = path.to_path_buf();
                self.parts.insert(
                    table,
                    Part {
                        file: Mutex::new(file),
                        unfinished: part,
                        path,
                    },
                );
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&part);
                Err(error)
            }
        }
    }

    /// Gives every file its final name, once all rows came.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, Error> {
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
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        if let Some(part) = self.parts.get(&table) {
            let mut file = part.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write(&batch)?;
        }
        Ok(())
    }

    /// Completes every file, still under its unfinished name.
    fn end(&mut self) -> Result<(), Error> {
        let mut files = Vec::new();
        while let Some((_, part)) = self.parts.pop_first() {
            self.written.push((part.unfinished, part.path));
            let file = part.file.into_inner();
            files.push(file.unwrap_or_else(PoisonError::into_inner));
        }
        if several_threads() {
            files.into_par_iter().try_for_each(TableFile::close)
        } else {
            files.into_iter().try_for_each(TableFile::close)
        }
    }

    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let Some(old) = self.parts.remove(&table) else {
            return Ok(false);
        };
        let path = old.path.clone();
        drop(old.file);
        self.open(table, &path)?;
        Ok(true)
    }
}
