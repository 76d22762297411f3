//! Packets in the order of their times, as far as a bounded window allows.

use std::collections::{BTreeMap, VecDeque};

use super::held::Held;

/// How the time of a packet fits the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// No earlier than those before it.
    InTime,
    /// Earlier than one before it, and put in front of it.
    Reordered,
    /// Earlier by more than the window: the order of the file stands.
    TooLate,
}

/// Place of a packet in the order: packets too late for the window begin a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    epoch: u64,
    time: i64,
    number: u64,
}

/// Packets that wait for earlier ones.
pub(crate) struct Window {
    reach_ns: i64,
    most: usize,
    epoch: u64,
    /// Latest time of the epoch.
    newest: i64,
    /// Time of the last packet that left in this epoch.
    left: i64,
    /// Packets no earlier than those before them.
    in_order: VecDeque<(u64, Held)>,
    /// Packets that came after later ones.
    late: BTreeMap<Rank, Held>,
    /// How many packets may still be examined ahead: bounds the work that odd packets cause.
    credit: usize,
    /// No packet comes any more.
    ended: bool,
}

/// Packets ahead that each packet allows to examine, and the credit at first.
const CREDIT: usize = 64;
const FIRST_CREDIT: usize = 1 << 20;

impl Window {
    pub(crate) fn new(reach_ns: i64, most: usize) -> Self {
        Self {
            reach_ns,
            most,
            epoch: 0,
            newest: i64::MIN,
            left: i64::MIN,
            in_order: VecDeque::new(),
            late: BTreeMap::new(),
            credit: FIRST_CREDIT,
            ended: false,
        }
    }

    /// Returns the time before which all packets are in the window, but for late ones: others may still come.
    pub(crate) fn complete_until(&self) -> i64 {
        let first = self.in_order.front();
        // No packet follows those from before the clock was set back.
        if self.ended || first.is_some_and(|(epoch, _)| *epoch < self.epoch) {
            i64::MAX
        } else {
            self.newest
        }
    }

    /// Returns how the time of `packet`, the next one of the file, fits the order.
    pub(crate) fn order(&self, packet: &Held) -> Order {
        let time = packet.segment.time;
        if time >= self.newest || self.reach_ns == 0 {
            Order::InTime
        } else if self.is_beyond(time) || time < self.left {
            Order::TooLate
        } else {
            Order::Reordered
        }
    }

    fn is_beyond(&self, time: i64) -> bool {
        time < self.newest.saturating_sub(self.reach_ns)
    }

    /// Takes in the next packet of the file.
    pub(crate) fn push(&mut self, packet: Held) {
        let time = packet.segment.time;
        self.credit = self.credit.saturating_add(CREDIT);
        if self.is_beyond(time) {
            // The clock was set back, or one packet was far ahead of it: all packets before this one leave first.
            self.epoch += 1;
            self.newest = time;
            self.left = i64::MIN;
        }
        self.newest = self.newest.max(time);
        let rank = Rank {
            epoch: self.epoch,
            time,
            number: packet.number,
        };
        let follows = self
            .in_order
            .back()
            .is_none_or(|(epoch, last)| (*epoch, last.segment.time) <= (rank.epoch, rank.time));
        if follows {
            self.in_order.push_back((self.epoch, packet));
        } else {
            self.late.insert(rank, packet);
        }
    }

    /// Returns all packets that wait, in any order.
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Held> {
        let in_order = self.in_order.iter_mut().map(|(_, packet)| packet);
        in_order.chain(self.late.values_mut())
    }

    /// Returns the earliest packet, if none that comes can be earlier.
    pub(crate) fn pop(&mut self, ended: bool) -> Option<Held> {
        self.ended = ended;
        let first = self.in_order.front().map(rank_of);
        let late = self.late.keys().next().copied();
        let (rank, from_late) = match (first, late) {
            (Some(first), Some(late)) if late < first => (late, true),
            (Some(first), _) => (first, false),
            (None, Some(late)) => (late, true),
            (None, None) => return None,
        };
        let waits = rank.epoch == self.epoch
            && self.in_order.len() + self.late.len() <= self.most
            && !self.is_beyond(rank.time)
            && !ended;
        if waits {
            return None;
        }
        if rank.epoch == self.epoch {
            self.left = self.left.max(rank.time);
        }
        if from_late {
            self.late.pop_first().map(|(_, packet)| packet)
        } else {
            self.in_order.pop_front().map(|(_, packet)| packet)
        }
    }

    /// Returns what `wanted` takes from the first packet ahead in the order of time; none if other packets used up the
    /// credit for looking ahead.
    pub(crate) fn find_ahead<T>(
        &mut self,
        mut wanted: impl FnMut(&Held) -> Option<T>,
    ) -> Option<T> {
        let mut in_order = self.in_order.iter().peekable();
        let mut late = self.late.iter().peekable();
        let mut credit = self.credit;
        let mut found = None;
        while credit > 0 && found.is_none() {
            let is_late = match (in_order.peek(), late.peek()) {
                (Some(next), Some((rank, _))) => **rank < rank_of(next),
                (None, Some(_)) => true,
                _ => false,
            };
            let next = if is_late {
                late.next().map(|(_, packet)| packet)
            } else {
                in_order.next().map(|(_, packet)| packet)
            };
            let Some(packet) = next else { break };
            credit -= 1;
            found = wanted(packet);
        }
        self.credit = credit;
        found
    }
}

fn rank_of((epoch, packet): &(u64, Held)) -> Rank {
    Rank {
        epoch: *epoch,
        time: packet.segment.time,
        number: packet.number,
    }
}
