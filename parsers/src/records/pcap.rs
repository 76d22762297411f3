//! Reads records from classic pcap: micro- and nanoseconds, both byte orders, the "modified" variant.
//!
//! Format: draft-ietf-opsawg-pcap.

use super::{
    ByteOrder, Interface, Record, Status, ask_ahead, longest_record, then_the_end, without_fcs,
};
use crate::common::error::Fault;

const FILE_HEADER: usize = 24;
/// The length of the FCS is known.
const FCS_KNOWN: u32 = 0x0400_0000;

const SECOND: i64 = 1_000_000_000;

/// Reads one classic pcap file.
pub(crate) struct Pcap {
    order: ByteOrder,
    /// Nanoseconds in one unit of the sub-second field.
    unit: i64,
    /// Length of a record header: 16, or 24 in the "modified" variant of A. Kuznetzov.
    header: usize,
    /// Version 2.2 and older have the two lengths in the opposite order; 2.3 was written both ways.
    lengths: Lengths,
    /// Bytes of frame check sequence at the end of each packet: not part of its lengths.
    fcs: u32,
    longest: u32,
    interface: Interface,
    /// Time of the last packet of the previous window.
    last: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Normal,
    Swapped,
    SwappedIfGreater,
}

impl Pcap {
    /// Returns the reader for a file that begins with `head`, and the length of its header.
    pub(crate) fn detect(head: &[u8]) -> Option<(Self, usize)> {
        let header = head.first_chunk::<FILE_HEADER>()?;
        let (order, unit, record_header) = Self::variant(head)?;
        let major = order.u16(header, 4)?;
        let minor = order.u16(header, 6)?;
        let snaplen = order.u32(header, 16)?;
        let word = order.u32(header, 20)?;
        // Bits 16 to 25 are reserved: if one is set, the low half is unreliable. Above them is the length of the FCS in
        // words of 16 bits, which does not change the link type.
        let (link_type, fcs) = if word & 0x03ff_0000 == 0 {
            let words = if word & FCS_KNOWN == 0 { 0 } else { word >> 28 };
            (word & 0xffff, 2 * words)
        } else {
            (word, 0)
        };
        let lengths = match (major, minor) {
            // DG/UX wrote version 543.0.
            (2, 0..=2) | (543, 0) => Lengths::Swapped,
            (2, 3) => Lengths::SwappedIfGreater,
            _ => Lengths::Normal,
        };
        let reader = Self {
            order,
            unit,
            header: record_header,
            lengths,
            fcs,
            longest: longest_record(link_type, snaplen),
            interface: Interface {
                snaplen,
                resolution_ns: unit,
                fcs,
                ..Interface::with_link_type(link_type)
            },
            last: None,
        };
        Some((reader, FILE_HEADER))
    }

    /// Returns whether `head` begins with the magic number of a classic pcap.
    pub(super) fn begins(head: &[u8]) -> bool {
        Self::variant(head).is_some()
    }

    /// Finds by the magic number the byte order, the nanoseconds in a unit and the length of a record header.
    fn variant(head: &[u8]) -> Option<(ByteOrder, i64, usize)> {
        let (big, unit, record_header) = match head.first_chunk::<4>()? {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1000, 16),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1000, 16),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1, 16),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1, 16),
            [0x34, 0xcd, 0xb2, 0xa1] => (false, 1000, 24),
            [0xa1, 0xb2, 0xcd, 0x34] => (true, 1000, 24),
            _ => return None,
        };
        Some((ByteOrder { big }, unit, record_header))
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        std::slice::from_ref(&self.interface)
    }

    pub(crate) fn fill(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Vec<Record>,
        limit: usize,
    ) -> (usize, Status) {
        // One copy of the loop for each kind of file, so that these choices are not made per record.
        let normal = self.lengths == Lengths::Normal && self.fcs == 0;
        let fill = match (self.order.big, normal) {
            (false, true) => Self::fill_as::<false, true>,
            (true, true) => Self::fill_as::<true, true>,
            (false, false) => Self::fill_as::<false, false>,
            (true, false) => Self::fill_as::<true, false>,
        };
        let done = fill(self, bytes, last, out, limit);
        self.last = out.last().map(|record| record.time).or(self.last);
        done
    }

    fn fill_as<const BIG: bool, const NORMAL: bool>(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Vec<Record>,
        limit: usize,
    ) -> (usize, Status) {
        let mut at = 0;
        while out.len() < limit {
            let rest = &bytes[at..];
            let Some(header) = rest
                .first_chunk::<16>()
                .filter(|_| rest.len() >= self.header)
            else {
                return (at, ended(rest.len(), self.header, last, "record header"));
            };
            let word = |index: usize| {
                let raw = [
                    header[index],
                    header[index + 1],
                    header[index + 2],
                    header[index + 3],
                ];
                if BIG {
                    u32::from_be_bytes(raw)
                } else {
                    u32::from_le_bytes(raw)
                }
            };
            let (mut captured, mut wire) = (word(8), word(12));
            if !NORMAL && self.swaps(captured, wire) {
                std::mem::swap(&mut captured, &mut wire);
            }
            if captured > self.longest {
                return (at, Status::Damaged(self.too_long(captured)));
            }
            let whole = self.header + captured as usize;
            if rest.len() < whole {
                return (at, ended(rest.len(), whole, last, "record"));
            }
            ask_ahead(bytes, at, whole);
            if !NORMAL {
                (captured, wire) = without_fcs(captured, wire, self.fcs);
            }
            let (second, fraction) = (i64::from(word(0)) * SECOND, i64::from(word(4)) * self.unit);
            // A sum that was not normalised carries over one second. Larger values are not fractions.
            let is_timed = fraction < 2 * SECOND;
            let time = if is_timed {
                second + fraction
            } else {
                let before = out.last().map(|record| record.time);
                self.replace_time(before, second)
            };
            out.push(Record {
                time,
                is_timed,
                is_outgoing: false,
                wire,
                captured,
                interface: 0,
                at: at as u32,
                data: (at + self.header) as u32,
            });
            at += whole;
        }
        (at, Status::Full)
    }

    /// Returns a substitute time for a packet whose fraction is 2 s or more, as when nanoseconds were written as
    /// microseconds: the time of the packet before it, or for the first packet the whole `second`.
    #[cold]
    fn replace_time(&mut self, before: Option<i64>, second: i64) -> i64 {
        self.interface.times_out_of_range += 1;
        before.or(self.last).unwrap_or(second)
    }

    /// Returns whether a record has its two lengths in the opposite order.
    fn swaps(&self, captured: u32, wire: u32) -> bool {
        match self.lengths {
            Lengths::Normal => false,
            Lengths::Swapped => true,
            Lengths::SwappedIfGreater => captured > wire,
        }
    }

    fn too_long(&self, captured: u32) -> Fault {
        let snaplen = self.interface.snaplen;
        Fault::new(
            format!("captured length {captured}"),
            format!(
                "at most {} (snap length of the file: {snaplen})",
                self.longest
            ),
        )
    }
}

/// Returns the status for `left` bytes in the window where `need` are needed.
fn ended(left: usize, need: usize, last: bool, what: &str) -> Status {
    match (last, left) {
        (false, _) => Status::Need(need),
        (true, 0) => Status::End,
        (true, _) => Status::Cut(Fault::new(
            then_the_end(left),
            format!("a {what} of {need} bytes"),
        )),
    }
}
