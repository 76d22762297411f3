//! Blocks of pcapng in any order, mostly well formed.
//!
//! Fields: options, then blocks: kind, error of the length (nearly always 0), and the kind's fields.

use super::checks::checked;
use super::fields::Fields;
use super::files::Blocks;
use super::frames::LINK_TYPES;

const MOST_BLOCKS: usize = 64;

/// The entry point.
pub fn enter(bytes: &[u8]) {
    let mut fields = Fields(bytes);
    let options = fields.u8();
    let mut file = Blocks::default();
    file.section(options & 1 == 1);
    for _ in 0..MOST_BLOCKS {
        if !fields.more() {
            break;
        }
        block(&mut fields, &mut file);
    }
    let cut = file.bytes.len() - usize::from(options >> 3).min(file.bytes.len() - 28);
    let threads = if options & 6 == 6 { 2 } else { 1 };
    checked(&[&file.bytes[..cut]], threads).expect("a section header was written");
}

fn block(fields: &mut Fields<'_>, file: &mut Blocks) {
    let kind = fields.u8();
    let lie = match fields.u8() {
        255 => fields.u32(),
        254 => 4,
        253 => 8_u32.wrapping_neg(),
        _ => 0,
    };
    match kind % 9 {
        0 => file.section(kind & 16 != 0),
        1 | 2 => {
            let link_type = LINK_TYPES[usize::from(fields.u8()) % LINK_TYPES.len()];
            let snaplen = u32::from(fields.u16());
            let mut body = [&file.u16(link_type)[..], &[0, 0], &file.u32(snaplen)].concat();
            body.extend(options(fields, file));
            file.block(1, &body, lie);
        }
        3 | 4 => {
            let interface = u32::from(fields.u8() % 4);
            packet(fields, file, 6, &file.u32(interface), lie);
        }
        5 => {
            let interface = u16::from(fields.u8() % 4);
            let head = [file.u16(interface), file.u16(0)].concat();
            packet(fields, file, 2, &head, lie);
        }
        6 => {
            let wire = u32::from(fields.u16());
            let length = usize::from(fields.u8());
            let body = [&file.u32(wire)[..], fields.bytes(length)].concat();
            file.block(3, &body, lie);
        }
        7 => {
            let interface = u32::from(fields.u8() % 4);
            let mut body = [&file.u32(interface)[..], fields.bytes(8)].concat();
            body.resize(12, 0);
            body.extend(options(fields, file));
            file.block(5, &body, lie);
        }
        _ => {
            let number = u32::from(fields.u16());
            let length = usize::from(fields.u8());
            file.block(number, fields.bytes(length), lie);
        }
    }
}

fn packet(fields: &mut Fields<'_>, file: &mut Blocks, kind: u32, head: &[u8], lie: u32) {
    let ticks = fields.u64();
    let beyond = u32::from(fields.u16());
    let length = usize::from(fields.u8());
    let data = fields.bytes(length);
    let captured = data.len() as u32;
    let mut body = head.to_vec();
    for word in [
        (ticks >> 32) as u32,
        ticks as u32,
        captured,
        captured + beyond,
    ] {
        body.extend(file.u32(word));
    }
    body.extend(data);
    file.block(kind, &body, lie);
}

/// Reads up to three options: code, length, value.
fn options(fields: &mut Fields<'_>, file: &Blocks) -> Vec<u8> {
    let mut options = Vec::new();
    for _ in 0..fields.u8() % 4 {
        let code = u16::from(fields.u8() % 16);
        let length = usize::from(fields.u8() % 32);
        options.extend(file.option(code, fields.bytes(length)));
    }
    options
}
