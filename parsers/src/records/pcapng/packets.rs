//! Turns packet blocks into records: their times, lengths and options.

use super::interfaces::options;
use super::{AHEAD, ENHANCED_PACKET, OBSOLETE_PACKET, Pcapng, SIMPLE_PACKET};
use crate::common::error::Fault;
use crate::records::{Interface, Record, Status, UNDESCRIBED, longest_record, without_fcs};

/// When a packet was captured, according to its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    At(i64),
    /// A Simple Packet Block has no time.
    Without,
    OutOfRange,
}

/// The options of a packet block.
#[derive(Default)]
struct PacketOptions {
    /// How many packets were lost before it on its interface.
    lost: Option<u64>,
    /// Bytes of frame check sequence at its end.
    fcs: Option<u32>,
    is_outgoing: bool,
}

impl Pcapng {
    /// Returns the record of a packet block, which begins at `at` of the window; `rest` is the window from there on.
    pub(super) fn record(
        &mut self,
        kind: u32,
        body: &[u8],
        (rest, at): (&[u8], usize),
        last: bool,
    ) -> Result<Record, Status> {
        let (mut record, stamp) = self.packet(kind, body, at)?;
        record.time = match (stamp, self.last_time) {
            (Stamp::At(time), _) | (_, Some(time)) => time,
            (_, None) if rest.len() < AHEAD && !last => return Err(Status::Need(AHEAD)),
            (_, None) => self.first_time(&rest[..rest.len().min(AHEAD)]),
        };
        record.is_timed = matches!(stamp, Stamp::At(_));
        self.last_time = Some(record.time);
        let options = self.packet_options(kind, body, record.captured);
        record.is_outgoing = options.is_outgoing;
        let fcs = options.fcs.unwrap_or_else(|| self.fcs(record.interface));
        (record.captured, record.wire) = without_fcs(record.captured, record.wire, fcs);
        self.count_odd(record.interface, stamp, options.lost, fcs);
        Ok(record)
    }

    /// Returns the first time of a packet among the blocks in `bytes`; 0 if there is none.
    #[cold]
    fn first_time(&self, bytes: &[u8]) -> i64 {
        /// No packet has this time.
        const NONE: i64 = i64::MIN;
        let mut reader = Self {
            last_time: Some(NONE),
            ..self.clone()
        };
        let mut records = Vec::new();
        let mut at = 0;
        while let Ok(length) = reader.block(&bytes[at..], at, true, &mut records) {
            if let Some(record) = records.pop().filter(|record| record.time != NONE) {
                return record.time;
            }
            at += length;
        }
        0
    }

    /// Returns the packet of a block and its time, which is not in the record yet.
    fn packet(&self, kind: u32, body: &[u8], at: usize) -> Result<(Record, Stamp), Status> {
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
        let (index, link_type, snaplen) = match self.interfaces.get(index) {
            Some(interface) => (index as u32, interface.link_type, interface.snaplen),
            None => (UNDESCRIBED, 0, 0),
        };
        let clock = self
            .frames
            .get(index as usize)
            .copied()
            .unwrap_or_default()
            .clock;
        let space = (body.len() - header) as u32;
        let (stamp, captured, wire) = if kind == SIMPLE_PACKET {
            let wire = word(0);
            let limit = if snaplen == 0 { u32::MAX } else { snaplen };
            (Stamp::Without, wire.min(limit).min(space), wire)
        } else {
            let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
            let stamp = clock.time(ticks).map_or(Stamp::OutOfRange, Stamp::At);
            (stamp, word(12), word(16))
        };
        let longest = longest_record(link_type, snaplen);
        if captured > longest.min(space) {
            return Err(Status::Damaged(Fault::new(
                format!("captured length {captured}"),
                format!("at most {} (room in the block)", longest.min(space)),
            )));
        }
        let record = Record {
            time: 0,
            is_timed: true,
            is_outgoing: false,
            wire,
            captured,
            interface: index,
            at: at as u32,
            data: (at + 8 + header) as u32,
        };
        Ok((record, stamp))
    }

    /// Returns the length in bytes of the FCS of an interface's packets, for blocks that do not state one.
    fn fcs(&self, interface: u32) -> u32 {
        self.frames.get(interface as usize).map_or(0, |it| it.fcs)
    }

    /// Reads the options of a packet block.
    fn packet_options(&self, kind: u32, body: &[u8], captured: u32) -> PacketOptions {
        let order = self.order;
        let mut found = PacketOptions::default();
        if kind == SIMPLE_PACKET {
            return found;
        }
        if kind == OBSOLETE_PACKET {
            let lost = order.u16(body, 2).filter(|&lost| lost != u16::MAX);
            found.lost = lost.map(u64::from);
        }
        let behind = 20 + captured.next_multiple_of(4) as usize;
        for (code, value) in options(order, body.get(behind..).unwrap_or_default()) {
            match code {
                // Flags: two bits are the direction, 2 for outbound; four bits are the length of the FCS, 0 if unknown.
                2 => {
                    let flags = order.u32(value, 0).unwrap_or_default();
                    found.is_outgoing = flags & 3 == 2;
                    let fcs = flags >> 5 & 15;
                    found.fcs = (fcs > 0).then_some(fcs).or(found.fcs);
                }
                4 if kind == ENHANCED_PACKET => {
                    let more = order.u64(value, 0);
                    found.lost = found
                        .lost
                        .into_iter()
                        .chain(more)
                        .reduce(u64::saturating_add);
                }
                _ => {}
            }
        }
        found
    }

    /// Counts the irregularities of a packet of an interface.
    fn count_odd(&mut self, index: u32, stamp: Stamp, lost: Option<u64>, fcs: u32) {
        let interface = match self.interfaces.get_mut(index as usize) {
            Some(interface) => interface,
            None => self
                .undescribed
                .get_or_insert_with(|| Box::new(Interface::undescribed())),
        };
        interface.fcs = interface.fcs.max(fcs);
        interface.untimed += u64::from(stamp == Stamp::Without);
        interface.times_out_of_range += u64::from(stamp == Stamp::OutOfRange);
        if let Some(lost) = lost {
            let before = interface.lost.unwrap_or_default();
            interface.lost = Some(before.saturating_add(lost).min(i64::MAX as u64));
        }
    }
}
