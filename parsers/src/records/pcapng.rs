//! pcapng to records: every block type that carries packets, several sections and interfaces.
//!
//! Format: draft-ietf-opsawg-pcapng.

use super::{Interface, MAX_LARGE_RECORD, Order, Record, Status, longest_record, then_the_end};
use crate::error::Fault;

/// Type of the block that begins every section; the same in both byte orders.
pub(crate) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// How an interface's timestamps become nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// `if_tsresol`: the unit is 10 or 2 to the minus this.
    exponent: u8,
    binary: bool,
    /// `if_tsoffset` in nanoseconds.
    offset_ns: i128,
}

impl Clock {
    fn time(self, ticks: u64) -> i64 {
        let ticks = u128::from(ticks);
        let ns = match (self.binary, self.exponent) {
            (false, 6) => ticks * 1000,
            (false, 9) => ticks,
            (false, exponent @ 0..=9) => ticks * 10_u128.pow(u32::from(9 - exponent)),
            (false, exponent) => 10_u128
                .checked_pow(u32::from(exponent - 9))
                .map_or(0, |unit| ticks / unit),
            // 64 bits of ticks times 10^9 (30 bits) leave room in 128.
            (true, exponent) => (ticks * 1_000_000_000)
                .checked_shr(u32::from(exponent))
                .unwrap_or(0),
        };
        let time = i128::try_from(ns)
            .unwrap_or(i128::MAX)
            .saturating_add(self.offset_ns);
        time.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    fn resolution_ns(self) -> i64 {
        let ns = if self.binary {
            1_000_000_000_i64
                .checked_shr(u32::from(self.exponent))
                .unwrap_or(0)
        } else {
            match self.exponent {
                exponent @ 0..=9 => 10_i64.pow(u32::from(9 - exponent)),
                _ => 0,
            }
        };
        ns.max(1)
    }
}

/// More interfaces, or longer names of them, are nobody's: a bound on memory.
const MOST_INTERFACES: usize = 10_000;
const LONGEST_NAME: usize = 1024;

/// Where packets without a time come first: how far behind the first one a time is looked for.
const AHEAD: usize = 64 << 10;

/// Reader of one pcapng file.
#[derive(Clone, Default)]
pub(crate) struct Pcapng {
    order: Order,
    in_section: bool,
    interfaces: Vec<Interface>,
    clocks: Vec<Clock>,
    /// Index of the current section's first interface.
    first: usize,
    /// Time of the packet before: what a Simple Packet Block, which has none, is given. Not known before the
    /// first packet.
    last_time: Option<i64>,
}

impl Pcapng {
    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
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
            match self.block(rest, at, last, out) {
                Ok(length) => at += length,
                Err(status) => return (at, status),
            }
        }
        (at, Status::Full)
    }

    /// Reads the block at the start of `rest`; its length.
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
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order { big: true },
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order { big: false },
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
        let order = self.order;
        let kind = order.u32(rest, 0).unwrap_or_default();
        let length = order.u32(rest, 4).unwrap_or_default();
        if !(12..=MAX_LARGE_RECORD).contains(&length) {
            return Err(Status::Damaged(Fault::new(
                format!("block length {length}"),
                format!("12 to {MAX_LARGE_RECORD}"),
            )));
        }
        // A multiple of 4; some writers pad the block and do not count it.
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
        match kind {
            INTERFACE_DESCRIPTION => self.interface(body)?,
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                if kind == SIMPLE_PACKET && self.last_time.is_none() {
                    if rest.len() < AHEAD && !last {
                        return Err(Status::Need(AHEAD));
                    }
                    self.last_time = Some(self.first_time(&rest[..rest.len().min(AHEAD)]));
                }
                out.push(self.packet(kind, body, at)?);
            }
            INTERFACE_STATISTICS => self.statistics(body),
            // Names, secrets, journals, custom blocks: no packets in them.
            _ => {}
        }
        Ok(length)
    }

    /// The first time of a packet among the blocks in `bytes`; 0 where there is none.
    #[cold]
    fn first_time(&self, bytes: &[u8]) -> i64 {
        let mut reader = Self {
            last_time: Some(0),
            ..self.clone()
        };
        let mut records = Vec::new();
        let mut at = 0;
        while let Ok(length) = reader.block(&bytes[at..], at, true, &mut records) {
            if reader.order.u32(bytes, at) != Some(SIMPLE_PACKET)
                && let Some(record) = records.pop()
            {
                return record.time;
            }
            records.clear();
            at += length;
        }
        0
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), Status> {
        let order = self.order;
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(Status::Damaged(Fault::new(
                "one more interface description",
                format!("at most {MOST_INTERFACES} interfaces"),
            )));
        }
        let (Some(link_type), Some(snaplen)) = (order.u16(body, 0), order.u32(body, 4)) else {
            return Err(Status::Damaged(Fault::new(
                format!("an interface description of {} bytes", body.len()),
                "at least 8",
            )));
        };
        let mut clock = Clock {
            exponent: 6,
            ..Clock::default()
        };
        let mut name = None;
        for (code, value) in options(order, body.get(8..).unwrap_or_default()) {
            match (code, value) {
                (2, text) => {
                    let text = String::from_utf8_lossy(text);
                    let text = text.trim_end_matches('\0');
                    name = Some(text.chars().take(LONGEST_NAME).collect());
                }
                (9, [unit, ..]) => {
                    clock.binary = unit & 0x80 != 0;
                    clock.exponent = unit & 0x7f;
                }
                (14, value) => {
                    let seconds = order.u64(value, 0).unwrap_or_default() as i64;
                    clock.offset_ns = i128::from(seconds) * 1_000_000_000;
                }
                _ => {}
            }
        }
        self.interfaces.push(Interface {
            link_type: u32::from(link_type),
            name,
            snaplen,
            resolution_ns: clock.resolution_ns(),
            dropped_kernel: None,
            dropped_interface: None,
            lost: None,
        });
        self.clocks.push(clock);
        Ok(())
    }

    fn packet(&mut self, kind: u32, body: &[u8], at: usize) -> Result<Record, Status> {
        let order = self.order;
        let header = if kind == SIMPLE_PACKET { 4 } else { 20 };
        if body.len() < header {
            return Err(Status::Damaged(Fault::new(
                format!("a packet block with {} bytes of content", body.len()),
                format!("at least {header}"),
            )));
        }
        let word = |offset| order.u32(body, offset).unwrap_or_default();
        let local = match kind {
            SIMPLE_PACKET => 0,
            OBSOLETE_PACKET => u32::from(order.u16(body, 0).unwrap_or_default()),
            _ => word(0),
        };
        let index = self.first + local as usize;
        let (Some(interface), Some(clock)) = (self.interfaces.get(index), self.clocks.get(index))
        else {
            return Err(Status::Damaged(Fault::new(
                format!("interface {local}"),
                format!(
                    "one of the section's {}",
                    self.interfaces.len() - self.first
                ),
            )));
        };
        let space = (body.len() - header) as u32;
        let (time, captured, wire) = if kind == SIMPLE_PACKET {
            let wire = word(0);
            let snaplen = if interface.snaplen == 0 {
                u32::MAX
            } else {
                interface.snaplen
            };
            (
                self.last_time.unwrap_or_default(),
                wire.min(snaplen).min(space),
                wire,
            )
        } else {
            let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
            (clock.time(ticks), word(12), word(16))
        };
        let longest = longest_record(interface.link_type, interface.snaplen);
        if captured > longest.min(space) {
            return Err(Status::Damaged(Fault::new(
                format!("captured length {captured}"),
                format!("at most {} (room in the block)", longest.min(space)),
            )));
        }
        self.last_time = Some(time);
        let options = header + captured.next_multiple_of(4) as usize;
        match kind {
            ENHANCED_PACKET if body.len() > options => self.losses(index, &body[options..]),
            OBSOLETE_PACKET => match order.u16(body, 2) {
                None | Some(u16::MAX) => {}
                Some(lost) => self.lost(index, lost.into()),
            },
            _ => {}
        }
        Ok(Record {
            time,
            wire,
            captured,
            interface: index as u32,
            at: at as u32,
            data: (at + 8 + header) as u32,
        })
    }

    /// How many packets an Enhanced Packet Block says were lost before it on its interface.
    #[cold]
    fn losses(&mut self, index: usize, bytes: &[u8]) {
        let order = self.order;
        for (code, value) in options(order, bytes) {
            if let (4, Some(lost)) = (code, order.u64(value, 0)) {
                self.lost(index, lost);
            }
        }
    }

    fn lost(&mut self, index: usize, count: u64) {
        if let Some(interface) = self.interfaces.get_mut(index) {
            let before = interface.lost.unwrap_or_default();
            interface.lost = Some(before.saturating_add(count).min(i64::MAX as u64));
        }
    }

    fn statistics(&mut self, body: &[u8]) {
        let order = self.order;
        let Some(local) = order.u32(body, 0) else {
            return;
        };
        let Some(interface) = self.interfaces.get_mut(self.first + local as usize) else {
            return;
        };
        for (code, value) in options(order, body.get(12..).unwrap_or_default()) {
            // The counters are totals since the start: the last block counts.
            // A count that does not fit the table is none.
            let count = order
                .u64(value, 0)
                .filter(|&count| i64::try_from(count).is_ok());
            match (code, count) {
                (5, Some(count)) => interface.dropped_interface = Some(count),
                (7, Some(count)) => interface.dropped_kernel = Some(count),
                _ => {}
            }
        }
    }
}

/// The options in `bytes` as (code, value), up to the end mark or the first that does not fit.
fn options(order: Order, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let code = order.u16(bytes, 0)?;
        let length = usize::from(order.u16(bytes, 2)?);
        let value = bytes.get(4..4 + length)?;
        bytes = bytes
            .get(4 + length.next_multiple_of(4)..)
            .unwrap_or_default();
        (code != 0).then_some((code, value))
    })
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
        // A packet of 5 bytes: 37 of the block, padded to 40.
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
            // Not the whole file at first: it asks for more rather than be wrong.
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
