//! Messages that ended in a chunk, on their way from the connections to the table.

use super::vantage::Vantage;
use super::{MessageRow, NO_GAP};
use crate::common::memory::prefetch;
use crate::track::find::grouping::counts_to_starts;

/// Takes the messages of one direction that ended.
pub(crate) struct Ended<'a> {
    pub connection: u32,
    /// Position in the chunk of the packet that ends messages.
    pub position: u32,
    pub backward: bool,
    /// None where messages are not wanted.
    pub rows: Option<&'a mut EndedRows>,
}

/// Messages in the order of connections, separate for each part of the chunk: those of one part stay in the cache while
/// they are sorted by packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EndedRows(Vec<Section>);

/// Packets of a part.
const SECTION: usize = 1 << 14;

#[derive(Debug, Default, PartialEq, Eq)]
struct Section {
    messages: Vec<Short>,
    /// Messages that are too large for the short form.
    large: Vec<MessageRow>,
}

/// Most messages: two in a cache line, because they are read in random order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
struct Short {
    first_time: i64,
    connection: u32,
    packets: u32,
    bytes: u32,
    lasted_ns: u32,
    /// [`LARGE`]: all else is in `large`, at `packets`. [`NO_SHORT_GAP`]: there was no message before.
    gap_before_ns: u32,
    /// Which packet of the part ended it.
    packet: u16,
    /// [`BACKWARD`], [`HELD`], and the place.
    bits: u8,
    evidence: u8,
}

const BACKWARD: u8 = 1;
const HELD: u8 = 2;
const AT_SENDER: u8 = 4;
const FAR: u8 = 8;

/// Messages between the prefetch of one's memory and its write.
const WRITTEN_AHEAD: usize = 4;
const LARGE: u32 = u32::MAX;
const NO_SHORT_GAP: u32 = u32::MAX - 1;

impl Short {
    /// Returns none where a number is too large.
    #[inline]
    fn new(packet: u16, row: &MessageRow) -> Option<Self> {
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
            packet,
            bits: if row.backward { BACKWARD } else { 0 }
                | if row.held { HELD } else { 0 }
                | match row.vantage {
                    Vantage::Unknown => 0,
                    Vantage::AtSender => AT_SENDER,
                    Vantage::Far => FAR,
                },
            evidence: row.evidence,
        })
    }

    fn large(packet: u16, place: usize) -> Self {
        Self {
            first_time: 0,
            connection: 0,
            packets: place as u32,
            bytes: 0,
            lasted_ns: 0,
            gap_before_ns: LARGE,
            packet,
            bits: 0,
            evidence: 0,
        }
    }
}

impl EndedRows {
    pub(crate) fn clear(&mut self) {
        for part in &mut self.0 {
            part.messages.clear();
            part.large.clear();
        }
    }

    /// Adds a message that the packet at `position` ended.
    #[inline]
    pub(crate) fn add(&mut self, position: u32, row: &MessageRow) {
        let part = position as usize / SECTION;
        if part >= self.0.len() {
            self.0.resize_with(part + 1, Section::default);
        }
        let part = &mut self.0[part];
        let packet = (position as usize % SECTION) as u16;
        if let Some(later) = part.messages.spare_capacity_mut().get(WRITTEN_AHEAD) {
            prefetch(later);
        }
        let short = Short::new(packet, row).unwrap_or_else(|| {
            part.large.push(*row);
            Short::large(packet, part.large.len() - 1)
        });
        part.messages.push(short);
    }

    /// Returns the messages in the order of connections, where all have one position.
    pub(crate) fn iter(&self) -> impl Iterator<Item = MessageRow> + Send + '_ {
        let all = self.0.iter();
        all.flat_map(|part| (0..part.messages.len()).map(|index| part.get(index)))
    }
}

impl Section {
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
            backward: short.bits & BACKWARD != 0,
            vantage: match short.bits & (AT_SENDER | FAR) {
                0 => Vantage::Unknown,
                AT_SENDER => Vantage::AtSender,
                _ => Vantage::Far,
            },
            held: short.bits & HELD != 0,
            evidence: short.evidence,
        }
    }
}

/// Returns the messages of `lists` in the order of the `packets` that ended them, across all lists. Those of one
/// packet, which lie side by side, keep their order.
pub(crate) fn by_packet(
    lists: &[EndedRows],
    packets: usize,
) -> impl Iterator<Item = MessageRow> + Send + '_ {
    let mut parts = 0..packets.div_ceil(SECTION);
    let mut sorted = Sorted::new(Vec::new(), 0);
    let mut at = 0;
    std::iter::from_fn(move || {
        while at == sorted.order.len() {
            let part = parts.next()?;
            let lists = lists.iter().filter_map(|rows| rows.0.get(part));
            let lists = lists.filter(|list| !list.messages.is_empty());
            sorted = Sorted::new(lists.collect(), SECTION.min(packets - part * SECTION));
            at = 0;
        }
        let (list, index) = sorted.place(sorted.order[at]);
        at += 1;
        Some(list.get(index))
    })
}

/// One part of some lists, and the order of their messages.
struct Sorted<'a> {
    lists: Vec<&'a Section>,
    /// Number of the first message of each list.
    starts: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Sorted<'a> {
    /// Sorts the lists of a part with `packets` packets.
    fn new(lists: Vec<&'a Section>, packets: usize) -> Self {
        let mut starts = Vec::with_capacity(lists.len());
        let mut total = 0;
        for list in &lists {
            starts.push(total);
            total += list.messages.len() as u32;
        }
        let mut sorted = Self {
            lists,
            starts,
            order: vec![0; total as usize],
        };
        if total > 0 {
            sorted.sort(packets);
        }
        sorted
    }

    /// Sorts by counting the messages of each packet.
    fn sort(&mut self, packets: usize) {
        let all = self.lists.iter().flat_map(|list| &list.messages);
        // Where the messages of each packet go.
        let mut places = vec![0_u32; packets];
        for message in all.clone() {
            places[usize::from(message.packet)] += 1;
        }
        counts_to_starts(&mut places);
        for (number, message) in (0..).zip(all) {
            let place = &mut places[usize::from(message.packet)];
            self.order[*place as usize] = number;
            *place += 1;
        }
    }

    #[inline]
    fn place(&self, number: u32) -> (&'a Section, usize) {
        let list = match self.starts[..] {
            [_] => 0, // as one thread makes it, mostly
            _ => self.starts.partition_point(|&start| start <= number) - 1,
        };
        (self.lists[list], (number - self.starts[list]) as usize)
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
                vantage: [Vantage::Unknown, Vantage::AtSender, Vantage::Far]
                    [number as usize / 2 % 3],
                held: number / 6 % 2 == 1,
                evidence: number as u8,
            }
        })
    }

    const PACKETS: usize = 5 * SECTION / 2;

    /// Makes a packet of the chunk, the list it goes to, and the messages that it ends.
    fn ending() -> impl Strategy<Value = (u32, usize, Vec<MessageRow>)> {
        (
            prop_oneof![0..50_u32, 0..PACKETS as u32],
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
            let mut lists = [EndedRows::default(), EndedRows::default(), EndedRows::default()];
            for (packet, list, messages) in &endings {
                for message in messages {
                    lists[*list].add(*packet, message);
                }
            }
            let sorted: Vec<_> = by_packet(&lists, PACKETS).collect();
            prop_assert_eq!(&sorted, &expected);
            prop_assert_eq!(by_packet(&[], PACKETS).count(), 0);
        }
    }
}
