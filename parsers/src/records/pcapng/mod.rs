//! Reads records from pcapng: every block type that carries packets, several sections and interfaces.
//!
//! Format: draft-ietf-opsawg-pcapng.

mod fast;
mod interfaces;
mod packets;

use fast::Usual;
use interfaces::Frames;

use super::{ByteOrder, Interface, MAX_LARGE_RECORD, Record, Status, ask_ahead, then_the_end};
use crate::common::error::Fault;

/// Type of the block that begins every section; the same in both byte orders.
pub(crate) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// If the first packets have no time: how many bytes from the first one on are searched for a time.
const AHEAD: usize = 64 << 10;

/// A whole block.
struct Block<'a> {
    kind: u32,
    length: usize,
    body: &'a [u8],
}

/// Reads one pcapng file.
#[derive(Clone, Default)]
pub(crate) struct Pcapng {
    order: ByteOrder,
    in_section: bool,
    interfaces: Vec<Interface>,
    frames: Vec<Frames>,
    /// Counts of packets of interfaces that no block describes.
    undescribed: Option<Box<Interface>>,
    /// For the fast path, if it is enabled.
    usual: Vec<Usual>,
    without_fast: bool,
    /// Index of the current section's first interface.
    first: usize,
    /// Time of the previous packet, which is given to a packet without a time or with one out of range. None before the
    /// first packet.
    last_time: Option<i64>,
}

impl Pcapng {
    /// `without_fast`: each block is read on the general path.
    pub(crate) fn new(without_fast: bool) -> Self {
        Self {
            without_fast,
            ..Self::default()
        }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    pub(crate) fn undescribed(&self) -> Option<&Interface> {
        self.undescribed.as_deref()
    }

    pub(crate) fn fill(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Vec<Record>,
        limit: usize,
    ) -> (usize, Status) {
        let mut at = 0;
        while out.len() < limit {
            let rest = &bytes[at..];
            if rest.is_empty() && last {
                return (at, Status::End);
            }
            let frequent = if self.order.big {
                self.frequent::<true>(rest, at)
            } else {
                self.frequent::<false>(rest, at)
            };
            if let Some((record, length)) = frequent {
                ask_ahead(bytes, at, length);
                self.last_time = Some(record.time);
                out.push(record);
                at += length;
                continue;
            }
            match self.block(rest, at, last, out) {
                Ok(length) => at += length,
                Err(status) => return (at, status),
            }
        }
        (at, Status::Full)
    }

    /// Reads the block at the start of `rest`; returns its length.
    fn block(
        &mut self,
        rest: &[u8],
        at: usize,
        last: bool,
        out: &mut Vec<Record>,
    ) -> Result<usize, Status> {
        let short = |need: usize| {
            if last {
                Status::Cut(Fault::new(
                    then_the_end(rest.len()),
                    format!("a block of at least {need} bytes"),
                ))
            } else {
                Status::Need(need)
            }
        };
        if rest.len() < 12 {
            return Err(short(12));
        }
        if rest.starts_with(&SECTION_HEADER) {
            self.order = match rest.get(8..12) {
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => ByteOrder { big: true },
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => ByteOrder { big: false },
                found => {
                    return Err(Status::Damaged(Fault::new(
                        format!("byte-order magic {found:02x?}"),
                        "1a 2b 3c 4d in one order or the other",
                    )));
                }
            };
            let version = self.order.u16(rest, 12).unwrap_or(1);
            if version != 1 {
                return Err(Status::Damaged(Fault::new(
                    format!("a section of version {version}"),
                    "version 1",
                )));
            }
            self.in_section = true;
            self.first = self.interfaces.len();
        } else if !self.in_section {
            return Err(Status::Damaged(Fault::new(
                "no section",
                "a section header block",
            )));
        }
        let Block { kind, length, body } = self.framed(rest, short)?;
        match kind {
            INTERFACE_DESCRIPTION => self.interface(body)?,
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                let record = self.record(kind, body, (rest, at), last)?;
                out.push(record);
            }
            INTERFACE_STATISTICS => self.statistics(body),
            // Names, secrets, journals, custom blocks: they contain no packets.
            _ => {}
        }
        Ok(length)
    }

