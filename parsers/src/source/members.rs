//! Consecutive compressed streams in one input: members of gzip and bzip2, frames of LZ4.

use std::io::{self, BufRead, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder;

/// Bytes that are read at a time.
const ROOM: usize = 64 << 10;

/// An input that can be peeked at.
pub(super) struct Peeked<R> {
    inner: R,
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl<R: Read> Peeked<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            bytes: vec![0; ROOM],
            begin: 0,
            end: 0,
        }
    }

    /// Returns the next `count` bytes; fewer only at the end.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.begin < count {
            if self.begin > 0 {
                self.bytes.copy_within(self.begin..self.end, 0);
                (self.begin, self.end) = (0, self.end - self.begin);
            }
            match self.inner.read(&mut self.bytes[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.bytes[self.begin..self.end.min(self.begin + count)])
    }
}

impl<R: Read> Peeked<R> {
    fn skip_zeros(&mut self) -> io::Result<()> {
        loop {
            let found = self.fill_buf()?;
            let length = found.len();
            let zeros = found.iter().take_while(|&&byte| byte == 0).count();
            self.consume(zeros);
            if zeros < length || length == 0 {
                return Ok(());
            }
        }
    }
}

impl<R: Read> BufRead for Peeked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)?;
        Ok(&self.bytes[self.begin..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.begin = (self.begin + count).min(self.end);
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.fill_buf()?;
        let count = found.len().min(buffer.len());
        buffer[..count].copy_from_slice(&found[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Reads from `member`; at its end, from the member that `next` returns.
fn read_members<M: Read>(
    member: &mut Option<M>,
    buffer: &mut [u8],
    next: impl Fn(M) -> io::Result<Option<M>>,
) -> io::Result<usize> {
    while let Some(current) = member {
        let read = current.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        if let Some(ended) = member.take() {
            *member = next(ended)?;
        }
    }
    Ok(0)
}

/// Unpacks bzip2. Empty members are skipped: a decoder would take megabytes, and a fifth of a millisecond, for 14
/// bytes.
pub(super) struct Bzip2<R: Read>(Option<BzDecoder<Peeked<R>>>);

/// An empty member is the magic number, a digit, and the end mark with the checksum of no data.
const EMPTY_MEMBER: usize = 14;
const EMPTY_END: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

impl<R: Read> Bzip2<R> {
    pub(super) fn new(input: R) -> io::Result<Self> {
        Self::next(Peeked::new(input)).map(Self)
    }

    /// Returns a decoder for the first member that is not empty or not complete.
    fn next(mut input: Peeked<R>) -> io::Result<Option<BzDecoder<Peeked<R>>>> {
        loop {
            let next = input.peek(EMPTY_MEMBER)?;
            if next.is_empty() {
                return Ok(None);
            }
            if !matches!(next, [b'B', b'Z', b'h', b'1'..=b'9', end @ ..] if *end == EMPTY_END) {
                return Ok(Some(BzDecoder::new(input)));
            }
            input.consume(EMPTY_MEMBER);
        }
    }
}

impl<R: Read> Read for Bzip2<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_members(&mut self.0, buffer, |ended| Self::next(ended.into_inner()))
    }
}

/// Unpacks gzip. Zeros after the last member are ignored, as in gzip(1): tapes and some file systems pad their blocks
/// with them.
pub(super) struct Gzip<R: Read>(Option<GzDecoder<Peeked<R>>>);

impl<R: Read> Gzip<R> {
    pub(super) fn new(input: R) -> Self {
        Self(Some(GzDecoder::new(Peeked::new(input))))
    }

    /// Returns a decoder for the next member, if there is one.
    fn next(mut input: Peeked<R>) -> io::Result<Option<GzDecoder<Peeked<R>>>> {
        let next = input.peek(1)?;
        if next == [0] {
            input.skip_zeros()?;
            if input.peek(1)?.is_empty() {
                return Ok(None);
            }
            // gzip(1) does not accept zeros between members either.
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "zeros and then other bytes behind the compressed ones",
            ));
        }
        Ok((!next.is_empty()).then(|| GzDecoder::new(input)))
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_members(&mut self.0, buffer, |ended| Self::next(ended.into_inner()))
    }
}

