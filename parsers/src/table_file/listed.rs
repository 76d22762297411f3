//! Values that batches store as numbers of a list: a file also stores numbers, but only of the values that occur.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, new_empty_array};
use arrow_schema::DataType;
use parquet::errors::ParquetError;

/// Marks a value without a number: no list is that long.
const UNNAMED: u16 = u16::MAX;

/// Numbers of the page that is being filled.
pub(super) struct Listed {
    /// The list that all batches share.
    list: ArrayRef,
    /// Number in the file of each value of the list that occurred; [`UNNAMED`] for others.
    names: Vec<u16>,
    /// Places in the list of the values that occurred, by number in the file.
    places: Vec<u16>,
    pub numbers: Vec<u16>,
}

impl Listed {
    pub(super) fn new() -> Self {
        Self {
            list: new_empty_array(&DataType::Null),
            names: Vec::new(),
            places: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Returns the values of another `list` with the same numbers, and no page in progress.
    pub(super) fn twin(&self, list: ArrayRef) -> Self {
        Self {
            list,
            places: self.places.clone(),
            ..Self::new()
        }
    }

    /// Adds the known values of `array`.
    pub(super) fn add(&mut self, array: &DictionaryArray<UInt16Type>) -> Result<(), ParquetError> {
        let list = array.values();
        if !Arc::ptr_eq(&self.list, list) && *self.list != **list {
            if !self.names.is_empty() {
                let what = "batches of one table have different lists of values";
                return Err(ParquetError::General(what.to_owned()));
            }
            self.list = Arc::clone(list);
            self.names = vec![UNNAMED; list.len()];
        }
        let known: Vec<u16>;
        let places = array.keys().values();
        let places = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => &places[..],
            Some(nulls) => {
                known = nulls.valid_indices().map(|row| places[row]).collect();
                &known
            }
        };
        let before = self.numbers.len();
        // Nearly always all values have a number already: one pass.
        if !self.name(places) {
            self.numbers.truncate(before);
            for &place in places {
                let name = &mut self.names[usize::from(place)];
                if *name == UNNAMED {
                    *name = self.places.len() as u16;
                    self.places.push(place);
                }
            }
            self.name(places);
        }
        Ok(())
    }

    /// Appends the numbers of the values at `places`; returns whether all have one.
    fn name(&mut self, places: &[u16]) -> bool {
        let mut all = true;
        let names = &self.names;
        self.numbers.extend(places.iter().map(|&place| {
            let name = names[usize::from(place)];
            all &= name != UNNAMED;
            name
        }));
        all
    }

    /// Returns the values that occurred, as texts or as bytes of integers.
    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = Vec<u8>> {
        let texts = self.list.as_string_opt::<i32>();
        let integers = self.integers();
        self.places
            .iter()
            .map(move |&place| match (texts, integers) {
                (Some(texts), _) => texts.value(place.into()).as_bytes().to_vec(),
                (_, Some(integers)) => integers[usize::from(place)].to_le_bytes().to_vec(),
                _ => Vec::new(),
            })
    }

    /// Returns the minimum and the maximum, if the values are integers.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let integers = self.integers()?;
        let occurred = self
            .places
            .iter()
            .map(|&place| integers[usize::from(place)]);
        Some((occurred.clone().min()?, occurred.max()?))
    }

    fn integers(&self) -> Option<&[i64]> {
        let integers = self.list.as_primitive_opt::<Int64Type>()?;
        Some(integers.values())
    }
}
