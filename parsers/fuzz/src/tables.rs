//! The tables of a capture, kept in memory, and their columns as lists.

use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType};
use arrow_schema::DataType;
use flowsweep_parsers::{Error, Input, Options, Progress, Sink, Summary, Table, run, with_values};

/// The batches of every table, in order.
pub struct Tables(pub Vec<(Table, RecordBatch)>);

/// Receives batches of several tables concurrently.
#[derive(Default)]
struct Received(Mutex<Vec<(Table, RecordBatch)>>);

impl Sink for Received {
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        let batch = with_values(table, &batch)?;
        self.0.lock().unwrap().push((table, batch));
        Ok(())
    }

    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let batches = self.0.get_mut().unwrap();
        batches.retain(|(other, _)| *other != table);
        Ok(true)
    }
}

impl Tables {
    fn batches(&self, table: &str) -> impl Iterator<Item = &RecordBatch> {
        let wanted = self
            .0
            .iter()
            .filter(move |(other, _)| other.name() == table);
        wanted.map(|(_, batch)| batch)
    }

    /// Returns the number of rows of `table`.
    pub fn rows(&self, table: &str) -> usize {
        self.batches(table).map(RecordBatch::num_rows).sum()
    }

    /// Returns a column of numbers or times; empty if the table has no such column.
    pub fn numbers(&self, table: &str, column: &str) -> Vec<Option<i64>> {
        let mut values = Vec::new();
        for array in self
            .batches(table)
            .filter_map(|batch| batch.column_by_name(column))
        {
            match array.data_type() {
                DataType::Int64 => values.extend(array.as_primitive::<Int64Type>().iter()),
                DataType::Int32 => {
                    let narrow = array.as_primitive::<Int32Type>().iter();
                    values.extend(narrow.map(|value| value.map(i64::from)));
                }
                DataType::Timestamp(..) => {
                    values.extend(array.as_primitive::<TimestampNanosecondType>().iter());
                }
                _ => {}
            }
        }
        values
    }

    /// Returns a column of numbers without unknown values.
    pub fn known(&self, table: &str, column: &str) -> Vec<i64> {
        let values = self.numbers(table, column).into_iter();
        let known: Option<Vec<i64>> = values.collect();
        known.unwrap_or_else(|| panic!("{table}.{column} has nulls"))
    }

    /// Returns the sum of a column's known values.
    pub fn sum(&self, table: &str, column: &str) -> i128 {
        let values = self.numbers(table, column).into_iter().flatten();
        values.map(i128::from).sum()
    }

    /// Returns a column of text, with empty strings for unknown values.
    pub fn texts(&self, table: &str, column: &str) -> Vec<String> {
        let arrays = self
            .batches(table)
            .filter_map(|batch| batch.column_by_name(column));
        let mut values = Vec::new();
        for array in arrays {
            let texts = array.as_string::<i32>().iter();
            values.extend(texts.map(|text| text.unwrap_or_default().to_owned()));
        }
        values
    }

    /// Returns what must not depend on how the packets are distributed over files.
    pub fn without_files(mut self) -> Vec<(Table, RecordBatch)> {
        self.0
            .retain(|(table, _)| !matches!(table.name(), "captures" | "packets"));
        self.0
    }
}

/// Parses `files` as one capture into all tables; `verify_checksums`: packets with a wrong one are in no flow.
pub fn parse(
    files: &[&[u8]],
    threads: usize,
    verify_checksums: bool,
) -> Result<(Tables, Summary), Error> {
    let options = Options {
        tables: Table::ALL.to_vec(),
        threads,
        verify_checksums,
        ..Options::default()
    };
    parse_with(files, &options)
}

/// Parses `files` as one capture into all tables.
pub fn parse_with(files: &[&[u8]], options: &Options) -> Result<(Tables, Summary), Error> {
    let inputs: Vec<Input> = files
        .iter()
        .map(|&bytes| Input::Bytes {
            bytes: Arc::from(bytes),
            name: "fuzz".to_owned(),
        })
        .collect();
    let mut received = Received::default();
    let summary = run(&inputs, options, &mut received, &Progress::default())?;
    let mut batches = received.0.into_inner().unwrap();
    batches.sort_by_key(|&(table, _)| table);
    Ok((Tables(batches), summary))
}
