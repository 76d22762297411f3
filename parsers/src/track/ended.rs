//! Messages that ended in a chunk, on their way from the connections to the table.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use rayon::prelude::*;

use super::messages::{MessageRow, NO_GAP};
use crate::memory::prefetch;
use crate::threads::several_threads;

/// Takes the messages of one direction that ended.
pub(crate) struct Ended<'a> {
    pub connection: u32,
    /// Which packet of the chunk it is that ends messages.
    pub position: u32,
    pub backward: bool,
    /// None where messages are not wanted.
    pub rows: Option<&'a mut Rows>,
}

/// Messages in the order of connections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    messages: Vec<Short>,
    /// Those that are too large for that.
    large: Vec<MessageRow>,
    /// Which packet of the chunk ended each.
    positions: Vec<u32>,
}

/// Most messages: two in a cache line, because they are read all over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
struct Short {
    first_time: i64,
    connection: u32,
    packets: u32,
    bytes: u32,
    lasted_ns: u32,
    /// [`LARGE`]: all else is in the list of these, at `packets`. [`NO_SHORT_GAP`]: there was no message before.
    gap_before_ns: u32,
    backward: bool,
    evidence: u8,
}

const LARGE: u32 = u32::MAX;
const NO_SHORT_GAP: u32 = u32::MAX - 1;

impl Short {
    /// None where a number is too large.
    #[inline]
    fn new(row: &MessageRow) -> Option<Self> {
        let gap_before_ns = if row.gap_before_ns == NO_GAP {
            NO_SHORT_GAP
        } else {
            u32::try_from(row.gap_before_ns)
                .ok()
                .filter(|&gap| gap < NO_SHORT_GAP)?
        };
        Some(Self {
            first_time: row.first_time,
            connection: row.connection,
            packets: row.packets,
            bytes: u32::try_from(row.bytes).ok()?,
            lasted_ns: u32::try_from(row.last_time.checked_sub(row.first_time)?).ok()?,
            gap_before_ns,
            backward: row.backward,
            evidence: row.evidence,
        })
    }

    fn large(place: usize) -> Self {
        Self {
            first_time: 0,
            connection: 0,
            packets: place as u32,
            bytes: 0,
            lasted_ns: 0,
            gap_before_ns: LARGE,
            backward: false,
            evidence: 0,
        }
    }
}

impl Rows {
    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.large.clear();
        self.positions.clear();
    }

    /// Adds a message that the packet at `position` ended.
    #[inline]
    pub(super) fn add(&mut self, position: u32, row: &MessageRow) {
        self.positions.push(position);
        if let Some(later) = self.messages.spare_capacity_mut().get(WRITTEN_AHEAD) {
            prefetch(later);
        }
        let short = Short::new(row).unwrap_or_else(|| {
            self.large.push(*row);
            Short::large(self.large.len() - 1)
        });
        self.messages.push(short);
    }

    #[inline]
    fn get(&self, index: usize) -> MessageRow {
        let short = &self.messages[index];
        let gap_before_ns = match short.gap_before_ns {
            LARGE => return self.large[short.packets as usize],
            NO_SHORT_GAP => NO_GAP,
            gap => gap.into(),
        };
        MessageRow {
            connection: short.connection,
            packets: short.packets,
            first_time: short.first_time,
            last_time: short.first_time + i64::from(short.lasted_ns),
            bytes: short.bytes.into(),
            gap_before_ns,
            backward: short.backward,
            evidence: short.evidence,
        }
    }

    /// In the order of connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = MessageRow> + Send + '_ {
        (0..self.messages.len()).map(|index| self.get(index))
    }
}

/// No message ends with a packet.
const NONE: u32 = u32::MAX;
/// Messages between asking for one's memory and using it.
const AHEAD: usize = 16;
/// Messages between asking for one's memory and writing it.
const WRITTEN_AHEAD: usize = 16;

/// Brings messages into the order of the packets that ended them.
#[derive(Debug, Default)]
pub(crate) struct ByPacket {
    /// The first message of each packet, counted through all lists, or [`NONE`].
    firsts: Vec<AtomicU32>,
    /// All messages by packet.
    order: Vec<u32>,
}

