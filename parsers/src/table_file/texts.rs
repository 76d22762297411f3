//! Texts as numbers of a dictionary until that is full, then as they are.

use std::ops::Range;

use super::dictionary::Dictionary;

/// Texts of a page that is being filled.
pub(super) struct Texts {
    pub dictionary: Dictionary,
    pub numbers: Vec<u16>,
    /// The texts themselves, each behind its length, once the dictionary is full.
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
        // One page has one encoding: what came before in this one is written as it is, too.
        let plain = self.plain.get_or_insert_default();
        for number in self.numbers.drain(..) {
            write_text(self.dictionary.value(number), plain);
        }
        write_text(&bytes[place], plain);
    }
}

/// Appends `text` as a page holds it: behind its length.
pub(super) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}
