//! Small frames of any link type in a valid file: headers and times are mutated.
//!
//! Fields: link type (index), options, then frames: length, bytes beyond the captured ones, time step, bytes.

use super::checks::checked_with;
use super::fields::Fields;
use super::files::{Record, START_NS, pcap};

/// Link types that the parser decodes, and one that it does not.
pub const LINK_TYPES: [u16; 23] = [
    1, 0, 108, 9, 50, 51, 10, 101, 12, 14, 228, 229, 104, 107, 113, 276, 105, 127, 192, 239, 7,
    129, 147,
];
const MOST_FRAMES: usize = 64;

/// The entry point.
pub fn enter(bytes: &[u8]) {
    let mut fields = Fields(bytes);
    let link_type = LINK_TYPES[usize::from(fields.u8()) % LINK_TYPES.len()];
    let options = fields.u8();
    let mut time = START_NS;
    let mut in_order = true;
    let mut records: Vec<Record> = Vec::new();
    while fields.more() && records.len() < MOST_FRAMES {
        let length = fields.u8();
        let beyond = match fields.u8() {
            255 => 65_535,
            // Longer than any frame; shorter than the captured bytes.
            254 => u32::MAX / 2,
            253 => 1_u32.wrapping_neg(),
            more => u32::from(more),
        };
        let step = fields.step_ns();
        in_order &= step >= 0;
        time += step;
        let frame = fields.bytes(usize::from(length)).to_vec();
        records.push((time, (frame.len() as u32).wrapping_add(beyond), frame));
    }
    let whole = pcap(link_type, &records);
    let threads = if options & 3 == 3 { 2 } else { 1 };
    let verify = options & 16 != 0;
    let (tables, summary) =
        checked_with(&[&whole], threads, verify).expect("a valid file is refused");
    assert_eq!(summary.packets as usize, records.len());
    assert!(summary.damage.is_empty());
    // Two files are one capture; files with the same first time keep their given order.
    if options & 12 == 12 && in_order {
        let (first, second) = records.split_at(records.len() / 2);
        let files = [pcap(link_type, first), pcap(link_type, second)];
        if let Some((parts, _)) = checked_with(&[&files[0], &files[1]], 1, verify) {
            assert!(first.is_empty() || parts.without_files() == tables.without_files());
        }
    }
}
