//! Any batches written to Parquet files: another reader finds the same rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampNanosecondArray, UInt16Array,
};
use arrow_schema::{DataType, Field};
use flowsweep_parsers::folder::{Folder, Layout};
use flowsweep_parsers::{Sink, Table, with_values};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::statistics::Statistics;
use proptest::prelude::*;

/// How the values in a table's columns are chosen.
#[derive(Debug, Clone, Copy)]
struct Choice {
    seed: u64,
    /// Values have this many bits at most ...
    bits: u32,
    /// ... or grow in small steps.
    grows: bool,
    /// Of 8 nullable values, this many are unknown on average.
    unknown: u64,
    /// Largest number of different texts.
    texts: u64,
}

impl Choice {
    /// Returns a pseudo-random number for each row and column.
    fn number(self, row: usize, column: usize) -> u64 {
        let mut number = self.seed ^ (row as u64) << 20 ^ column as u64;
        for _ in 0..2 {
            number = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        number ^ number >> 29
    }

    fn integer(self, row: usize, column: usize) -> i64 {
        let number = self.number(row, column) as i64;
        let short = number.wrapping_shr(64 - self.bits.clamp(1, 64));
        if self.grows {
            (row as i64).wrapping_mul(1_000).wrapping_add(short)
        } else {
            short
        }
    }

    fn column(self, field: &Field, column: usize, rows: std::ops::Range<usize>) -> ArrayRef {
        let known = |row: &usize| {
            !field.is_nullable() || self.number(*row, column + 1000) % 8 >= self.unknown
        };
        let integers = || {
            rows.clone()
                .map(|row| known(&row).then(|| self.integer(row, column)))
        };
        let text = |row: usize| {
            let number = self.number(row, column) % self.texts.max(1);
            format!("{number:0width$}", width = (number % 40) as usize)
        };
        match field.data_type() {
            DataType::Int64 => Arc::new(integers().collect::<Int64Array>()),
            DataType::Int32 => {
                let narrow = integers().map(|it| it.map(|value| value as i32));
                Arc::new(narrow.collect::<Int32Array>())
            }
            DataType::Timestamp(..) => Arc::new(
                integers()
                    .collect::<TimestampNanosecondArray>()
                    .with_timezone("UTC"),
            ),
            DataType::Boolean => {
                let bits = integers().map(|it| it.map(|value| value & 1 == 1));
                Arc::new(bits.collect::<BooleanArray>())
            }
            DataType::Utf8 => {
                let texts = rows.clone().map(|row| known(&row).then(|| text(row)));
                Arc::new(texts.collect::<StringArray>())
            }
            DataType::Dictionary(_, values) => {
                let count = self.texts.clamp(1, 4000);
                let numbers = rows.clone().map(|row| {
                    let number = (self.number(row, column) % count) as u16;
                    known(&row).then_some(number)
                });
                let all: ArrayRef = if **values == DataType::Utf8 {
                    Arc::new(StringArray::from_iter_values(
                        (0..count).map(|it| format!("word {it}")),
                    ))
                } else {
                    let begin = column as i64;
                    Arc::new(Int64Array::from_iter_values(
                        (0..count as i64).map(|it| begin + it * it),
                    ))
                };
                Arc::new(DictionaryArray::new(numbers.collect::<UInt16Array>(), all))
            }
            other => panic!("no values of {other}"),
        }
    }

    fn batch(self, table: Table, rows: std::ops::Range<usize>) -> RecordBatch {
        let schema = table.batch_schema();
        let fields = schema.fields().iter().enumerate();
        let columns = fields.map(|(number, field)| self.column(field, number, rows.clone()));
        let mut columns: Vec<_> = columns.collect();
        for (number, _) in table.columns().iter().enumerate().filter(|(_, it)| it.twin) {
            let before = columns[number - 1].as_dictionary::<UInt16Type>();
            let own = columns[number].as_dictionary::<UInt16Type>();
            let twin = DictionaryArray::new(before.keys().clone(), own.values().clone());
            columns[number] = Arc::new(twin);
        }
        RecordBatch::try_new(table.batch_schema(), columns).unwrap()
    }
}

/// Writes batches of these sizes to a file and reads it again.
fn check(table: Table, choice: Choice, batches: &[usize]) {
    let folder = std::env::temp_dir().join(format!(
        "flowsweep-table-files-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let layout = Layout::flat(&folder, &[table]);
    let path = layout.places[&table].path.clone();
    let mut sink = Folder::create(layout).unwrap();
    let mut written = Vec::new();
    let mut from = 0;
    for &rows in batches {
        let batch = choice.batch(table, from..from + rows);
        from += rows;
        sink.batch(table, batch.clone()).unwrap();
        written.push(with_values(table, &batch).unwrap());
    }
    sink.end().unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    check_statistics(table, &reader, &written);
    let mut rows = 0;
    let mut read = reader
        .with_batch_size(1000)
        .build()
        .unwrap()
        .map(Result::unwrap);
    let mut rest = read.next();
    for batch in written {
        let mut from = 0;
        while from < batch.num_rows() {
            let found = rest.take().unwrap();
            let both = found.num_rows().min(batch.num_rows() - from);
            for (column, (own, other)) in batch.columns().iter().zip(found.columns()).enumerate() {
                let (own, other) = (own.slice(from, both), other.slice(0, both));
                assert_eq!(&own, &other, "{table:?} column {column} from row {rows}");
            }
            from += both;
            rows += both;
            rest = if both < found.num_rows() {
                Some(found.slice(both, found.num_rows() - both))
            } else {
                read.next()
            };
        }
    }
    assert!(rest.is_none());
    assert_eq!(rows, batches.iter().sum::<usize>());
}

/// Checks minimum, maximum and null count of the integers in every row group.
fn check_statistics(
    table: Table,
    reader: &ParquetRecordBatchReaderBuilder<std::fs::File>,
    written: &[RecordBatch],
) {
    let [group] = reader.metadata().row_groups() else {
        return;
    };
    for (column, described) in group.columns().iter().enumerate() {
        let arrays = written.iter().map(|batch| batch.column(column));
        let Some(Statistics::Int64(found)) = described.statistics() else {
            continue;
        };
        let values: Vec<Option<i64>> = arrays
            .flat_map(|array| {
                let times = array.as_primitive_opt::<TimestampNanosecondType>();
                times.map_or_else(
                    || array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
                    |times| times.iter().collect(),
                )
            })
            .collect();
        let known = values.iter().flatten();
        assert_eq!(found.min_opt(), known.clone().min(), "{table:?} {column}");
        assert_eq!(found.max_opt(), known.clone().max(), "{table:?} {column}");
        let unknown = (values.len() - known.count()) as u64;
        assert_eq!(found.null_count_opt(), Some(unknown), "{table:?} {column}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_come_back(
        table in prop::sample::select(&Table::ALL[..]),
        seed in any::<u64>(),
        bits in 1_u32..=64,
        grows in any::<bool>(),
        unknown in 0_u64..=8,
        texts in 1_u64..3000,
        batches in prop::collection::vec(1_usize..9000, 0..5),
    ) {
        check(table, Choice { seed, bits, grows, unknown, texts }, &batches);
    }
}

const CHOICE: Choice = Choice {
    seed: 5,
    bits: 20,
    grows: false,
    unknown: 3,
    texts: 10,
};

#[test]
fn more_texts_than_a_dictionary_holds_come_back() {
    let many = Choice {
        texts: u64::MAX,
        ..CHOICE
    };
    check(Table::Throughput, many, &[8192; 12]);
    check(Table::Flows, many, &[8192; 12]);
}

#[test]
fn several_row_groups_come_back() {
    check(Table::Messages, CHOICE, &[8192; 140]);
}

#[test]
fn every_width_comes_back() {
    for bits in 1..=64 {
        check(Table::Packets, Choice { bits, ..CHOICE }, &[200]);
    }
}

#[test]
fn runs_and_changes_come_back() {
    for texts in 1..20 {
        check(
            Table::Intervals,
            Choice { texts, ..CHOICE },
            &[1, 7, 8, 9, 500],
        );
    }
}

#[test]
fn twins_that_are_none_are_refused() {
    let column = Table::Intervals.columns().iter().position(|it| it.twin);
    let batch = CHOICE.batch(Table::Intervals, 0..9);
    let mut columns = batch.columns().to_vec();
    let twin = columns[column.unwrap()].as_dictionary::<UInt16Type>();
    let others = UInt16Array::from(vec![0; 9]);
    columns[column.unwrap()] = Arc::new(DictionaryArray::new(others, twin.values().clone()));
    let folder = std::env::temp_dir().join(format!("flowsweep-twins-{}", std::process::id()));
    let sink = Folder::create(Layout::flat(&folder, &[Table::Intervals])).unwrap();
    let batch = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let error = sink.batch(Table::Intervals, batch).unwrap_err();
    drop(sink);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.to_string().contains("bucket_high_ns"), "{error}");
}
