//! Captures of several hosts to the tables that they make together.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;

use flowsweep_parsers::folder::{Folder, Layout, Place};
use flowsweep_parsers::{MatchOptions, MatchSummary, Point};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::parse::{describe_damage, in_background};
use crate::{inputs, table};

/// Name, captures as (path, name), addresses, packets dropped, and begin and end in ns.
type Host = (
    String,
    Vec<(PathBuf, String)>,
    Vec<IpAddr>,
    u64,
    Option<(i64, i64)>,
);

/// Matches the captures of `hosts` into Parquet files; a summary.
#[pyfunction]
#[pyo3(signature = (hosts, places, *, window_ns, window_packets, notes, progress))]
pub(crate) fn match_captures(
    py: Python<'_>,
    hosts: Vec<Host>,
    places: HashMap<String, (PathBuf, String)>,
    window_ns: i64,
    window_packets: usize,
    notes: Vec<(String, String)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyDict>> {
    let progress = progress.map(Bound::unbind);
    let mut layout = Layout {
        places: BTreeMap::new(),
        notes,
        synced: true,
    };
    for (name, (path, shown)) in places {
        layout
            .places
            .insert(table(&name)?, Place { path, name: shown });
    }
    let points: Vec<Point> = hosts
        .into_iter()
        .map(|(name, files, addresses, dropped, span)| Point {
            name,
            inputs: inputs(files),
            addresses,
            dropped,
            span,
        })
        .collect();
    let options = MatchOptions {
        window_ns,
        window_packets,
    };
    let summary = in_background(py, progress.as_ref(), move |state| {
        // Before anything is written.
        options.check()?;
        for point in &points {
            flowsweep_parsers::check(&point.inputs)?;
        }
        let mut folder = Folder::create(layout)?;
        flowsweep_parsers::match_captures(&points, &options, &mut folder, state)
    })?;
    Ok(describe(py, &summary)?.unbind())
}

fn describe<'py>(py: Python<'py>, summary: &MatchSummary) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    for (name, counts) in [
        ("records", &summary.records),
        ("without_ip", &summary.without_ip),
    ] {
        let by_host = PyDict::new(py);
        for (host, count) in counts {
            by_host.set_item(host, count)?;
        }
        about.set_item(name, by_host)?;
    }
    about.set_item("outside", summary.outside)?;
    let paths = PyList::empty(py);
    for path in &summary.paths {
        let counts = PyDict::new(py);
        counts.set_item("sender", &path.sender)?;
        counts.set_item("receiver", &path.receiver)?;
        counts.set_item("fates", path.fates.clone())?;
        counts.set_item("reordered", path.reordered)?;
        counts.set_item("retransmissions", path.retransmissions)?;
        paths.append(counts)?;
    }
    about.set_item("paths", paths)?;
    let damage = PyList::empty(py);
    for place in &summary.damage {
        damage.append(describe_damage(py, place)?)?;
    }
    about.set_item("damage", damage)?;
    Ok(about)
}
