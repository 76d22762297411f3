//! Values of a column, collected until they fill a page, and the bytes that a page makes of them.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt16Type};
use arrow_array::{Array, DictionaryArray};
use arrow_buffer::NullBuffer;
use parquet::basic::Encoding;

use super::delta::Differences;
use super::dictionary::Dictionary;
use super::hybrid;
use crate::tables::{Column, Kind};

/// Values of the page that is being filled.
pub(super) struct Values {
    kind: Kind,
    held: Held,
    /// The least and the greatest so far, of all pages, if they are numbers.
    pub range: Option<(i64, i64)>,
}

enum Held {
    /// Numbers that mostly grow, or stay small: differences are smaller than a dictionary, and faster to write.
    Integers(Box<Differences>),
    /// Few different values, without order.
    Numbered(Numbered),
    Bits(Vec<bool>),
}

impl Values {
    pub(super) fn of(column: &Column) -> Self {
        let held = match column.kind {
            Kind::Int64 if column.few => {
                Held::Numbered(Numbered::new(<Vec<u8>>::extend_from_slice))
            }
            Kind::Int64 | Kind::Int32 | Kind::Time => {
                Held::Integers(Box::new(Differences::new(column.kind == Kind::Int32)))
            }
            Kind::Text => Held::Numbered(Numbered::new(|out, text| {
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text);
            })),
            Kind::Bool => Held::Bits(Vec::new()),
        };
        Self {
            kind: column.kind,
            held,
            range: None,
        }
    }

    /// Adds the values of `array`, which is of the column's kind, where it has any.
    pub(super) fn append(&mut self, array: &dyn Array) {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        if let Some(array) = array.as_dictionary_opt::<UInt16Type>() {
            return self.numbers(array);
        }
        match self.kind {
            Kind::Int64 => self.integers(array.as_primitive::<Int64Type>().values(), nulls),
            Kind::Time => {
                let times = array.as_primitive::<TimestampNanosecondType>();
                self.integers(times.values(), nulls);
            }
            Kind::Int32 => {
                let values = array.as_primitive::<Int32Type>().values().iter();
                let values: Vec<i64> = values.map(|&value| value.into()).collect();
                self.integers(&values, nulls);
            }
            Kind::Text => {
                let Held::Numbered(numbered) = &mut self.held else {
                    return;
                };
                let texts = array.as_string::<i32>();
                let (bytes, places) = (texts.value_data(), texts.value_offsets());
                let places = places
                    .windows(2)
                    .map(|place| place[0] as usize..place[1] as usize);
                match nulls {
                    None => places.for_each(|place| _ = numbered.push(bytes, place)),
                    Some(nulls) => {
                        let known = places.zip(nulls).filter(|&(_, known)| known);
                        known.for_each(|(place, _)| _ = numbered.push(bytes, place));
                    }
                }
            }
            Kind::Bool => {
                let Held::Bits(bits) = &mut self.held else {
                    return;
                };
                let from = bits.len();
                bits.extend(array.as_boolean().iter().flatten());
                for &bit in &bits[from..] {
                    widen(&mut self.range, bit.into(), bit.into());
                }
            }
        }
    }

    /// Adds rows that are numbers of values.
    fn numbers(&mut self, array: &DictionaryArray<UInt16Type>) {
        let Held::Numbered(held) = &mut self.held else {
            return;
        };
        let values = array.values();
        let texts = values.as_string_opt::<i32>();
        let integers = values.as_primitive_opt::<Int64Type>();
        // Their numbers in the file, of those that were met.
        let mut known = vec![None; values.len()];
        let numbers = array.keys().values();
        let mut add = |number: u16| {
            let number = usize::from(number);
            if let (Some(here), None) = (known[number], &held.plain) {
                return held.numbers.push(here);
            }
            if let Some(integers) = integers {
                let value = integers.value(number);
                widen(&mut self.range, value, value);
                known[number] = held.push(&value.to_le_bytes(), 0..8);
            } else if let Some(texts) = texts {
                let text = texts.value(number).as_bytes();
                known[number] = held.push(text, 0..text.len());
            }
        };
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => numbers.iter().copied().for_each(add),
            Some(nulls) => nulls.valid_indices().for_each(|row| add(numbers[row])),
        }
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
        let Some((least, greatest)) = range(values) else {
            return;
        };
        widen(&mut self.range, least, greatest);
        match &mut self.held {
            Held::Integers(held) => held.add(values),
            Held::Numbered(_) | Held::Bits(_) => {}
        }
    }

    /// Moves the values of a page to the end of `out`, and says how they lie there.
    pub(super) fn encode(&mut self, out: &mut Vec<u8>) -> Encoding {
        match &mut self.held {
            Held::Integers(differences) => {
                differences.encode(out);
                Encoding::DELTA_BINARY_PACKED
            }
            Held::Numbered(numbered) => numbered.encode(out),
            Held::Bits(bits) => {
                out.extend(bits.chunks(8).map(|eight| {
                    let places = eight.iter().enumerate();
                    places.fold(0, |octet, (place, &bit)| octet | u8::from(bit) << place)
                }));
                bits.clear();
                Encoding::PLAIN
            }
        }
    }

    /// The dictionary as a page holds it, and the number of its values; none where no page refers to it.
    pub(super) fn dictionary(&self) -> Option<(Vec<u8>, usize)> {
        match &self.held {
            Held::Numbered(numbered) if numbered.used => {
                let mut out = Vec::new();
                let values = numbered.dictionary.values();
                let count = values.len();
                values.for_each(|value| (numbered.write)(&mut out, value));
                Some((out, count))
            }
            _ => None,
        }
    }
}

