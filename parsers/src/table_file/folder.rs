//! Arrow batches to Parquet files.

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

/// Where each table goes, and what is noted in it.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Place of each table's file.
    pub places: BTreeMap<Table, Place>,
    /// Key-value metadata of every file: where the rows come from.
    pub notes: Vec<(String, String)>,
    /// Whether the files are safe on the disk when the last of their rows is written.
    pub synced: bool,
}

impl Layout {
    /// `<folder>/<table>.parquet` for each of `tables`.
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

/// Writes tables into new files, through no link. Dropped before the last row, it removes them.
pub struct Folder {
    layout: Layout,
    files: BTreeMap<Table, Mutex<TableFile>>,
    /// What was made, and is not whole yet.
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
            // Their number is not that of the processors: a file system writes down in one go what several ask
            // for at once.
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
