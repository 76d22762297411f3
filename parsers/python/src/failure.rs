//! Converts errors of the parser to exceptions: what, found, expected, remedy.

use std::io::{self, ErrorKind};

use flowsweep_parsers::Error;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    _parsers,
    ParseError,
    PyException,
    "What the parser could not do; args are (what, found, expected, remedy), each of the last three or None."
);

/// Returns the exception for an error.
pub(crate) fn failure(error: Error) -> PyErr {
    let args = match error {
        Error::NotACapture {
            file,
            found,
            expected,
            remedy,
        } => (
            format!("{file}: not a packet capture"),
            Some(found),
            Some(expected),
            Some(remedy),
        ),
        Error::Option {
            option,
            found,
            expected,
        } => (
            format!("--{option}"),
            Some(found),
            Some(expected.to_owned()),
            None,
        ),
        Error::Memory {
            place,
            found,
            expected,
            remedy,
        } => (
            format!("out of memory at {place}"),
            Some(found),
            Some(expected),
            Some(remedy),
        ),
        Error::Changed {
            file,
            found,
            expected,
        } => (
            format!("{file}: changed between two readings"),
            Some(found),
            Some(expected),
            Some("parse it again once nothing writes to it".to_owned()),
        ),
        Error::Io { what, source } => {
            let (expected, remedy) = advice(&source);
            (what, Some(source.to_string()), expected, remedy)
        }
        other => (other.to_string(), None, None, None),
    };
    ParseError::new_err(args)
}

/// EMFILE, the same number on every system.
const TOO_MANY_OPEN: i32 = 24;

/// Returns what the operating system expected when it refused, and what to do.
fn advice(error: &io::Error) -> (Option<String>, Option<String>) {
    let (expected, remedy) = match error.kind() {
        ErrorKind::NotFound => ("a file that is there", "check the path"),
        ErrorKind::PermissionDenied => (
            "what this user may read or write",
            "change its permissions, or run as its owner",
        ),
        ErrorKind::IsADirectory => (
            "a file",
            "name the captures in it; `flowsweep ingest` takes the folder of a run",
        ),
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => (
            "a folder, or none yet",
            "move the file that has its name, or name another folder",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("room for the tables", "free some, or name another folder")
        }
        ErrorKind::FileTooLarge => (
            "room for the tables",
            "ulimit -f unlimited, or name a folder of another file system",
        ),
        _ if error.raw_os_error() == Some(TOO_MANY_OPEN) => (
            "files whose times overlap, of which all are open at once",
            "as root: ulimit -n 10000; or let mergecap make fewer files of them",
        ),
        _ => return (None, None),
    };
    (Some(expected.to_owned()), Some(remedy.to_owned()))
}
