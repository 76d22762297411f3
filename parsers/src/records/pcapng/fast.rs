//! The fast path for the most frequent block: an Enhanced Packet Block with nothing but a packet in it.

use super::{ENHANCED_PACKET, Pcapng};
use crate::records::{LATEST, Record};

/// What the fast path needs of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    /// The longest packet that is accepted.
    pub longest: u32,
    /// Nanoseconds in one unit of its clock; none if times need more than this factor, or if lengths include an FCS.
    pub unit_ns: Option<u64>,
}

/// Bytes of the block before the packet and after it.
const FRONT: usize = 28;
const BEHIND: usize = 4;

impl Pcapng {
    /// Returns the record of the block at the start of `rest`, and the block's length, as [`Self::block`] would. None
    /// if only [`Self::block`] can decide.
    #[inline]
    pub(super) fn frequent<const BIG: bool>(
        &self,
        rest: &[u8],
        at: usize,
    ) -> Option<(Record, usize)> {
        let front = rest.first_chunk::<FRONT>()?;
        let word = |at: usize| {
            let raw = [front[at], front[at + 1], front[at + 2], front[at + 3]];
            if BIG {
                u32::from_be_bytes(raw)
            } else {
                u32::from_le_bytes(raw)
            }
        };
        let index = self.first + word(8) as usize;
        let usual = self.usual.get(index)?;
        let (captured, wire) = (word(20), word(24));
        if word(0) != ENHANCED_PACKET || captured > usual.longest {
            return None;
        }
        // The block has options, or it is wrong, if its length differs.
        let length = FRONT + captured.next_multiple_of(4) as usize + BEHIND;
        let behind = rest.get(length - BEHIND..length)?;
        if word(4) as usize != length || behind != &front[4..8] {
            return None;
        }
        let ticks = u64::from(word(12)) << 32 | u64::from(word(16));
        let time = ticks.checked_mul(usual.unit_ns?)?;
        if time >= LATEST as u64 {
            return None;
        }
        let record = Record {
            time: time as i64,
            is_timed: true,
            is_outgoing: false,
            wire,
            captured,
            interface: index as u32,
            at: at as u32,
            data: (at + FRONT) as u32,
        };
        Some((record, length))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::records::MAX_RECORD;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_short_way_leads_where_the_long_one_does(
            big in any::<bool>(),
            snaplen in prop_oneof![Just(0_u32), Just(40), any::<u32>()],
            unit in prop::option::of(any::<u8>()),
            offset in prop_oneof![3 => Just(None), 1 => any::<u64>().prop_map(Some)],
            kind in prop_oneof![9 => Just(6_u32), 1 => 0..8_u32],
            interface in prop_oneof![9 => Just(0_u32), 1 => 0..3_u32],
            ticks in prop_oneof![0..u64::from(u32::MAX), any::<u64>()],
            captured in prop_oneof![3 => 0..81_u32, 1 => any::<u32>()],
            options in prop_oneof![3 => Just(0_usize), 1 => 0..4_usize],
            wrong in prop_oneof![9 => Just((0, 0)), 1 => Just((0, 4)), 1 => Just((4, 0)), 1 => (-5..5_i32, -5..5_i32)],
            cut in prop_oneof![3 => Just(0_usize), 1 => 0..50_usize],
        ) {
            let word = |it: u32| if big { it.to_be_bytes() } else { it.to_le_bytes() };
            let words = |them: &[u32]| them.iter().flat_map(|&it| word(it)).collect::<Vec<u8>>();
            let pair = |first: u32, second: u32| {
                word(if big { first << 16 | second } else { second << 16 | first })
            };
            let mut about = Vec::new();
            if let Some(unit) = unit {
                about.extend([pair(9, 1), [unit, 0, 0, 0]].concat());
            }
            if let Some(offset) = offset {
                about.extend(pair(14, 8));
                about.extend(if big { offset.to_be_bytes() } else { offset.to_le_bytes() });
            }
            let length = 20 + about.len() as u32;
            let head = [
                words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d]),
                pair(1, 0).to_vec(),
                words(&[u32::MAX, u32::MAX, 28, 1, length]),
                pair(1, 0).to_vec(),
                words(&[snaplen]),
                about,
                words(&[length]),
            ];
            let packet = captured.min(80).next_multiple_of(4) as usize;
            let length = (32 + packet + 4 * options) as i32;
            let (high, low) = ((ticks >> 32) as u32, ticks as u32);
            let stated = |change: i32| (length + change) as u32;
            let mut block = words(&[kind, stated(wrong.0), interface, high, low, captured, 99]);
            block.resize(block.len() + packet + 4 * options, 0);
            block.extend(word(stated(wrong.1)));
            let mut blocks = block.repeat(2);
            blocks.truncate(blocks.len().saturating_sub(cut));

            let [mut short, mut long] = [false, true].map(Pcapng::new);
            for reader in [&mut short, &mut long] {
                let (used, _) = reader.fill(&head.concat(), false, &mut Vec::new(), 9);
                prop_assert_eq!(used, head.concat().len());
            }
            prop_assert_eq!((short.usual.len(), long.usual.len()), (1, 0));
            for last in [false, true] {
                let (mut found, mut wanted) = (Vec::new(), Vec::new());
                let way = short.fill(&blocks, last, &mut found, 9);
                prop_assert_eq!(way, long.fill(&blocks, last, &mut wanted, 9));
                prop_assert_eq!(found, wanted);
                prop_assert_eq!(short.last_time, long.last_time);
            }
        }
    }

    #[test]
    fn the_short_way_is_taken_but_not_for_what_is_too_long() {
        let words =
            |them: &[u32]| -> Vec<u8> { them.iter().flat_map(|it| it.to_le_bytes()).collect() };
        let mut reader = Pcapng::default();
        let section = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
        let interface = words(&[1, 20, 1, 0, 20]);
        reader.fill(&[section, interface].concat(), false, &mut Vec::new(), 9);
        for (captured, short) in [(4, true), (MAX_RECORD, true), (MAX_RECORD + 4, false)] {
            let mut block = words(&[ENHANCED_PACKET, captured + 32, 0, 0, 7, captured, 60]);
            block.resize(block.len() + captured as usize, 0);
            block.extend(words(&[captured + 32]));
            let found = reader.frequent::<false>(&block, 100);
            let found = found.map(|(record, length)| (record.time, record.data, length));
            assert_eq!(found, short.then_some((7000, 128, block.len())));
            let (used, _) = reader.fill(&block, true, &mut Vec::new(), 9);
            assert_eq!(used, if short { block.len() } else { 0 });
        }
    }
}
