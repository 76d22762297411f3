//! Python bindings of `flowsweep-parsers`; no logic lives here.

mod held;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use flowsweep_parsers::folder::{Folder, Layout, Place};
use flowsweep_parsers::{
    Damage, Error, Input, Manifest, Octets, Options, Progress, Summary, Table, WithReserve,
};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

create_exception!(
    _parsers,
    ParseError,
    PyException,
    "What the parser could not do; args are (what, found, expected, remedy), each of the last three or None."
);

/// The native half of the `flowsweep` package.
#[pymodule(gil_used = false)]
mod _parsers {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::held::held;
    #[pymodule_export]
    use super::{
        ParseError, Unpacked, check, columns, count, parse, protocol, schema, stream, tables,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", flowsweep_parsers::VERSION)
    }
}

fn failure(error: Error) -> PyErr {
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

/// So often signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// EMFILE, the same number on every system.
const TOO_MANY_OPEN: i32 = 24;

/// What the operating system expected where it refused, and what to do.
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

fn table(name: &str) -> PyResult<Table> {
    Table::from_name(name)
        .ok_or_else(|| PyValueError::new_err(format!("no table is called {name:?}")))
}

fn inputs(files: Vec<(PathBuf, String)>) -> Vec<Input> {
    files
        .into_iter()
        .map(|(path, name)| {
            if path.as_os_str() == "-" {
                Input::Stdin
            } else {
                Input::File { path, name }
            }
        })
        .collect()
}

/// Names of all tables.
#[pyfunction]
fn tables() -> Vec<&'static str> {
    Table::ALL.into_iter().map(Table::name).collect()
}

/// Name of an IP protocol number, as the table `flows` has it.
#[pyfunction]
fn protocol(number: u8) -> String {
    flowsweep_parsers::protocol_name(number).into_owned()
}

/// Name, type, nullable, unit, meaning and source of a column.
type Description = (
    &'static str,
    String,
    bool,
    &'static str,
    &'static str,
    &'static str,
);

/// Columns of a table as (name, type, nullable, unit, meaning, source).
#[pyfunction]
fn columns(table_name: &str) -> PyResult<Vec<Description>> {
    let columns = table(table_name)?.columns().iter();
    Ok(columns
        .map(|column| {
            let kind = format!("{:?}", column.kind).to_lowercase();
            (
                column.name,
                kind,
                column.nullable,
                column.unit,
                column.meaning,
                column.source,
            )
        })
        .collect())
}

/// Fails where one of `files`, a list of (path, name), cannot be opened or is no capture.
#[pyfunction]
fn check(py: Python<'_>, files: Vec<(PathBuf, String)>) -> PyResult<()> {
    let inputs = inputs(files);
    py.detach(|| flowsweep_parsers::check(&inputs))
        .map_err(failure)
}

/// The schema of a table, as the Arrow C data interface passes it.
#[pyfunction]
fn schema<'py>(py: Python<'py>, table_name: &str) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&*table(table_name)?.schema())
        .map_err(|error| failure(error.into()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// One table of `files`, a list of (path, name), as the Arrow C stream interface passes it.
#[pyfunction]
#[pyo3(signature = (files, table_name, *, bin_ns, udp_timeout_ns, on_damage, verify_checksums=false))]
fn stream<'py>(
    py: Python<'py>,
    files: Vec<(PathBuf, String)>,
    table_name: &str,
    bin_ns: i64,
    udp_timeout_ns: i64,
    on_damage: Py<PyAny>,
    verify_checksums: bool,
) -> PyResult<Bound<'py, PyCapsule>> {
    let wanted = table(table_name)?;
    let options = Options {
        bin_ns,
        udp_timeout_ns,
        verify_checksums,
        ..Options::default()
    };
    let inputs = inputs(files);
    let batches = py
        .detach(|| {
            let tell = Box::new(move |damage: &[Damage]| tell(&on_damage, damage));
            flowsweep_parsers::stream::stream(inputs, options, wanted, tell)
        })
        .map_err(failure)?;
    let batches = FFI_ArrowArrayStream::new(Box::new(batches));
    PyCapsule::new_with_value(py, batches, c"arrow_array_stream")
}

/// The plain octets of a file, unpacked if it is compressed.
#[pyclass(module = "flowsweep._parsers")]
struct Unpacked(Mutex<Octets>);

impl Unpacked {
    fn octets(&self) -> MutexGuard<'_, Octets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Unpacked {
    #[new]
    fn new(path: PathBuf, name: String) -> PyResult<Self> {
        let octets = Octets::open(&Input::File { path, name }).map_err(failure)?;
        Ok(Self(Mutex::new(octets)))
    }

    /// The next part; empty at the end.
    fn part<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        py.detach(|| self.octets().advance());
        PyBytes::new(py, self.octets().part())
    }

    /// Why the file ended before its end, if it did.
    fn fault(&self) -> Option<String> {
        self.octets().fault()
    }

    /// Bytes of the file as it is stored that were read so far.
    #[getter]
    fn consumed(&self) -> u64 {
        self.octets().consumed()
    }
}

