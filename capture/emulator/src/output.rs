//! Turns text into a file that appears whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use flowsweep_common::output;

use crate::error::Error;

/// Fails now if the file could not be written later; leaves nothing behind.
pub fn check(path: &Path) -> Result<(), Error> {
    let part = output::part(path);
    output::check(path)
        .and_then(|()| output::create(&part, 0o644))
        .and_then(|_| fs::remove_file(&part))
        .map_err(|source| failure(path, source))
}

/// Writes the file beside its place, to the disk, and renames it.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    output::write(path, text, true)
        .map(drop)
        .map_err(|source| failure(path, source))
}

fn failure(path: &Path, source: io::Error) -> Error {
    Error::Output {
        what: "statistics file",
        path: path.to_owned(),
        source,
        remedy: "Give a path in an existing folder that you may write to with --stats.",
    }
}
