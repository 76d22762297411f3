//! Texts as numbers of a dictionary until it is full, then as plain text.

use std::ops::Range;

use super::dictionary::Dictionary;

/// Texts of the page that is being filled.
pub(super) struct Texts {
    pub dictionary: Dictionary,
    pub numbers: Vec<u16>,
    /// The texts themselves, each after its length, once the dictionary is full.
    pub plain: Option<Vec<u8>>,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            dictionary: Dictionary::new(),
            numbers: Vec::new(),
            plain: None,
        }
    }

    /// Adds the text at `place` in `bytes`.
    #[inline]
    pub(super) fn add(&mut self, bytes: &[u8], place: Range<usize>) {
        if self.plain.is_none()
            && let Some(number) = self.dictionary.number(bytes, place.clone())
        {
            return self.numbers.push(number);
        }
        // A page has one encoding: the earlier texts of this page are written plain as well.
        let plain = self.plain.get_or_insert_default();
        for number in self.numbers.drain(..) {
            write_text(self.dictionary.value(number), plain);
        }
        write_text(&bytes[place], plain);
    }
}

/// Appends `text` in the format of a page: after its length.
pub(super) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}
