//! Finds files of an earlier capture with the same name: leaves those of a running one alone, keeps those of a killed
//! one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use flowsweep_common::output;

use crate::names;

/// Renames the files that a killed capture did not end, and its manifest, to names that no capture has; returns old and
/// new names. Fails if a running capture writes to files of these names.
pub fn set_aside(base: &Path, manifest: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    output::refuse_used(manifest)?;
    let Ok(entries) = fs::read_dir(output::folder_of(base)) else {
        return Ok(Vec::new()); // creating a file there reports the error
    };
    let found = entries.flatten().map(|entry| entry.file_name());
    let mut found: Vec<PathBuf> = found
        .map(|name| base.with_file_name(name))
        .filter(|path| names::is_unfinished(base, path) && is_own(path))
        .collect();
    for path in &found {
        output::refuse_used(path)?;
    }
    if !found.is_empty() && is_own(manifest) {
        found.push(manifest.to_owned());
    }
    found
        .into_iter()
        .map(|path| {
            let kept = names::killed(&path);
            fs::rename(&path, &kept).map(|()| (path, kept))
        })
        .collect()
}

/// Returns whether a file of this user is there; anything else of that name is reported when it would be replaced.
fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && output::check(path).is_ok()
}
