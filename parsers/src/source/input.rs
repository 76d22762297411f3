//! Inputs that can be read as a capture.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source of the bytes of one capture.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file. `name` is its name in tables and messages.
    File {
        /// Its path.
        path: PathBuf,
        /// Its name.
        name: String,
    },
    /// The standard input.
    Stdin,
    /// Bytes in memory: for tests and fuzzing.
    Bytes {
        /// The capture.
        bytes: Arc<[u8]>,
        /// Its name.
        name: String,
    },
}

impl Input {
    /// Returns a file whose name is its path; `-` is the standard input.
    pub fn from_path(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self::Stdin;
        }
        Self::File {
            path: path.to_path_buf(),
            name: path.display().to_string(),
        }
    }

    /// Returns whether the input can be read only once: the standard input, a named pipe, `<(zcat FILE)` of a shell.
    pub(crate) fn is_stream(&self) -> bool {
        match self {
            Self::Stdin => true,
            // If the metadata cannot be read, opening fails as well and reports why.
            Self::File { path, .. } => {
                std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
            }
            Self::Bytes { .. } => false,
        }
    }

    /// Returns the name of this input in tables and messages.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Bytes { name, .. } => name,
            Self::Stdin => "-",
        }
    }
}
