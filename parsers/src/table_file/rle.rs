//! RLE/bit-packing hybrid: small numbers as runs of one value, or packed in groups of eight (Parquet format,
//! Encodings.md).

use super::delta::varint;

/// Numbers that are packed together.
const GROUP: usize = 8;

/// Appends `values`, each of at most `width` bits, which are at most 16.
pub(super) fn encode(values: &[u16], width: usize, out: &mut Vec<u8>) {
    let mut at = 0;
    let mut packed_from = 0;
    while let Some(group) = values[at..].first_chunk::<GROUP>() {
        if group.iter().any(|&value| value != group[0]) {
            at += GROUP;
            continue;
        }
        let more = values[at + GROUP..].iter();
        let length = GROUP + more.take_while(|&&value| value == group[0]).count();
        pack(&values[packed_from..at], width, out);
        run(length, group[0], width, out);
        at += length;
        packed_from = at;
    }
    pack(&values[packed_from..], width, out);
}

/// Appends a run of `length` times `value`.
pub(super) fn run(length: usize, value: u16, width: usize, out: &mut Vec<u8>) {
    varint((length as u64) << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8)]);
}

/// Appends `values` bit-packed; zeros fill the last group.
fn pack(values: &[u16], width: usize, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    varint(packed_head(values.len()), out);
    for group in values.chunks(GROUP) {
        let mut groups = [0; GROUP];
        groups[..group.len()].copy_from_slice(group);
        let [low, high] = [0, 4].map(|from| {
            (0..4).fold(0, |bits, number| {
                bits | u64::from(groups[from + number]) << (number * width)
            })
        });
        let bits = u128::from(low) | u128::from(high) << (4 * width);
        out.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
}

/// Returns the header of `count` packed values, in whole groups.
pub(super) fn packed_head(count: usize) -> u64 {
    (count.div_ceil(GROUP) as u64) << 1 | 1
}
