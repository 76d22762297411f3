//! Columns of few different values: batches contain numbers into a list that all batches share.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type};
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt16Array};
use arrow_buffer::NullBuffer;

use super::Table;
use super::arrays::Making;
use crate::common::error::Error;

/// The different values of a column.
pub(crate) type ValueList = LazyLock<ArrayRef>;

/// The directions as numbered by false and true.
pub(crate) static DIRECTIONS: ValueList = LazyLock::new(|| texts(["forward", "backward"]));

/// Makes a list of texts.
pub(crate) fn texts<S: AsRef<str>>(all: impl IntoIterator<Item = S>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(all))
}

/// Makes a column of numbers of values of `all`; they are known in the rows of `known`.
pub(crate) fn numbered<'a>(
    all: &'static ValueList,
    known: Option<&NullBuffer>,
    numbers: impl IntoIterator<Item = u16> + Send + 'a,
) -> Making<'a> {
    let known = known.cloned();
    Box::new(move || {
        let numbers = UInt16Array::new(numbers.into_iter().collect(), known);
        Arc::new(DictionaryArray::new(numbers, Arc::clone(all)))
    })
}

/// Makes a column of the values of `all` with `numbers`, which a column and its [twin](super::Column::twin) share.
pub(crate) fn numbered_column<'a>(all: &'static ValueList, numbers: UInt16Array) -> Making<'a> {
    Box::new(move || Arc::new(DictionaryArray::new(numbers, Arc::clone(all))))
}

/// Returns `batch` of `table` with values instead of their numbers, in the types of its schema.
pub fn with_values(table: Table, batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().map(|column| {
        let Some(numbers) = column.as_dictionary_opt::<UInt16Type>() else {
            return Arc::clone(column);
        };
        if let Some(texts) = numbers.downcast_dict::<StringArray>() {
            return Arc::new(texts.into_iter().collect::<StringArray>()) as ArrayRef;
        }
        let values = numbers.values().as_primitive::<Int64Type>();
        let value = |number| values.value(usize::from(number));
        Arc::new(numbers.keys().unary::<_, Int64Type>(value))
    });
    Ok(RecordBatch::try_new(table.schema(), columns.collect())?)
}
