//! Turns lists of values into Arrow arrays, and arrays into batches.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use rayon::prelude::*;

use super::{Table, text};
use crate::common::error::Error;
use crate::common::threads::{in_batches, several_threads};

/// Builds the array of a column when its batch is made.
pub(crate) type Making<'a> = Box<dyn FnOnce() -> ArrayRef + Send + 'a>;

/// Makes a batch of `table` from its columns in order; several threads make columns in parallel.
pub(crate) fn batch(
    table: Table,
    rows: usize,
    columns: Vec<Making<'_>>,
) -> Result<RecordBatch, Error> {
    let columns = if several_threads() {
        let columns = in_batches(columns.into_par_iter(), rows);
        columns.map(|make| make()).collect()
    } else {
        columns.into_iter().map(|make| make()).collect()
    };
    Ok(RecordBatch::try_new(table.batch_schema(), columns)?)
}

/// Passes `batches` to `emit`; with several threads, one makes the next batch while another emits.
pub(crate) fn hand_over(
    mut batches: impl Iterator<Item = Result<RecordBatch, Error>> + Send,
    mut emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut made = batches.next();
    while let Some(batch) = made {
        let batch = batch?;
        if several_threads() {
            let (gone, following) = rayon::join(|| emit(batch), || batches.next());
            gone?;
            made = following;
        } else {
            emit(batch)?;
            made = batches.next();
        }
    }
    Ok(())
}

/// Makes a column of integers that are all known.
pub(crate) fn int64<'a>(values: impl IntoIterator<Item = i64> + Send + 'a) -> Making<'a> {
    Box::new(move || Arc::new(Int64Array::from_iter_values(values)))
}

/// Makes a column of integers that may be unknown.
pub(crate) fn int64_or_null<'a>(
    values: impl ExactSizeIterator<Item = Option<i64>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || {
        let mut integers = Vec::with_capacity(values.len());
        let known = known(values.map(|value| {
            integers.push(value.unwrap_or_default());
            value.is_some()
        }));
        Arc::new(Int64Array::new(integers.into(), known))
    })
}

/// Returns which rows have a value, for columns that share it; none if all have one.
pub(crate) fn known(mut rows: impl ExactSizeIterator<Item = bool>) -> Option<NullBuffer> {
    let known = BooleanBuffer::collect_bool(rows.len(), |_| rows.next().unwrap_or_default());
    let known = NullBuffer::new(known);
    (known.null_count() > 0).then_some(known)
}

/// Makes a column of integers that are known in the rows of `known`.
pub(crate) fn int64_where<'a>(
    known: Option<&NullBuffer>,
    values: impl IntoIterator<Item = i64> + Send + 'a,
) -> Making<'a> {
    let known = known.cloned();
    Box::new(move || Arc::new(Int64Array::new(values.into_iter().collect(), known)))
}

/// Makes a column of small integers that are known in the rows of `known`.
pub(crate) fn int32_where<'a>(
    known: Option<&NullBuffer>,
    values: impl IntoIterator<Item = i32> + Send + 'a,
) -> Making<'a> {
    let known = known.cloned();
    Box::new(move || Arc::new(Int32Array::new(values.into_iter().collect(), known)))
}

/// Makes a column of small integers that may be unknown.
pub(crate) fn int32_or_null<'a>(
    values: impl IntoIterator<Item = Option<i32>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || Arc::new(values.into_iter().collect::<Int32Array>()))
}

/// Makes a column of small integers.
pub(crate) fn int32<'a>(values: impl IntoIterator<Item = i32> + Send + 'a) -> Making<'a> {
    Box::new(move || Arc::new(Int32Array::from_iter_values(values)))
}

/// Makes a column of numbers with a fraction that may be unknown.
pub(crate) fn float_or_null<'a>(
    values: impl IntoIterator<Item = Option<f64>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || Arc::new(values.into_iter().collect::<Float64Array>()))
}

/// Makes a column of times that may be unknown.
pub(crate) fn time_or_null<'a>(
    values: impl IntoIterator<Item = Option<i64>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || {
        let array: TimestampNanosecondArray = values.into_iter().collect();
        Arc::new(array.with_timezone("UTC"))
    })
}

/// Makes a column of times.
pub(crate) fn time<'a>(values: impl IntoIterator<Item = i64> + Send + 'a) -> Making<'a> {
    Box::new(move || {
        Arc::new(TimestampNanosecondArray::from_iter_values(values).with_timezone("UTC"))
    })
}

/// Makes a column of text.
pub(crate) fn text<'a, S: AsRef<str>>(
    values: impl IntoIterator<Item = S> + Send + 'a,
) -> Making<'a> {
    texts(values, |value, out| {
        out.extend_from_slice(value.as_ref().as_bytes());
    })
}

/// Makes a column of IP addresses as text; true means IPv6.
pub(crate) fn addresses<'a>(
    values: impl IntoIterator<Item = (u128, bool)> + Send + 'a,
) -> Making<'a> {
    texts(values, |(value, v6), out| {
        text::write_address(out, value, v6);
    })
}

/// Concatenates the texts that `write` makes of `values`: a string for each of them would be slower.
fn texts<'a, V>(
    values: impl IntoIterator<Item = V> + Send + 'a,
    write: impl Fn(V, &mut Vec<u8>) + Send + 'a,
) -> Making<'a> {
    Box::new(move || {
        let values = values.into_iter();
        let rows = values.size_hint().0;
        let mut all = Vec::with_capacity(12 * rows);
        let mut lengths = Vec::with_capacity(rows);
        for value in values {
            let before = all.len();
            write(value, &mut all);
            lengths.push(all.len() - before);
        }
        let places = OffsetBuffer::from_lengths(lengths);
        Arc::new(StringArray::new(places, all.into(), None))
    })
}

/// Makes a column of text that may be unknown.
pub(crate) fn text_or_null<'a, S: AsRef<str>>(
    values: impl IntoIterator<Item = Option<S>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || {
        let mut builder = StringBuilder::new();
        for value in values {
            builder.append_option(value);
        }
        Arc::new(builder.finish())
    })
}

/// Makes a column of booleans.
pub(crate) fn boolean<'a>(values: impl IntoIterator<Item = bool> + Send + 'a) -> Making<'a> {
    Box::new(move || Arc::new(values.into_iter().map(Some).collect::<BooleanArray>()))
}

/// Makes a column of booleans that may be unknown.
pub(crate) fn boolean_or_null<'a>(
    values: impl IntoIterator<Item = Option<bool>> + Send + 'a,
) -> Making<'a> {
    Box::new(move || Arc::new(values.into_iter().collect::<BooleanArray>()))
}
