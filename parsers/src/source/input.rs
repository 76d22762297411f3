//! What can be read as a capture.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the bytes of one capture come from.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file. `name` is what tables and messages call it.
    File {
        /// Where it is.
        path: PathBuf,
        /// What it is called.
        name: String,
    },
    /// The standard input.
    Stdin,
    /// Bytes in memory: for tests and fuzzing.
    Bytes {
        /// The capture.
        bytes: Arc<[u8]>,
        /// What it is called.
        name: String,
    },
}

impl Input {
    /// A file called by the path as given; `-` is the standard input.
    pub fn from_path(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self::Stdin;
        }
        Self::File {
            path: path.to_path_buf(),
            name: path.display().to_string(),
        }
    }

    /// Whether it can be read only once: the standard input, a named pipe, `<(zcat FILE)` of a shell.
    pub(crate) fn is_stream(&self) -> bool {
        match self {
            Self::Stdin => true,
            // What cannot be looked at is not opened either, which tells why.
            Self::File { path, .. } => {
                std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
            }
            Self::Bytes { .. } => false,
        }
    }

    /// What tables and messages call this input.
    pub fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Bytes { name, .. } => name,
            Self::Stdin => "-",
        }
    }
}
