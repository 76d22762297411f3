//! Packet sequence numbers (PSN) of one queue pair: 24 bits that count packets and wrap around.

use crate::decode::rdma::ahead;

/// Numbers further away than this are of another connection, which reuses the queue pair's number.
const FAR: i32 = 1 << 16;
/// Ranges of missing numbers that are remembered; the oldest beyond that stay lost.
const MOST_HOLES: usize = 64;
const MASK: u32 = (1 << 24) - 1;

pub(super) fn add(number: u32, more: u32) -> u32 {
    number.wrapping_add(more) & MASK
}

/// Numbers that were passed over.
#[derive(Debug, Clone, Copy)]
struct Hole {
    first: u32,
    count: u32,
    /// When they were passed over.
    time: i64,
    /// They count as lost.
    is_lost: bool,
    part: Part,
}

/// What is known of messages with missing parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// Bytes, counted packet by packet, of the message that goes on after the hole, and whose length may be in it.
    pub bytes: u64,
    /// The length of the message is counted, so its packets are not.
    pub is_stated: bool,
}

impl Hole {
    fn has(&self, number: u32) -> bool {
        add(number, self.first.wrapping_neg()) < self.count
    }
}

/// Where the number of a packet lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Ahead of all, with this many passed over.
    Next { lost: u32 },
    /// It was passed over, at this time, and counted as lost or not.
    Late { since: i64, was_lost: bool },
    /// It was captured before.
    Again,
    /// Far away from earlier numbers.
    Anew,
}

/// Which numbers may be passed over without loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    None,
    Any,
    /// One for each packet of an answer of this many bytes; the length of its packets may be unknown.
    AnswerOf {
        bytes: u32,
        packet: Option<u32>,
    },
}

/// The numbers captured.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// After the highest; none before the first packet.
    next: Option<u32>,
    /// In the order in which they were seen.
    holes: Vec<Hole>,
}

impl Sequence {
    /// Returns the number after the highest.
    pub(super) fn next(&self) -> Option<u32> {
        self.next
    }

    /// Takes in the packet `number`.
    pub(super) fn take(&mut self, number: u32, skip: Skip, time: i64) -> Arrival {
        let Some(next) = self.next else {
            self.begin(number, time);
            return Arrival::Next { lost: 0 };
        };
        let distance = ahead(number, next);
        if (-FAR..0).contains(&distance) {
            return self.take_behind(number);
        }
        let skipped = u32::try_from(distance).map(|distance| distance - skip.skipped(distance));
        let Some(lost) = skipped.ok().filter(|&lost| lost <= FAR.cast_unsigned()) else {
            self.begin(number, time);
            return Arrival::Anew;
        };
        let passed = if skip == Skip::Any {
            ahead(number, next).cast_unsigned()
        } else {
            lost
        };
        if passed > 0 {
            self.push(Hole {
                first: add(number, passed.wrapping_neg()),
                count: passed,
                time,
                is_lost: lost > 0,
                part: Part::default(),
            });
        }
        self.next = Some(add(number, 1));
        Arrival::Next { lost }
    }

    /// Begins with `number`. Earlier packets were not captured, but a sender may still go back to them.
    fn begin(&mut self, number: u32, time: i64) {
        self.holes.clear();
        self.push(Hole {
            first: add(number, FAR.cast_unsigned().wrapping_neg()),
            count: FAR.cast_unsigned(),
            time,
            is_lost: false,
            part: Part::default(),
        });
        self.next = Some(add(number, 1));
    }

