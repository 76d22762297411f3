//! Writes Arrow batches to Parquet files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch;
use rayon::prelude::*;

pub use super::file::Place;
use super::file::TableFile;
use crate::common::error::Error;
use crate::common::threads::several_threads;
use crate::tables::{Sink, Table};

/// The place of each table, and its metadata.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The place of each table's file.
    pub places: BTreeMap<Table, Place>,
    /// Key-value metadata of every file: where the rows come from.
    pub notes: Vec<(String, String)>,
    /// Whether the files are safely on disk when the last of their rows is written.
    pub synced: bool,
}

impl Layout {
    /// Places each of `tables` at `<folder>/<table>.parquet`.
    pub fn flat(folder: &Path, tables: &[Table]) -> Self {
        let place = |table: Table| {
            let path = folder.join(format!("{}.parquet", table.name()));
            let name = path.display().to_string();
            Place { path, name }
        };
        Self {
            places: tables.iter().map(|&table| (table, place(table))).collect(),
            notes: Vec::new(),
            synced: true,
        }
    }
}

/// Writes tables into new files and follows no links. If it is dropped before the last row, it removes the files.
pub struct Folder {
    layout: Layout,
    files: BTreeMap<Table, Mutex<TableFile>>,
    /// Files that were created and are not complete yet.
    unfinished: Vec<PathBuf>,
}

impl Folder {
    /// Creates the folders and the files.
    pub fn create(layout: Layout) -> Result<Self, Error> {
        let mut folder = Self {
            layout,
            files: BTreeMap::new(),
            unfinished: Vec::new(),
        };
        let tables: Vec<Table> = folder.layout.places.keys().copied().collect();
        for table in tables {
            folder.open(table)?;
        }
        Ok(folder)
    }

    fn open(&mut self, table: Table) -> Result<(), Error> {
        let place = &self.layout.places[&table];
        if let Some(parent) = place.path.parent() {
            fs::create_dir_all(parent)
                .map_err(|error| Error::io(format!("cannot create {}", parent.display()), error))?;
        }
        let file = TableFile::create(place, table, &self.layout.notes)?;
        self.unfinished.push(place.path.clone());
        self.files.insert(table, Mutex::new(file));
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for path in &self.unfinished {
            let _ = fs::remove_file(path);
        }
    }
}

impl Sink for Folder {
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        if let Some(file) = self.files.get(&table) {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write(&batch)?;
        }
        Ok(())
    }

    /// Completes every file.
    fn end(&mut self) -> Result<(), Error> {
        let files: Vec<TableFile> = std::mem::take(&mut self.files)
            .into_values()
            .map(|file| file.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let written: Vec<_> = if several_threads() {
            let files = files.into_par_iter();
            files.map(TableFile::close).collect::<Result<_, _>>()?
        } else {
            let files = files.into_iter();
            files.map(TableFile::close).collect::<Result<_, _>>()?
        };
        if self.layout.synced {
            // One thread per file, whatever the number of processors: a file system commits concurrent requests
            // together.
            thread::scope(|scope| {
                let syncs: Vec<_> = written
                    .iter()
                    .map(|file| scope.spawn(|| file.sync()))
                    .collect();
                syncs.into_iter().try_for_each(|sync| {
                    sync.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
            })?;
        }
        self.unfinished.clear();
        Ok(())
    }

    fn can_restart(&self) -> bool {
        true
    }

    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        if self.files.remove(&table).is_none() {
            return Ok(false);
        }
        let place = &self.layout.places[&table];
        fs::remove_file(&place.path)
            .map_err(|error| Error::io(format!("cannot write {}", place.name), error))?;
        self.open(table)?;
        Ok(true)
    }
}
