//! Decompresses input; its first bytes determine the kind of compression, never the file's name.

use std::io::{self, Read};

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
            Self::Gzip => Box::new(Gzip::new(input)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(input)?;
                // 128 MiB of window: `zstd --ultra --long=27` at most, and a bound on hostile frames.
                decoder.window_log_max(27)?;
                Box::new(decoder)
            }
            Self::Lz4 => Box::new(Lz4::new(input)),
            Self::Bzip2 => Box::new(Bzip2::new(input)?),
            Self::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(
                    XZ_MEMORY,
                    liblzma::stream::CONCATENATED,
                )
                .map_err(io::Error::other)?;
                Box::new(liblzma::read::XzDecoder::new_stream(input, stream))
            }
        })
    }
}
