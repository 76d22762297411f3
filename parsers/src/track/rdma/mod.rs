//! RDMA over UDP (RoCEv2): the queue pairs that hosts send to.
//!
//! A packet names the queue pair that it goes to, and not the one that it comes from. Requests of one side and answers
//! of the other are joined by their packet numbers, where only one queue pair waits for that answer.

mod messages;
mod outstanding;
pub(crate) mod queue_pair;
mod sequence;
mod writing;

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use self::queue_pair::{Hosts, Peer, QueuePair};
use self::sequence::add;
use crate::common::arena::Arena;
use crate::common::budget::{bytes, grouped};
use crate::common::index::Index;
use crate::decode::Key;
use crate::decode::rdma::{Answer, Operation, Place, Rdma, ahead};
use crate::decode::segment::Segment;

/// Queue pairs between two hosts that may wait to be joined by an answer; with more of them none is joined.
const MOST_WAITING: usize = 1024;
/// Queue pairs that may be examined to join answers: this many for each packet, and at first.
const CREDIT: usize = 64;
const FIRST_CREDIT: usize = 1 << 20;
/// Answers further away from the requests are no answers to them.
const FAR: i32 = 1 << 16;

/// Returns whether an answer with `number` may be one to requests below `next`.
fn is_near(number: u32, next: u32) -> bool {
    (-FAR..=FAR).contains(&ahead(number, next))
}

/// Queue pairs of one host to another that may wait for answers.
#[derive(Debug)]
struct Waiting {
    hosts: Hosts,
    rows: Vec<u32>,
    is_full: bool,
}

/// All queue pairs, in the order of their first packets.
#[derive(Debug)]
pub(crate) struct QueuePairs {
    hashing: RandomState,
    index: Index,
    list: Arena<QueuePair>,
    hosts: Index,
    waiting: Vec<Waiting>,
    credit: usize,
}

impl QueuePairs {
    pub(crate) fn new(hashing: &RandomState) -> Self {
        Self {
            hashing: hashing.clone(),
            index: Index::new(),
            list: Arena::new(),
            hosts: Index::new(),
            waiting: Vec::new(),
            credit: FIRST_CREDIT,
        }
    }

    /// Takes in a packet of `connection`, whose key is `key`.
    pub(crate) fn take(&mut self, rdma: &Rdma, segment: &Segment, (connection, key): (u32, Key)) {
        self.credit = self.credit.saturating_add(CREDIT);
        let (source, destination) = if segment.is_from_high() {
            (key.high, key.low)
        } else {
            (key.low, key.high)
        };
        let hosts = Hosts {
            v6: key.v6,
            source,
            destination,
            network: key.network,
        };
        let row = self.row(hosts, rdma, connection, segment.time);
        let Some(pair) = self.list.get_mut(row) else {
            return;
        };
        let is_new = pair.next_request().is_none();
        let waits = pair.take(rdma, segment);
        if waits && is_new && pair.peer == Peer::Unknown {
            self.wait(hosts, row);
        }
        if matches!(
            rdma.operation,
            Operation::Acknowledge(_) | Operation::ReadResponse(_)
        ) {
            self.answer(row, hosts, rdma, segment.time);
        }
    }

    fn row(&mut self, hosts: Hosts, rdma: &Rdma, connection: u32, time: i64) -> u32 {
        let list = &self.list;
        let hash = self
            .hashing
            .hash_one((hosts, rdma.destination, rdma.source));
        let found = self.index.find(hash, |row| {
            list.get(row).is_some_and(|pair| {
                let ends = (pair.destination, pair.source);
                pair.hosts == hosts && ends == (rdma.destination, rdma.source)
            })
        });
        found.unwrap_or_else(|| {
            let row = self
                .list
                .push(QueuePair::new(hosts, rdma, connection, time));
            self.index.insert(hash, row);
            row
        })
    }

    /// Returns the hash of `hosts`, and the place of their queue pairs in `waiting`.
    fn place(&self, hosts: Hosts) -> (u64, Option<u32>) {
        let hash = self.hashing.hash_one(hosts);
        let same = |place: u32| self.waiting[place as usize].hosts == hosts;
        (hash, self.hosts.find(hash, same))
    }

