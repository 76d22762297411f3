//! Divides the connections of a chunk into shares, which threads count in parallel.

use super::state::{ConnectionState, PacketFacts};
use crate::common::arena::Arena;
use crate::track::find::grouping::Group;

/// The part of a chunk that one thread counts.
pub(crate) struct Share<'a> {
    /// States of its connections, from number `first`.
    pub states: &'a mut [ConnectionState],
    pub first: u32,
    /// Ascending by connection.
    pub groups: &'a [Group],
    pub facts: &'a mut [PacketFacts],
}

/// Divides `groups` into shares with a minimum of packets, except the last one of each part of `states`.
pub(crate) fn shares<'a>(
    states: &'a mut Arena<ConnectionState>,
    mut groups: &'a [Group],
    mut facts: &'a mut [PacketFacts],
    packets: u32,
) -> Vec<Share<'a>> {
    let mut shares = Vec::new();
    let mut first = 0;
    for mut states in states.parts_mut() {
        let behind = first + states.len() as u32;
        while let Some(begin) = groups.first().filter(|group| group.connection < behind) {
            let own = groups.partition_point(|group| {
                group.connection < behind && group.from - begin.from < packets
            });
            let (own_groups, later) = groups.split_at(own);
            let next = later
                .first()
                .map_or(behind, |next| next.connection.min(behind));
            let own_facts = own_groups.last().map_or(0, |last| last.to - begin.from) as usize;
            let (own_states, later_states) = states.split_at_mut((next - first) as usize);
            let (own_facts, later_facts) = facts.split_at_mut(own_facts.min(facts.len()));
            shares.push(Share {
                states: own_states,
                first,
                groups: own_groups,
                facts: own_facts,
            });
            first = next;
            (states, groups, facts) = (later_states, later, later_facts);
        }
        first = behind;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn shares_hold_every_group_once(
            connections in prop::sample::select(vec![1_u32, 17, 65_536, 65_537, 140_000]),
            step in 1..5000_u32,
            packets in 1..3000_u32,
        ) {
            let mut states = Arena::new();
            (0..connections).for_each(|_| _ = states.push(ConnectionState::default()));
            let mut groups = Vec::new();
            let mut from = 0;
            for connection in (0..connections).step_by(step as usize) {
                let to = from + 1 + connection % 7;
                groups.push(Group { connection, from, to, forward_from_high: false });
                from = to;
            }
            let mut facts = vec![PacketFacts::default(); from as usize];
            let mut found = Vec::new();
            for share in shares(&mut states, &groups, &mut facts, packets) {
                for group in share.groups {
                    prop_assert!(group.connection >= share.first);
                    prop_assert!(((group.connection - share.first) as usize) < share.states.len());
                    found.push((group.connection, group.from, group.to));
                }
                let held: u32 = share.groups.iter().map(|group| group.to - group.from).sum();
                prop_assert_eq!(share.facts.len(), held as usize);
            }
            let all: Vec<_> = groups.iter().map(|it| (it.connection, it.from, it.to)).collect();
            prop_assert_eq!(found, all);
        }
    }
}
