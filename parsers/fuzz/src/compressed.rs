//! Compressed streams: whole, in several parts, damaged, truncated; and any bytes after each kind's magic.
//!
//! Fields: kind, mode, then the stream's bytes; or repeats, damage (offset and bits), and a frame.

use std::io::Write;

use flowsweep_parsers::Table;

use super::checks::checked;
use super::fields::Fields;
use super::files::{START_NS, pcap};

/// The constant first bytes of each kind.
pub const MAGICS: [&[u8]; 5] = [
    &[0x1f, 0x8b, 8],
    &[0x28, 0xb5, 0x2f, 0xfd],
    &[0x04, 0x22, 0x4d, 0x18],
    b"BZh9",
    &[0xfd, b'7', b'z', b'X', b'Z', 0],
];
/// Uncompressed bytes of a stream that is packed here: enough for several windows of the parser.
const MOST_PLAIN: usize = 6 << 20;
/// Packets of such a stream: more would take seconds with a sanitizer.
const MOST_PACKETS: usize = 4096;
/// Packets of most streams: decompressors reach the same code as with long ones, but many times as often.
const USUAL_PACKETS: usize = 64;

/// The entry point.
pub fn enter(bytes: &[u8]) {
    let mut fields = Fields(bytes);
    let kind = usize::from(fields.u8()) % MAGICS.len();
    let how = fields.u8();
    if how & 1 == 0 {
        checked(&[&[MAGICS[kind], fields.0].concat()], 1);
        return;
    }
    let repeats = usize::from(fields.u16());
    let (at, bits) = (usize::from(fields.u16()), fields.u8());
    let cut = usize::from(fields.u8());
    let frame = fields.bytes(4096);
    let long = how & 12 == 12;
    let count = repeats
        .min(if long { MOST_PACKETS } else { USUAL_PACKETS })
        .min(MOST_PLAIN / (frame.len() + 16));
    let records: Vec<_> = (0..count as i64)
        .map(|number| (START_NS + number * 1000, frame.len() as u32, frame.to_vec()))
        .collect();
    let plain = pcap(1, &records);
    let middle = if how & 2 == 2 { plain.len() / 2 } else { 0 };
    let mut packed = Vec::new();
    if middle > 0 {
        packed.extend(pack(kind, &plain[..middle]));
    }
    packed.extend(pack(kind, &plain[middle..]));
    if bits == 0 && cut == 0 {
        let (tables, summary) = checked(&[&packed], 1).expect("a whole stream is refused");
        assert!(summary.damage.is_empty(), "{:?}", summary.damage);
        let (whole, _) = checked(&[&plain], 1).expect("a valid file is refused");
        let same = |(table, _): &&(Table, _)| table.name() != "captures";
        assert!(tables.0.iter().filter(same).eq(whole.0.iter().filter(same)));
        return;
    }
    if let Some(byte) = packed.get_mut(at) {
        *byte ^= bits;
    }
    packed.truncate(packed.len().saturating_sub(cut));
    checked(&[&packed], 1);
}

/// Packs `plain` as one stream of a kind, in the order of [`MAGICS`].
pub fn pack(kind: usize, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let done = match kind {
        0 => {
            let mut writer = flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
            writer
                .write_all(plain)
                .and_then(|()| writer.finish().map(|_| ()))
        }
        1 => zstd::stream::copy_encode(plain, &mut out, 1),
        2 => {
            let mut writer = lz4_flex::frame::FrameEncoder::new(&mut out);
            let written = writer.write_all(plain);
            written.and_then(|()| writer.finish().map(|_| ()).map_err(std::io::Error::other))
        }
        3 => {
            let mut writer = bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::fast());
            writer
                .write_all(plain)
                .and_then(|()| writer.finish().map(|_| ()))
        }
        _ => {
            let mut writer = liblzma::write::XzEncoder::new(&mut out, 0);
            writer
                .write_all(plain)
                .and_then(|()| writer.finish().map(|_| ()))
        }
    };
    done.expect("compressing into memory");
    out
}
