//! Parses captures into Parquet files on a thread other than Python's, so that signals and progress are handled.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use flowsweep_parsers::folder::{Folder, Layout, Place};
use flowsweep_parsers::{Damage, Error, Input, Manifest, Options, Progress, Summary};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::failure::{ParseError, failure};
use crate::settings::Settings;
use crate::{inputs, table};

/// Time between two checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Parses `files`, a list of (path, name), as one capture into Parquet files; returns a summary.
#[pyfunction]
#[pyo3(signature = (files, places, settings, *, threads, manifests, notes, progress, process_ends=false, synced=true, memory=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn parse(
    py: Python<'_>,
    files: Vec<(PathBuf, String)>,
    places: HashMap<String, (PathBuf, String)>,
    settings: Settings,
    threads: usize,
    manifests: HashMap<String, (Option<u64>, Option<u64>)>,
    notes: Vec<(String, String)>,
    progress: Option<Bound<'_, PyAny>>,
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
        tables: layout.places.keys().copied().collect(),
        manifests: manifests.collect(),
        threads,
        memory,
        process_ends,
        ..settings.into()
    };
    let inputs = inputs(files);
    let outcome = in_background(py, progress.as_ref(), move |state| {
        work(&inputs, &options, layout, state)
    });
    Ok(describe(py, &outcome?)?.unbind())
}

/// Runs `work` on another thread; meanwhile checks for signals and reports progress.
pub(crate) fn in_background<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let state = Progress::default();
    let worker_state = state.clone();
    let (sender, mut receiver) = channel();
    let worker = thread::spawn(move || {
        let _ = sender.send(work(&worker_state));
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
                if let Err(interrupt) = tick(py, &state, progress) {
                    // Ctrl-C: the worker ends at its next batch and removes what it wrote.
                    state.stop.store(true, Ordering::Relaxed);
                    break Err(interrupt);
                }
            }
        }
    };
    let _ = py.detach(|| worker.join());
    outcome
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
    // These checks come before anything is written.
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

/// Returns a damaged place in a capture as a Python dictionary.
pub(crate) fn describe_damage<'py>(
    py: Python<'py>,
    place: &Damage,
) -> PyResult<Bound<'py, PyDict>> {
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
