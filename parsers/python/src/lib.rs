//! Python bindings of `flowsweep-parsers`; no logic lives here.

mod failure;
mod held;
mod matching;
mod parse;
mod settings;
mod unpacked;

use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use flowsweep_parsers::{Damage, Input, Table, WithReserve};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use failure::failure;
use parse::describe_damage;
use settings::Settings;

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

/// The native half of the `flowsweep` package.
#[pymodule(gil_used = false)]
mod _parsers {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::failure::ParseError;
    #[pymodule_export]
    use super::held::held;
    #[pymodule_export]
    use super::matching::match_captures;
    #[pymodule_export]
    use super::parse::parse;
    #[pymodule_export]
    use super::unpacked::{Unpacked, count};
    #[pymodule_export]
    use super::{check, columns, matched_tables, protocol, schema, stream, tables};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", flowsweep_parsers::VERSION)
    }
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

/// Returns the names of all tables of a capture.
#[pyfunction]
fn tables() -> Vec<&'static str> {
    Table::ALL.into_iter().map(Table::name).collect()
}

/// Returns the names of the tables that several captures of one run make together.
#[pyfunction]
fn matched_tables() -> Vec<&'static str> {
    Table::MATCHED.into_iter().map(Table::name).collect()
}

/// Returns the name of an IP protocol number, as in the table `flows`.
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

/// Returns the columns of a table as (name, type, nullable, unit, meaning, source).
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

/// Fails if one of `files`, a list of (path, name), cannot be opened or is no capture.
#[pyfunction]
fn check(py: Python<'_>, files: Vec<(PathBuf, String)>) -> PyResult<()> {
    let inputs = inputs(files);
    py.detach(|| flowsweep_parsers::check(&inputs))
        .map_err(failure)
}

/// Returns the schema of a table through the Arrow C data interface.
#[pyfunction]
fn schema<'py>(py: Python<'py>, table_name: &str) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&*table(table_name)?.schema())
        .map_err(|error| failure(error.into()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Returns one table of `files`, a list of (path, name), through the Arrow C stream interface.
#[pyfunction]
#[pyo3(signature = (files, table_name, settings, *, on_damage))]
fn stream<'py>(
    py: Python<'py>,
    files: Vec<(PathBuf, String)>,
    table_name: &str,
    settings: Settings,
    on_damage: Py<PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let wanted = table(table_name)?;
    let options = settings.into();
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

/// Calls `on_damage` with the damaged places. A reader of the stream must expect an error raised by Python.
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