/// The least and the greatest of `values`. Of several at once: one would wait for the one before.
fn range(values: &[i64]) -> Option<(i64, i64)> {
    let first = *values.first()?;
    let (mut least, mut greatest) = ([first; 4], [first; 4]);
    let (fours, rest) = values.as_chunks::<4>();
    for values in fours {
        for lane in 0..4 {
            least[lane] = least[lane].min(values[lane]);
            greatest[lane] = greatest[lane].max(values[lane]);
        }
    }
    let least = least.iter().chain(rest).min()?;
    let greatest = greatest.iter().chain(rest).max()?;
    Some((*least, *greatest))
}

fn widen(range: &mut Option<(i64, i64)>, least: i64, greatest: i64) {
    let (before, after) = range.unwrap_or((least, greatest));
    *range = Some((before.min(least), after.max(greatest)));
}

/// Values as numbers of a dictionary until that is full, then as they are.
struct Numbered {
    dictionary: Dictionary,
    numbers: Vec<u16>,
    /// The values themselves, once the dictionary is full.
    plain: Option<Vec<u8>>,
    /// Appends a value as it lies in a page.
    write: fn(&mut Vec<u8>, &[u8]),
    /// A page refers to the dictionary.
    used: bool,
}

impl Numbered {
    fn new(write: fn(&mut Vec<u8>, &[u8])) -> Self {
        Self {
            dictionary: Dictionary::new(),
            numbers: Vec::new(),
            plain: None,
            write,
            used: false,
        }
    }

    /// Adds the value at `place` in `bytes`; returns its number, unless it was written as it is.
    #[inline]
    fn push(&mut self, bytes: &[u8], place: Range<usize>) -> Option<u16> {
        if self.plain.is_none()
            && let Some(number) = self.dictionary.number(bytes, place.clone())
        {
            self.numbers.push(number);
            return Some(number);
        }
        // One page has one encoding: what came before in this one is written as it is, too.
        let plain = self.plain.get_or_insert_default();
        for number in self.numbers.drain(..) {
            (self.write)(plain, self.dictionary.value(number));
        }
        (self.write)(plain, &bytes[place]);
        None
    }

    fn encode(&mut self, out: &mut Vec<u8>) -> Encoding {
        if let Some(plain) = &mut self.plain {
            out.append(plain);
            return Encoding::PLAIN;
        }
        let greatest = self.numbers.iter().copied().max().unwrap_or_default();
        let width = (u16::BITS - greatest.leading_zeros()).max(1);
        out.push(width as u8);
        hybrid::encode(&self.numbers, width as usize, out);
        self.numbers.clear();
        self.used = true;
        Encoding::RLE_DICTIONARY
    }
}
