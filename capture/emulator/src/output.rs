//! Turns text into a file that appears whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Fails now if the file could not be written later; leaves nothing behind.
pub fn check(path: &Path) -> Result<(), Error> {
    let part = part(path);
    fs::write(&part, "")
        .and_then(|()| fs::remove_file(&part))
        .map_err(|source| failure(path, source))
}

/// Writes the file beside its place and renames it.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let part = part(path);
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|source| failure(path, source))
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn failure(path: &Path, source: io::Error) -> Error {
    Error::Output {
        what: "statistics file",
        path: path.to_owned(),
        source,
        remedy: "Give a path in an existing folder that you may write to with --stats.",
    }
}