impl ByPacket {
    /// Messages of `lists` in the order of the `packets` that ended them, whatever the lists: one of several threads is
    /// longer. Those of one packet, which lie side by side, stay as they are.
    pub(crate) fn sorted<'a>(
        &'a mut self,
        lists: &'a [Rows],
        packets: usize,
    ) -> impl Iterator<Item = MessageRow> + Send + 'a {
        let mut starts = Vec::with_capacity(lists.len());
        let mut total = 0;
        for list in lists {
            starts.push(total);
            total += list.messages.len() as u32;
        }
        let order = self.order(lists, &starts, if total > 0 { packets } else { 0 });
        let place = move |number: u32| {
            let list = match starts[..] {
                [_] => 0, // as one thread makes it, mostly
                _ => starts.partition_point(|&start| start <= number) - 1,
            };
            (&lists[list], (number - starts[list]) as usize)
        };
        (0..order.len()).map(move |index| {
            if let Some(&next) = order.get(index + AHEAD) {
                let (list, index) = place(next);
                prefetch(&list.messages[index]);
            }
            let (list, index) = place(order[index]);
            list.get(index)
        })
    }

    /// Numbers of the messages of `lists`, whose first ones have the numbers `starts`.
    fn order(&mut self, lists: &[Rows], starts: &[u32], packets: usize) -> &[u32] {
        self.firsts.clear();
        self.firsts.resize_with(packets, || AtomicU32::new(NONE));
        let firsts = &self.firsts;
        let several = AtomicBool::new(false);
        let number = |(list, &start): (&Rows, &u32)| {
            let mut before = NONE;
            for (number, &packet) in (start..).zip(&list.positions) {
                if packet == before {
                    several.store(true, Relaxed);
                } else {
                    // Each packet is of one list.
                    firsts[packet as usize].store(number, Relaxed);
                    before = packet;
                }
            }
        };
        if several_threads() {
            lists.par_iter().zip(starts).for_each(number);
        } else {
            lists.iter().zip(starts).for_each(number);
        }
        self.order.resize(packets.max(self.order.len()), NONE);
        let mut count = 0;
        for first in firsts {
            // Without a branch, which would be as good as random.
            let first = first.load(Relaxed);
            self.order[count] = first;
            count += usize::from(first != NONE);
        }
        if several.into_inner() {
            let firsts = self.order[..count].to_vec();
            self.order.clear();
            for first in firsts {
                let list = starts.partition_point(|&start| start <= first) - 1;
                let same = &lists[list].positions[(first - starts[list]) as usize..];
                let count = same.iter().take_while(|&&packet| packet == same[0]).count();
                self.order.extend((first..).take(count));
            }
            count = self.order.len();
        }
        &self.order[..count]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> impl Strategy<Value = MessageRow> {
        let gap = prop_oneof![
            Just(NO_GAP),
            0..10_i64,
            0..i64::MAX,
            Just(i64::from(u32::MAX) - 1)
        ];
        let time = || prop_oneof![0..1000_i64, any::<i64>()];
        let bytes = prop_oneof![0..100_000_u64, any::<u64>()];
        (any::<u32>(), time(), time(), bytes, gap).prop_map(|(number, first, last, bytes, gap)| {
            MessageRow {
                connection: number,
                packets: !number,
                first_time: first,
                last_time: last,
                bytes,
                gap_before_ns: gap,
                backward: number % 2 == 1,
                evidence: number as u8,
            }
        })
    }

    /// A packet of the chunk, the list it goes to, and the messages that it ends.
    fn ending() -> impl Strategy<Value = (u32, usize, Vec<MessageRow>)> {
        (
            0..500_u32,
            0..3_usize,
            prop::collection::vec(message(), 1..4),
        )
    }

    proptest! {
        #[test]
        fn messages_come_by_packet(
            mut endings in prop::collection::vec(ending(), 0..60),
        ) {
            endings.sort_by_key(|&(packet, ..)| packet);
            endings.dedup_by_key(|&mut (packet, ..)| packet);
            let messages = endings.iter().flat_map(|(.., messages)| messages);
            let expected: Vec<_> = messages.copied().collect();
            // A connection's packets lie side by side, whatever came between them.
            endings.sort_by_key(|&(packet, ..)| packet % 7);
            let mut lists = [Rows::default(), Rows::default(), Rows::default()];
            for (packet, list, messages) in &endings {
                for message in messages {
                    lists[*list].add(*packet, message);
                }
            }
            let mut by_packet = ByPacket::default();
            for _ in 0..2 {
                let sorted: Vec<_> = by_packet.sorted(&lists, 500).collect();
                prop_assert_eq!(&sorted, &expected);
            }
            let none: Vec<_> = by_packet.sorted(&[], 500).collect();
            prop_assert_eq!(none, []);
        }
    }
}