    /// Returns the block at the start of `rest`; `short` makes the error for a block that is not complete.
    fn framed<'a>(
        &self,
        rest: &'a [u8],
        short: impl Fn(usize) -> Status,
    ) -> Result<Block<'a>, Status> {
        let order = self.order;
        let kind = order.u32(rest, 0).unwrap_or_default();
        let length = order.u32(rest, 4).unwrap_or_default();
        if !(12..=MAX_LARGE_RECORD).contains(&length) {
            return Err(Status::Damaged(Fault::new(
                format!("block length {length}"),
                format!("12 to {MAX_LARGE_RECORD}"),
            )));
        }
        // Round up to a multiple of 4: some writers pad the block but do not count the padding.
        let stated = length;
        let length = stated.next_multiple_of(4) as usize;
        let Some(block) = rest.get(..length) else {
            return Err(short(length));
        };
        let trailer = order.u32(block, length - 4).unwrap_or_default();
        if trailer != stated {
            return Err(Status::Damaged(Fault::new(
                format!("block length {trailer} at the block's end"),
                format!("{stated}, as at its start"),
            )));
        }
        let body = &block[8..length - 4];
        Ok(Block { kind, length, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_that_the_block_length_leaves_out_is_stepped_over() {
        let words =
            |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|it| it.to_le_bytes()).collect() };
        let mut bytes = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
        bytes.extend(words(&[1, 20, 1, 0, 20]));
        // A packet of 5 bytes: the block has 37, padded to 40.
        for _ in 0..2 {
            bytes.extend(words(&[6, 37, 0, 0, 7, 5, 5]));
            bytes.extend([1, 2, 3, 4, 5, 0, 0, 0]);
            bytes.extend(words(&[37]));
        }
        let (mut reader, mut records) = (Pcapng::default(), Vec::new());
        let (used, status) = reader.fill(&bytes, true, &mut records, 9);
        assert_eq!((used, status), (bytes.len(), Status::End));
        let found: Vec<_> = records.iter().map(|it| (it.time, it.captured)).collect();
        assert_eq!(found, [(7000, 5), (7000, 5)]);
    }
    #[test]
    fn packets_without_a_time_have_that_of_the_one_before_or_else_of_the_first() {
        let words =
            |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|it| it.to_le_bytes()).collect() };
        let start = [
            words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]),
            words(&[1, 20, 1, 0, 20]),
        ]
        .concat();
        let simple = words(&[3, 20, 4, 0, 20]);
        let enhanced = |time| words(&[6, 36, 0, 0, time, 4, 4, 0, 36]);
        let times = |blocks: &[&[u8]]| {
            let bytes = blocks.concat();
            let (mut reader, mut records) = (Pcapng::default(), Vec::new());
            // Given only part of the file, the reader asks for more rather than return a wrong time.
            let (used, status) = reader.fill(&bytes[..70], false, &mut records, 9);
            assert_eq!(status, Status::Need(AHEAD));
            assert_eq!(
                reader.fill(&bytes[used..], true, &mut records, 9).1,
                Status::End
            );
            records.iter().map(|it| it.time).collect::<Vec<_>>()
        };
        let found = times(&[&start, &simple, &simple, &enhanced(7), &simple]);
        assert_eq!(found, [7000; 4]);
        let found = times(&[&start, &simple, &start, &enhanced(9), &enhanced(5), &simple]);
        assert_eq!(found, [9000, 9000, 5000, 5000]);
        assert_eq!(times(&[&start, &simple, &simple]), [0, 0]);
    }

    #[test]
    fn a_section_of_another_version_is_not_read() {
        let words = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 2, u32::MAX, u32::MAX, 28];
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (used, status) = Pcapng::default().fill(&bytes, true, &mut Vec::new(), 9);
        assert!(
            used == 0 && matches!(status, Status::Damaged(_)),
            "{status:?}"
        );
    }
}
