//! Matches the captures of several hosts into their common tables.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;

use flowsweep_parsers::folder::{Folder, Layout, Place};
use flowsweep_parsers::{ClockReading, MatchOptions, MatchSummary, Point};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::parse::{describe_damage, in_background};
use crate::{inputs, table};

/// Name, captures as (path, name), addresses, dropped packets, begin and end in ns, and the number of its kernel.
type Host = (
    String,
    Vec<(PathBuf, String)>,
    Vec<IpAddr>,
    u64,
    Option<(i64, i64)>,
    Option<usize>,
);

/// Numbers of two hosts, a time by the second one's clock, and the least and most that it is ahead, in ns.
type Readings = Vec<(u16, u16, i64, (i64, i64))>;

/// Matches the captures of `hosts` into Parquet files; returns a summary.
#[pyfunction]
#[pyo3(signature = (hosts, readings, places, *, window_ns, window_packets, notes, progress))]
#[allow(clippy::too_many_arguments)] // keyword arguments of Python
pub(crate) fn match_captures(
    py: Python<'_>,
    hosts: Vec<Host>,
    readings: Readings,
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
        .map(|(name, files, addresses, dropped, span, kernel)| Point {
            name,
            inputs: inputs(files),
            addresses,
            dropped,
            span,
            kernel,
        })
        .collect();
    let readings: Vec<ClockReading> = readings
        .into_iter()
        .map(|(first, second, time, bounds)| ClockReading {
            first,
            second,
            time,
            bounds,
        })
        .collect();
    let options = MatchOptions {
        window_ns,
        window_packets,
    };
    let summary = in_background(py, progress.as_ref(), move |state| {
        // These checks come before anything is written.
        options.check()?;
        for point in &points {
            flowsweep_parsers::check(&point.inputs)?;
        }
        let mut folder = Folder::create(layout)?;
        flowsweep_parsers::match_captures(&points, &readings, &options, &mut folder, state)
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
        counts.set_item("negative_delays", path.negative_delays)?;
        counts.set_item("unknown_delays", path.unknown_delays)?;
        paths.append(counts)?;
    }
    about.set_item("paths", paths)?;
    let clocks = PyList::empty(py);
    for clock in &summary.clocks {
        let found = PyDict::new(py);
        found.set_item("host", &clock.host)?;
        found.set_item("reference", &clock.reference)?;
        found.set_item("offset_ns", clock.offset_ns)?;
        found.set_item("offset_error_ns", clock.error_ns)?;
        found.set_item("drift_ppm", clock.drift_ppm)?;
        found.set_item("method", clock.method)?;
        clocks.append(found)?;
    }
    about.set_item("clocks", clocks)?;
    let translations = PyList::empty(py);
    for translation in &summary.translations {
        let found = PyDict::new(py);
        found.set_item("host", &translation.host)?;
        found.set_item("seen", translation.seen.to_string())?;
        found.set_item("own", translation.own.to_string())?;
        translations.append(found)?;
    }
    about.set_item("translations", translations)?;
    about.set_item("out_of_order", summary.out_of_order.clone())?;
    let damage = PyList::empty(py);
    for place in &summary.damage {
        damage.append(describe_damage(py, place)?)?;
    }
    about.set_item("damage", damage)?;
    Ok(about)
}