    /// Notes that requests of `row` may be answered from now on.
    fn wait(&mut self, hosts: Hosts, row: u32) {
        let (hash, place) = self.place(hosts);
        let place = place.unwrap_or_else(|| {
            let place = self.waiting.len() as u32;
            self.waiting.push(Waiting {
                hosts,
                rows: Vec::new(),
                is_full: false,
            });
            self.hosts.insert(hash, place);
            place
        });
        let waiting = &mut self.waiting[place as usize];
        if waiting.rows.len() < MOST_WAITING {
            waiting.rows.push(row);
        } else {
            waiting.is_full = true;
        }
    }

    /// Gives an answer, which was sent to queue pair `row`, to the queue pair whose request it answers.
    fn answer(&mut self, row: u32, hosts: Hosts, rdma: &Rdma, time: i64) {
        let Some(peer) = self.list.get(row).map(|pair| pair.peer) else {
            return;
        };
        let sender = match peer {
            Peer::Row(sender) => Some(sender),
            Peer::Unknown => self.find_sender(row, hosts, rdma),
            Peer::Never => None,
        };
        let Some(sender) = sender else { return };
        if peer == Peer::Unknown {
            self.join(row, sender);
        }
        let fits = self
            .list
            .get_mut(sender)
            .is_none_or(|pair| pair.next_request().is_none() || pair.take_answer(rdma, time));
        if !fits {
            for row in [row, sender] {
                if let Some(pair) = self.list.get_mut(row) {
                    pair.forget_peer();
                }
            }
        }
    }

    /// Returns the only queue pair of the other host that waits for that answer.
    fn find_sender(&mut self, row: u32, hosts: Hosts, rdma: &Rdma) -> Option<u32> {
        // A NAK names the packet that it misses: lost before the capture point, or after it.
        let before = match rdma.operation {
            Operation::Acknowledge(Answer::SequenceError) => add(rdma.number, u32::MAX),
            Operation::ReadResponse(Place::Middle | Place::Last) => return None,
            _ => rdma.number,
        };
        let numbers = [rdma.number, before];
        let waiting = &self.waiting[self.place(hosts.turned()).1? as usize];
        if waiting.is_full || self.credit < waiting.rows.len() {
            return None;
        }
        self.credit -= waiting.rows.len();
        let mut found = waiting.rows.iter().copied().filter(|&other| {
            let pair = self.list.get(other);
            let waits = |pair: &QueuePair| numbers.iter().any(|&it| pair.outstanding.contains(it));
            other != row && pair.is_some_and(waits)
        });
        let sender = found.next()?;
        found.next().is_none().then_some(sender)
    }

    /// Joins two queue pairs, which are the ends of one connection.
    fn join(&mut self, one: u32, other: u32) {
        for (row, peer) in [(one, other), (other, one)] {
            let Some(pair) = self.list.get_mut(row) else {
                return;
            };
            pair.peer = Peer::Row(peer);
            let hosts = pair.hosts;
            if let Some(place) = self.place(hosts).1 {
                self.waiting[place as usize].rows.retain(|&it| it != row);
            }
        }
    }

    /// Returns the number of the queue pair that sends to `pair`, where that is known.
    pub(crate) fn source(&self, pair: &QueuePair) -> Option<u32> {
        match pair.peer {
            Peer::Row(row) => Some(self.list.get(row)?.destination),
            _ => pair.source,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &QueuePair> {
        self.list.iter().map(|(_, pair)| pair)
    }

    /// Returns the bytes by which its tables may grow at once with this many more packets.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        if self.list.len() == 0 {
            return 0;
        }
        let rows = more * (size_of::<QueuePair>() + 2 * size_of::<Waiting>());
        rows as u64 + self.index.growth(more) + self.hosts.growth(more)
    }

    /// Describes how many there are and what they take; empty without any.
    pub(crate) fn describe(&self) -> String {
        if self.list.len() == 0 {
            return String::new();
        }
        let size = self.list.len() * size_of::<QueuePair>();
        let count = grouped(self.list.len() as u64);
        format!(", {count} queue pairs ({})", bytes(size as u64))
    }
}
