//! Decompresses input; its first bytes determine the kind of compression, never the file's name.

use std::io::{self, Read};
use std::ops::Range;

use super::members::{Bzip2, Gzip, Lz4};

/// Memory for unpacking xz: `xz -9` takes 65 MiB; a hostile file may ask for 4 GiB.
const XZ_MEMORY: u64 = 160 << 20;

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, RFC 1952; several members follow each other as one stream, zeros may follow the last one.
    Gzip,
    /// Zstandard, RFC 8878; several frames follow each other as one stream.
    Zstd,
    /// LZ4 frame format.
    Lz4,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Compression {
    /// Returns the kind that `head`, the first bytes of the input, indicates.
    pub fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // A skippable frame may come first, as `pzstd` and seekable zstd write it.
            [low, 0x2a, 0x4d, 0x18, ..] if (0x50..=0x5f).contains(low) => Some(Self::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    /// Returns a reader of the plain bytes.
    pub(crate) fn decoder(self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Chunked::boxed(Gzip::new(input)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(input)?;
                // 128 MiB of window: `zstd --ultra --long=27` at most, and a bound on hostile frames.
                decoder.window_log_max(27)?;
                Chunked::boxed(decoder)
            }
            Self::Lz4 => Box::new(Lz4::new(input)),
            Self::Bzip2 => Chunked::boxed(Bzip2::new(input)?),
            Self::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(
                    XZ_MEMORY,
                    liblzma::stream::CONCATENATED,
                )
                .map_err(io::Error::other)?;
                Chunked::boxed(liblzma::read::XzDecoder::new_stream(input, stream))
            }
        })
    }
}

/// Bytes that a decoder is asked for at a time.
const CHUNK: usize = 32 << 10;

/// Asks a decoder for the same number of bytes each time, however many the caller wants. A decoder that meets damage
/// keeps what it has unpacked in that call to itself: so little is lost, and the same with any number of threads.
struct Chunked<R> {
    decoder: R,
    /// Allocated when a caller wants less than a chunk.
    chunk: Vec<u8>,
    /// The part of the chunk that the caller has not taken.
    left: Range<usize>,
}

impl<R: Read + Send + 'static> Chunked<R> {
    fn boxed(decoder: R) -> Box<dyn Read + Send> {
        Box::new(Self {
            decoder,
            chunk: Vec::new(),
            left: 0..0,
        })
    }
}

impl<R: Read> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.is_empty() {
            if let Some(chunk) = buffer.get_mut(..CHUNK) {
                return self.decoder.read(chunk);
            }
            self.chunk.resize(CHUNK, 0);
            self.left = 0..self.decoder.read(&mut self.chunk)?;
        }
        let count = self.left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.chunk[self.left.start..][..count]);
        self.left.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(kind: Compression, plain: &[u8]) -> Vec<u8> {
        match kind {
            Compression::Gzip => {
                let level = flate2::Compression::fast();
                let mut writer = flate2::write::GzEncoder::new(Vec::new(), level);
                writer.write_all(plain).expect("packed");
                writer.finish().expect("packed")
            }
            Compression::Zstd => zstd::encode_all(plain, 1).expect("packed"),
            Compression::Lz4 => {
                let mut writer = lz4_flex::frame::FrameEncoder::new(Vec::new());
                writer.write_all(plain).expect("packed");
                writer.finish().expect("packed")
            }
            Compression::Bzip2 => {
                let level = bzip2::Compression::fast();
                let mut writer = bzip2::write::BzEncoder::new(Vec::new(), level);
                writer.write_all(plain).expect("packed");
                writer.finish().expect("packed")
            }
            Compression::Xz => {
                let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 0);
                writer.write_all(plain).expect("packed");
                writer.finish().expect("packed")
            }
        }
    }

    /// Returns what is unpacked before the stream ends or is damaged, with room for `room` bytes at a time.
    fn unpacked(kind: Compression, packed: &[u8], room: usize) -> Vec<u8> {
        let input = Box::new(io::Cursor::new(packed.to_vec()));
        let mut decoder = kind.decoder(input).expect("a decoder");
        let mut room = vec![0; room];
        let mut found = Vec::new();
        while let Ok(read) = decoder.read(&mut room)
            && read > 0
        {
            found.extend_from_slice(&room[..read]);
        }
        found
    }

    #[test]
    fn what_is_kept_of_a_damaged_stream_is_the_same_in_any_room() {
        let plain: Vec<u8> = (0..700_000_u32)
            .map(|at| (at.wrapping_mul(at) >> (at >> 15 & 31)) as u8)
            .collect();
        for kind in [
            Compression::Gzip,
            Compression::Zstd,
            Compression::Lz4,
            Compression::Bzip2,
            Compression::Xz,
        ] {
            let mut packed = packed(kind, &plain);
            assert!(unpacked(kind, &packed, 999) == plain, "{kind:?}");
            let place = packed.len() * 7 / 8;
            packed[place..place + 3]
                .iter_mut()
                .for_each(|byte| *byte ^= 0xff);
            let kept = unpacked(kind, &packed, 1 << 20);
            assert!(kept != plain, "{kind:?}");
            for room in [999, 50_000, 327_680] {
                assert!(unpacked(kind, &packed, room) == kept, "{kind:?} {room}");
            }
        }
    }
}
