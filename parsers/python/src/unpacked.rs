//! Plain bytes of a file, and counts of patterns in them.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowsweep_parsers::{Input, UnpackedBytes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::failure;

/// The plain bytes of a file, unpacked if it is compressed.
#[pyclass(module = "flowsweep._parsers")]
pub(crate) struct Unpacked(Mutex<UnpackedBytes>);

impl Unpacked {
    fn lock(&self) -> MutexGuard<'_, UnpackedBytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Unpacked {
    #[new]
    fn new(path: PathBuf, name: String) -> PyResult<Self> {
        let bytes = UnpackedBytes::open(&Input::File { path, name }).map_err(failure)?;
        Ok(Self(Mutex::new(bytes)))
    }

    /// Reads the next part; empty at the end.
    fn part<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        py.detach(|| self.lock().advance());
        PyBytes::new(py, self.lock().part())
    }

    /// Returns why reading stopped before the end of the file, if it did.
    fn fault(&self) -> Option<String> {
        self.lock().fault()
    }

    /// The bytes read so far of the file as it is stored.
    #[getter]
    fn consumed(&self) -> u64 {
        self.lock().consumed()
    }
}

/// Counts occurrences of a pattern of one or two bytes in `data`; they may overlap.
#[pyfunction]
pub(crate) fn count(py: Python<'_>, data: &[u8], pattern: &[u8]) -> PyResult<usize> {
    let (first, second) = match *pattern {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return Err(PyValueError::new_err("a pattern has one byte or two")),
    };
    Ok(py.detach(|| flowsweep_parsers::count(data, first, second)))
}