/// Unpacks LZ4. The decoder reports the end of input at the end of each frame, but also if the input ends between two
/// blocks: `Unended` turns that end into an error.
pub(super) struct Lz4<R: Read> {
    frame: FrameDecoder<Unended<R>>,
    ended: bool,
}

/// An input that fails at its end: a complete frame never reads that far.
struct Unended<R>(Peeked<R>);

impl<R: Read> Read for Unended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            return Err(io::Error::other("it ends before the end mark of its frame"));
        }
        Ok(read)
    }
}

impl<R: Read> Lz4<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            frame: FrameDecoder::new(Unended(Peeked::new(input))),
            ended: false,
        }
    }
}

impl<R: Read> Read for Lz4<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let read = self.frame.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.ended = self.frame.get_mut().0.peek(1)?.is_empty();
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    /// A source that returns few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    fn bzip2(plain: &[u8], level: u32) -> Vec<u8> {
        let level = bzip2::Compression::new(level);
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), level);
        packed.write_all(plain).expect("packed");
        packed.finish().expect("packed")
    }

    fn lz4(plain: &[u8]) -> Vec<u8> {
        let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
        packed.write_all(plain).expect("packed");
        packed.finish().expect("packed")
    }

    #[test]
    fn an_lz4_frame_that_is_cut_anywhere_is_not_whole() {
        // Blocks of 64 KiB, some of which can be compressed and some not.
        let plain: Vec<u8> = (0..200_000_u32)
            .map(|at| (at.wrapping_mul(at) >> (at >> 15)) as u8)
            .collect();
        let info = lz4_flex::frame::FrameInfo::new()
            .block_size(lz4_flex::frame::BlockSize::Max64KB)
            .content_checksum(true);
        let mut packed = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        packed.write_all(&plain).expect("packed");
        let packed = packed.finish().expect("packed");
        let mut begin = 7;
        let mut ends = vec![4, 6, begin];
        while begin < packed.len() {
            let size = u32::from_le_bytes(packed[begin..begin + 4].try_into().expect("a size"));
            begin += 4 + (size & 0x7fff_ffff) as usize;
            ends.extend([begin - 1, begin, begin + 2]);
            if size == 0 {
                break;
            }
        }
        assert!(ends.len() > 12, "{ends:?}");
        for end in ends.into_iter().filter(|&end| end < packed.len()) {
            let cut = all(Lz4::new(&packed[..end]));
            assert!(cut.is_err(), "cut at {end} of {}", packed.len());
        }
        let twice = [packed.as_slice(), packed.as_slice()].concat();
        assert!(all(Lz4::new(twice.as_slice())).expect("unpacked") == plain.repeat(2));
        assert!(all(Lz4::new(&twice[..packed.len() + 4])).is_err());
    }

    fn all(mut reader: impl Read) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        reader.read_to_end(&mut found).map(|_| found)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn members_with_and_without_content_are_one_stream(
            parts in prop::collection::vec((prop_oneof![3 => Just(0), 1 => 1..3000_usize], 1..10_u32), 0..60),
            step in 1..40_usize,
            cut in prop::option::of(1..14_usize),
        ) {
            let plain: Vec<Vec<u8>> = parts.iter().map(|&(length, level)| vec![level as u8; length]).collect();
            let members = parts.iter().zip(&plain).flat_map(|(&(_, level), plain)| bzip2(plain, level));
            let mut packed: Vec<u8> = members.collect();
            prop_assert_eq!(all(Bzip2::new(Slow(&packed, step)).expect("opened")).expect("unpacked"), plain.concat());
            // The magic number of LZ4 promises at least one frame.
            if !plain.is_empty() {
                let frames: Vec<u8> = plain.iter().flat_map(|plain| lz4(plain)).collect();
                prop_assert_eq!(all(Lz4::new(Slow(&frames, step))).expect("unpacked"), plain.concat());
            }
            // A member that is cut short is an error.
            if let Some(cut) = cut {
                packed.extend(&bzip2(&[], 9)[..cut]);
                prop_assert!(all(Bzip2::new(Slow(&packed, step)).expect("opened")).is_err());
            }
        }
    }
}
