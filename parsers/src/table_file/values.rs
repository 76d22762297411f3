//! Values of a column, collected until they fill a page, and the encoding of that page.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt16Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use parquet::basic::Encoding;
use parquet::errors::ParquetError;

use super::delta::Differences;
use super::listed::Listed;
use super::rle;
use super::texts::{Texts, write_text};
use crate::common::memory::in_wide_registers;
use crate::tables::{Column, Kind};

/// Values of the page that is being filled.
pub(super) struct Values {
    kind: Kind,
    held: Held,
    range: Option<(i64, i64)>,
    /// Whether a page refers to a dictionary.
    numbered: bool,
}

enum Held {
    /// Numbers that mostly grow or stay small: differences are smaller than a dictionary and faster to write.
    Integers(Box<Differences>),
    Listed(Listed),
    Texts(Box<Texts>),
    Bits(Vec<bool>),
    Floats(Vec<f64>),
}

impl Values {
    pub(super) fn for_column(column: &Column) -> Self {
        let held = match column.kind {
            _ if column.dictionary => Held::Listed(Listed::new()),
            Kind::Int64 | Kind::Int32 | Kind::Time => {
                Held::Integers(Box::new(Differences::new(column.kind == Kind::Int32)))
            }
            Kind::Text => Held::Texts(Box::new(Texts::new())),
            Kind::Bool => Held::Bits(Vec::new()),
            Kind::Float => Held::Floats(Vec::new()),
        };
        Self {
            kind: column.kind,
            held,
            range: None,
            numbered: false,
        }
    }

    /// Adds the known values of `array`, which is of the column's kind.
    pub(super) fn append(&mut self, array: &dyn Array) -> Result<(), ParquetError> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        match &mut self.held {
            Held::Listed(listed) => listed.add(array.as_dictionary::<UInt16Type>())?,
            Held::Texts(held) => {
                let texts = array.as_string::<i32>();
                let (bytes, ends) = (texts.value_data(), texts.value_offsets());
                let places = ends
                    .windows(2)
                    .map(|ends| ends[0] as usize..ends[1] as usize);
                match nulls {
                    None => places.for_each(|place| held.add(bytes, place)),
                    Some(nulls) => {
                        let known = places.zip(nulls).filter(|&(_, known)| known);
                        known.for_each(|(place, _)| held.add(bytes, place));
                    }
                }
            }
            Held::Bits(held) => {
                let bits = array.as_boolean();
                held.extend(bits.iter().flatten());
                for (bit, count) in [(0, bits.false_count()), (1, bits.true_count())] {
                    if count > 0 {
                        self.widen(bit, bit);
                    }
                }
            }
            Held::Floats(held) => {
                held.extend(array.as_primitive::<Float64Type>().iter().flatten());
            }
            Held::Integers(_) => match self.kind {
                Kind::Int32 => {
                    let values = array.as_primitive::<Int32Type>().values().iter();
                    let values: Vec<i64> = values.map(|&value| value.into()).collect();
                    self.integers(&values, nulls);
                }
                Kind::Time => {
                    let times = array.as_primitive::<TimestampNanosecondType>();
                    self.integers(times.values(), nulls);
                }
                _ => self.integers(array.as_primitive::<Int64Type>().values(), nulls),
            },
        }
        Ok(())
    }

    fn integers(&mut self, values: &[i64], nulls: Option<&NullBuffer>) {
        let known: Vec<i64>;
        let values = match nulls {
            None => values,
            Some(nulls) => {
                known = nulls.valid_indices().map(|row| values[row]).collect();
                &known
            }
        };
        in_wide_registers(
            #[inline(always)]
            || {
                if let Some((least, greatest)) = range(values) {
                    self.widen(least, greatest);
                }
                if let Held::Integers(held) = &mut self.held {
                    held.add(values);
                }
            },
        );
    }

    /// Returns the values of `column`, which have the same numbers in another `list`; none if values are not listed.
    pub(super) fn twin(&self, column: &Column, list: ArrayRef) -> Option<Self> {
        let Held::Listed(listed) = &self.held else {
            return None;
        };
        Some(Self {
            kind: column.kind,
            held: Held::Listed(listed.twin(list)),
            range: None,
            numbered: self.numbered,
        })
    }

    fn widen(&mut self, least: i64, greatest: i64) {
        let (before, after) = self.range.unwrap_or((least, greatest));
        self.range = Some((before.min(least), after.max(greatest)));
    }

    /// Returns the minimum and the maximum over all pages, if the values are numbers.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        match &self.held {
            Held::Listed(listed) => listed.range(),
            _ => self.range,
        }
    }

    /// Moves the values of a page to the end of `out`; returns their encoding.
    pub(super) fn encode(&mut self, out: &mut Vec<u8>) -> Encoding {
        let numbers = match &mut self.held {
            Held::Integers(differences) => {
                differences.encode(out);
                return Encoding::DELTA_BINARY_PACKED;
            }
            Held::Bits(bits) => {
                out.extend(bits.chunks(8).map(|eight| {
                    let places = eight.iter().enumerate();
                    places.fold(0, |byte, (place, &bit)| byte | u8::from(bit) << place)
                }));
                bits.clear();
                return Encoding::PLAIN;
            }
            Held::Floats(values) => {
                out.extend(values.drain(..).flat_map(f64::to_le_bytes));
                return Encoding::PLAIN;
            }
            Held::Texts(texts) => {
                if let Some(plain) = &mut texts.plain {
                    out.append(plain);
                    return Encoding::PLAIN;
                }
                &mut texts.numbers
            }
            Held::Listed(listed) => &mut listed.numbers,
        };
        let greatest = numbers.iter().copied().max().unwrap_or_default();
        let width = (u16::BITS - greatest.leading_zeros()).max(1);
        out.push(width as u8);
        rle::encode(numbers, width as usize, out);
        numbers.clear();
        self.numbered = true;
        Encoding::RLE_DICTIONARY
    }

    /// Returns the dictionary in the format of a page, and the number of its values; none if no page refers to it.
    pub(super) fn dictionary(&self) -> Option<(Vec<u8>, usize)> {
        let mut out = Vec::new();
        let count = match &self.held {
            _ if !self.numbered => return None,
            Held::Texts(texts) => {
                let values = texts.dictionary.values();
                values.map(|text| write_text(text, &mut out)).count()
            }
            Held::Listed(listed) if self.kind == Kind::Text => {
                let values = listed.values();
                values.map(|text| write_text(&text, &mut out)).count()
            }
            Held::Listed(listed) => {
                let values = listed.values();
                values.map(|integer| out.extend(integer)).count()
            }
            _ => return None,
        };
        Some((out, count))
    }
}

/// Returns the minimum and the maximum of `values`.
#[allow(clippy::inline_always)] // see `in_wide_registers`
#[inline(always)]
fn range(values: &[i64]) -> Option<(i64, i64)> {
    let &first = values.first()?;
    let widen =
        |(least, greatest): (i64, i64), &value: &i64| (least.min(value), greatest.max(value));
    // One pass for both compiles to wide registers.
    Some(values.iter().fold((first, first), widen))
}