    fn push(&mut self, hole: Hole) {
        if self.holes.len() == MOST_HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    fn take_behind(&mut self, number: u32) -> Arrival {
        let Some(place) = self.holes.iter().position(|hole| hole.has(number)) else {
            return Arrival::Again;
        };
        let hole = &mut self.holes[place];
        let found = Arrival::Late {
            since: hole.time,
            was_lost: hole.is_lost,
        };
        let before = add(number, hole.first.wrapping_neg());
        let behind = hole.count - before - 1;
        match (before, behind) {
            (0, 0) => _ = self.holes.remove(place),
            (_, 0) => hole.count = before,
            (0, _) => (hole.first, hole.count) = (add(number, 1), behind),
            _ => {
                let rest = Hole {
                    first: add(number, 1),
                    count: behind,
                    ..*hole
                };
                (hole.count, hole.part.bytes) = (before, 0);
                if self.holes.len() < MOST_HOLES {
                    self.holes.insert(place + 1, rest);
                }
            }
        }
        found
    }

    /// Returns what is known of the hole that `number` lies in.
    pub(super) fn part(&mut self, number: u32) -> Option<&mut Part> {
        let mut holes = self.holes.iter_mut();
        holes
            .find(|hole| hole.has(number))
            .map(|hole| &mut hole.part)
    }

    /// Notes that the length of a message of `packets` from `first` on is counted. Returns its bytes that were counted
    /// packet by packet already, after the holes in it.
    pub(super) fn state(&mut self, first: u32, packets: u32) -> u64 {
        let from_first = |number: u32| add(number, first.wrapping_neg());
        let mut bytes = 0;
        for hole in &mut self.holes {
            if hole.has(first) || from_first(hole.first) < packets {
                hole.part.is_stated = true;
            }
            // After a hole that outlasts the message another message goes on.
            if (1..=packets).contains(&from_first(add(hole.first, hole.count))) {
                bytes += std::mem::take(&mut hole.part.bytes);
            }
        }
        bytes
    }

    /// Returns what is known of the latest hole.
    pub(super) fn last_part(&mut self) -> Option<&mut Part> {
        self.holes.last_mut().map(|hole| &mut hole.part)
    }
}

impl Skip {
    /// Returns how many of `distance` numbers are passed over without loss.
    fn skipped(self, distance: u32) -> u32 {
        match self {
            Self::None => 0,
            Self::Any => distance,
            // The request has the number of the first packet of its answer.
            Self::AnswerOf { bytes, packet } => {
                let others = |packet: u32| bytes.div_ceil(packet).max(1) - 1;
                let known = packet.map(others);
                known.map_or_else(
                    || {
                        let all = [256, 512, 1024, 2048, 4096].map(others);
                        let fitting = all.into_iter().filter(|&it| it <= distance);
                        fitting.max().unwrap_or(distance)
                    },
                    |others| others.min(distance),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each number, in any order, is new once, whether it comes in order or was passed over.
        #[test]
        fn each_number_is_new_once(
            start in prop::sample::select(vec![0_u32, 100, MASK - 20]),
            steps in prop::collection::vec(0_u32..60, 1..120),
        ) {
            let mut sequence = Sequence::default();
            let mut seen = std::collections::BTreeSet::new();
            let first = steps[0];
            for step in steps {
                let expected = match seen.last() {
                    None => Arrival::Next { lost: 0 },
                    Some(&highest) if step > highest => Arrival::Next { lost: step - highest - 1 },
                    _ if seen.contains(&step) => Arrival::Again,
                    _ => Arrival::Late {
                        since: 7,
                        was_lost: step > first,
                    },
                };
                prop_assert_eq!(sequence.take(add(start, step), Skip::None, 7), expected);
                seen.insert(step);
            }
        }
    }

    #[test]
    fn a_number_far_away_begins_anew() {
        let mut sequence = Sequence::default();
        sequence.take(5, Skip::None, 0);
        assert_eq!(sequence.take(1 << 20, Skip::None, 0), Arrival::Anew);
        assert_eq!(
            sequence.take((1 << 20) + 1, Skip::None, 0),
            Arrival::Next { lost: 0 }
        );
    }

    #[test]
    fn more_holes_than_are_remembered_stay_lost() {
        let mut sequence = Sequence::default();
        for number in 0..200 {
            let lost = u32::from(number > 0);
            let found = sequence.take(2 * number, Skip::None, 0);
            assert_eq!(found, Arrival::Next { lost });
        }
        assert_eq!(sequence.take(1, Skip::None, 0), Arrival::Again);
        assert!(matches!(
            sequence.take(397, Skip::None, 0),
            Arrival::Late { .. }
        ));
    }

    #[test]
    fn the_answer_of_a_read_takes_a_number_for_each_of_its_packets() {
        let skip = |packet| Skip::AnswerOf {
            bytes: 10_000,
            packet,
        };
        // 10 packets of 1,024 bytes, 3 of 4,096.
        for (packet, next, lost) in [
            (Some(1024), 10, 0),
            (Some(1024), 12, 2),
            (None, 10, 0),
            (None, 3, 0),
            (None, 4, 1),
            (None, 40, 0),
            (None, 41, 1),
        ] {
            let mut sequence = Sequence::default();
            sequence.take(0, Skip::None, 0);
            let found = sequence.take(next, skip(packet), 0);
            assert_eq!(found, Arrival::Next { lost }, "{packet:?} {next}");
        }
    }
}
