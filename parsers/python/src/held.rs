//! An Arrow stream that keeps a file descriptor, and with it a lock, until it is released. The crate's only unsafe
//! code: only the name of a capsule shows what it contains.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

struct Held {
    stream: RecordBatchStreamReader,
    _descriptor: OwnedFd,
}

impl Iterator for Held {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.stream.next()
    }
}

impl RecordBatchReader for Held {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}

/// Moves the stream out of a capsule; the new stream closes the descriptor when it is released.
#[pyfunction]
pub(crate) fn held<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyCapsule>,
    descriptor: RawFd,
) -> PyResult<Bound<'py, PyCapsule>> {
    // SAFETY: the caller transfers ownership of the descriptor.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let stream: NonNull<FFI_ArrowArrayStream> =
        capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name points to such a stream, which is moved out.
    let stream = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let held = Held {
        stream,
        _descriptor: descriptor,
    };
    let stream = FFI_ArrowArrayStream::new(Box::new(held));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