/// How often a pattern of one or two octets stands in `octets`; occurrences may overlap.
#[pyfunction]
fn count(py: Python<'_>, octets: &[u8], pattern: &[u8]) -> PyResult<usize> {
    let (first, second) = match *pattern {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return Err(PyValueError::new_err("a pattern has one octet or two")),
    };
    Ok(py.detach(|| flowsweep_parsers::count(octets, first, second)))
}

/// Calls `on_damage` with what was damaged. Whoever reads the stream must be ready for one that Python makes.
fn tell(on_damage: &Py<PyAny>, damage: &[Damage]) -> Result<(), ArrowError> {
    let called = Python::attach(|py| {
        let places = damage.iter().map(|place| describe_damage(py, place));
        on_damage.call1(py, (places.collect::<PyResult<Vec<_>>>()?,))
    });
    called.map_or_else(
        |error| Err(ArrowError::ExternalError(Box::new(error))),
        |_| Ok(()),
    )
}

/// Parses `files`, a list of (path, name), as one capture into Parquet files; a summary.
#[pyfunction]
#[pyo3(signature = (files, places, *, bin_ns, udp_timeout_ns, threads, manifests, notes, progress, verify_checksums=false, process_ends=false, synced=true, memory=None))]
#[allow(clippy::too_many_arguments)]
fn parse(
    py: Python<'_>,
    files: Vec<(PathBuf, String)>,
    places: HashMap<String, (PathBuf, String)>,
    bin_ns: i64,
    udp_timeout_ns: i64,
    threads: usize,
    manifests: HashMap<String, (Option<u64>, Option<u64>)>,
    notes: Vec<(String, String)>,
    progress: Option<Bound<'_, PyAny>>,
    verify_checksums: bool,
    process_ends: bool,
    synced: bool,
    memory: Option<u64>,
) -> PyResult<Py<PyDict>> {
    let progress = progress.map(Bound::unbind);
    let mut layout = Layout {
        places: BTreeMap::new(),
        notes,
        synced,
    };
    for (name, (path, shown)) in places {
        layout
            .places
            .insert(table(&name)?, Place { path, name: shown });
    }
    let manifests = manifests
        .into_iter()
        .map(|(name, (dropped_kernel, dropped_interface))| {
            (
                name,
                Manifest {
                    dropped_kernel,
                    dropped_interface,
                },
            )
        });
    let options = Options {
        bin_ns,
        udp_timeout_ns,
        tables: layout.places.keys().copied().collect(),
        manifests: manifests.collect(),
        threads,
        verify_checksums,
        memory,
        process_ends,
        ..Options::default()
    };
    let inputs = inputs(files);
    let state = Progress::default();
    let worker_state = state.clone();
    let (sender, mut receiver) = channel();
    let worker = thread::spawn(move || {
        let _ = sender.send(work(&inputs, &options, layout, &worker_state));
    });
    let outcome = loop {
        let waited = py.detach(move || {
            let message = receiver.recv_timeout(TICK);
            (receiver, message)
        });
        receiver = waited.0;
        match waited.1 {
            Ok(outcome) => break outcome.map_err(failure),
            Err(RecvTimeoutError::Disconnected) => {
                break Err(ParseError::new_err((
                    "the parser stopped unexpectedly",
                    None::<String>,
                    None::<String>,
                    None::<String>,
                )));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = tick(py, &state, progress.as_ref()) {
                    // Ctrl-C: the worker ends at its next batch and removes what it wrote.
                    state.stop.store(true, Ordering::Relaxed);
                    break Err(interrupt);
                }
            }
        }
    };
    let _ = py.detach(|| worker.join());
    Ok(describe(py, &outcome?)?.unbind())
}

fn tick(py: Python<'_>, state: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let read = state.read.load(Ordering::Relaxed);
        let packets = state.packets.load(Ordering::Relaxed);
        progress.call1(py, (read, packets))?;
    }
    Ok(())
}

fn work(
    inputs: &[Input],
    options: &Options,
    layout: Layout,
    state: &Progress,
) -> Result<Summary, Error> {
    // Before anything is written.
    options.check()?;
    flowsweep_parsers::check(inputs)?;
    let mut folder = Folder::create(layout)?;
    flowsweep_parsers::run(inputs, options, &mut folder, state)
}

fn describe<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item("packets", summary.packets)?;
    about.set_item("undecoded", summary.undecoded)?;
    about.set_item("bad_checksums", summary.bad_checksums)?;
    about.set_item("connections", summary.connections)?;
    let files = summary
        .files
        .iter()
        .map(|file| (file.file.as_str(), file.packets));
    about.set_item("files", files.collect::<Vec<_>>())?;
    let damage = PyList::empty(py);
    for place in &summary.damage {
        damage.append(describe_damage(py, place)?)?;
    }
    about.set_item("damage", damage)?;
    Ok(about)
}

fn describe_damage<'py>(py: Python<'py>, place: &Damage) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item("file", &place.file)?;
    about.set_item("packet", place.packet)?;
    about.set_item("offset", place.offset)?;
    about.set_item("found", &place.found)?;
    about.set_item("expected", &place.expected)?;
    about.set_item("kept", place.kept)?;
    about.set_item("unread", place.unread)?;
    about.set_item("changed", place.changed)?;
    Ok(about)
}
