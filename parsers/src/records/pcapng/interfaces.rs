//! The interfaces of a pcapng file: their clocks, their counters, and the options of blocks.

use super::Pcapng;
use super::fast::Usual;
use crate::common::error::Fault;
use crate::records::{ByteOrder, EARLIEST, Interface, LATEST, Status, longest_record};

/// What each packet needs of its interface in addition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frames {
    pub clock: Clock,
    /// `if_fcslen`: bytes of frame check sequence at the end of each packet.
    pub fcs: u32,
}

/// How an interface's timestamps become nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// `if_tsresol`: the unit is 10 or 2 to the power of minus this.
    exponent: u8,
    binary: bool,
    /// `if_tsoffset` in nanoseconds.
    offset_ns: i128,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            exponent: 6,
            binary: false,
            offset_ns: 0,
        }
    }
}

impl Clock {
    /// Converts `ticks` to nanoseconds since 1970; none if the time is out of range.
    pub(super) fn time(self, ticks: u64) -> Option<i64> {
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
        (i128::from(EARLIEST)..i128::from(LATEST))
            .contains(&time)
            .then_some(time as i64)
    }

    /// Returns the nanoseconds in one tick; none if a tick is not a whole number of them, or if the clock has an
    /// offset.
    fn unit_ns(self) -> Option<u64> {
        let exponent = 9_u32.checked_sub(u32::from(self.exponent))?;
        (!self.binary && self.offset_ns == 0).then(|| 10_u64.pow(exponent))
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

/// A limit on memory: no real capture has more interfaces, or longer names.
const MOST_INTERFACES: usize = 10_000;
const LONGEST_NAME: usize = 1024;

impl Pcapng {
    pub(super) fn interface(&mut self, body: &[u8]) -> Result<(), Status> {
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
        let mut clock = Clock::default();
        let mut fcs = 0;
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
                // In bytes; drafts of the format specified bits.
                (13, &[length, ..]) => {
                    fcs = u32::from(if length < 16 { length } else { length / 8 });
                }
                (14, value) => {
                    let seconds = order.u64(value, 0).unwrap_or_default() as i64;
                    clock.offset_ns = i128::from(seconds) * 1_000_000_000;
                }
                _ => {}
            }
        }
        self.interfaces.push(Interface {
            name,
            snaplen,
            resolution_ns: clock.resolution_ns(),
            ..Interface::with_link_type(u32::from(link_type))
        });
        self.frames.push(Frames { clock, fcs });
        if !self.without_fast {
            self.usual.push(Usual {
                longest: longest_record(u32::from(link_type), snaplen),
                unit_ns: clock.unit_ns().filter(|_| fcs == 0),
            });
        }
        Ok(())
    }

    pub(super) fn statistics(&mut self, body: &[u8]) {
        let order = self.order;
        let Some(local) = order.u32(body, 0) else {
            return;
        };
        let Some(interface) = self.interfaces.get_mut(self.first + local as usize) else {
            return;
        };
        for (code, value) in options(order, body.get(12..).unwrap_or_default()) {
            // The counters are totals since the start: the last block is valid. A count that does not fit the table is
            // ignored.
            let count = order
                .u64(value, 0)
                .filter(|&count| i64::try_from(count).is_ok());
            match (code, count) {
                (4, Some(count)) => interface.received = Some(count),
                (5, Some(count)) => interface.dropped_interface = Some(count),
                (7, Some(count)) => interface.dropped_kernel = Some(count),
                _ => {}
            }
        }
    }
}

/// Returns the options in `bytes` as (code, value), up to the end mark or the first one that does not fit.
pub(super) fn options(order: ByteOrder, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
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
