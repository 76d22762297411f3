//! `DELTA_BINARY_PACKED`: integers as differences, packed with as many bits as 32 of them need (Parquet format,
//! Encodings.md).

/// Differences in a block, which share their minimum.
const BLOCK: usize = 128;
/// Differences that are packed with one width.
const MINIBLOCK: usize = 32;

/// Values of a page, packed as they come.
pub(super) struct Differences {
    /// The column has 32 bits, and so have the differences.
    narrow: bool,
    first: i64,
    last: i64,
    values: usize,
    /// Differences that do not fill a block yet.
    waiting: [i64; BLOCK],
    filled: usize,
    /// Blocks that are full.
    packed: Vec<u8>,
}

impl Differences {
    pub(super) fn new(narrow: bool) -> Self {
        Self {
            narrow,
            first: 0,
            last: 0,
            values: 0,
            waiting: [0; BLOCK],
            filled: 0,
            packed: Vec::new(),
        }
    }

    /// Adds `values`.
    #[allow(clippy::inline_always)] // see `in_wide_registers`
    #[inline(always)]
    pub(super) fn add(&mut self, values: &[i64]) {
        let mut left = values;
        if self.values == 0
            && let Some((&first, rest)) = values.split_first()
        {
            (self.first, self.last) = (first, first);
            left = rest;
        }
        self.values += values.len();
        while !left.is_empty() {
            let room = &mut self.waiting[self.filled..];
            let (now, later) = left.split_at(left.len().min(room.len()));
            let mut last = self.last;
            for (difference, &value) in room.iter_mut().zip(now) {
                *difference = value.wrapping_sub(last);
                last = value;
            }
            self.last = last;
            self.filled += now.len();
            left = later;
            if self.filled == BLOCK {
                self.end_block();
            }
        }
    }

    #[allow(clippy::inline_always)] // see `in_wide_registers`
    #[inline(always)]
    fn end_block(&mut self) {
        let used = &mut self.waiting[..self.filled];
        if self.narrow {
            for difference in &mut *used {
                *difference = i64::from(*difference as i32);
            }
        }
        let least = used.iter().copied().fold(i64::MAX, i64::min);
        for difference in used {
            *difference = difference.wrapping_sub(least);
        }
        self.waiting[self.filled..].fill(0);
        let out = &mut self.packed;
        varint(zigzag(least), out);
        let widths_at = out.len();
        out.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
        let (miniblocks, _) = self.waiting.as_chunks::<MINIBLOCK>();
        let used = self.filled.div_ceil(MINIBLOCK);
        for (number, above_least) in miniblocks[..used].iter().enumerate() {
            let bits = above_least.iter().fold(0, |bits, &value| bits | value);
            let width = i64::BITS - bits.leading_zeros();
            out[widths_at + number] = width as u8;
            pack_at(width, above_least, out);
        }
        self.filled = 0;
    }

    /// Moves the values to the end of `out`.
    pub(super) fn encode(&mut self, out: &mut Vec<u8>) {
        if self.filled > 0 {
            self.end_block();
        }
        varint(BLOCK as u64, out);
        varint((BLOCK / MINIBLOCK) as u64, out);
        varint(self.values as u64, out);
        varint(zigzag(self.first), out);
        out.extend_from_slice(&self.packed);
        self.packed.clear();
        self.values = 0;
        self.first = 0;
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends `value`, seven bits in a byte, the lowest first (ULEB128).
pub(super) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `values` with `WIDTH` bits each, the lowest bits first.
fn pack<const WIDTH: usize>(values: &[i64; MINIBLOCK], out: &mut Vec<u8>) {
    let mut words = [0; MINIBLOCK];
    // Unrolled, so that every shift is known at compile time.
    macro_rules! each {
        ($($index:literal)*) => {$(
            let value = values[$index] as u64;
            let (word, shift) = ($index * WIDTH / 64, $index * WIDTH % 64);
            words[word] |= value << shift;
            if shift + WIDTH > 64 {
                words[word + 1] |= value >> (64 - shift);
            }
        )*};
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    let mut packed = [0; MINIBLOCK * 8];
    for (bytes, word) in packed.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    out.extend_from_slice(&packed[..WIDTH * MINIBLOCK / 8]);
}

/// Packs `values` with a width that is known only at run time.
fn pack_at(width: u32, values: &[i64; MINIBLOCK], out: &mut Vec<u8>) {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                $($width => pack::<$width>(values, out),)*
                _ => {}
            }
        };
    }
    by_width!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
    );
}
