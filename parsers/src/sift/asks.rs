//! Requests between hosts to send packets again: an RDMA packet that was requested again is no copy of the earlier one.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::held::Held;
use crate::decode::rdma::{Answer, Operation, Rdma, ahead};

/// Requests that are remembered for each asking host, and such hosts.
const MOST: usize = 8;
const MOST_HOSTS: usize = 1 << 14;
/// At most this many packet numbers after the requested one are sent again.
const FAR: i32 = 1 << 16;
/// A sender receives a request within this time, or sends again for another reason.
const LONGEST_NS: i64 = 100_000_000;

/// A request of one host that another sends packets again or answers a read.
#[derive(Debug, Clone, Copy)]
struct Ask {
    time: i64,
    /// It requests answers to reads, not requests.
    is_read: bool,
    /// The first number; all later ones are requested too.
    number: u32,
    /// When the packet with this number followed: packets sent before that are sent again too.
    resent: Option<i64>,
}

/// Two hosts and their network, and whether the higher one asks.
type Asker = (u128, u128, u32, bool);

/// The latest asks of hosts.
#[derive(Debug)]
pub(super) struct Asks(HashMap<Asker, VecDeque<Ask>, RandomState>);

impl Asks {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self(HashMap::with_hasher(hashing.clone()))
    }

    /// Notes a request that `packet`, which is no copy, contains, or that it answers one.
    pub(super) fn note(&mut self, packet: &Held) {
        let Some(rdma) = &packet.rdma else { return };
        let time = packet.segment.time;
        if let Some(asks) = self.0.get_mut(&asker(packet, packet.side() == 0)) {
            let open = |ask: &&mut Ask| ask.resent.is_none() && ask.number == rdma.number;
            for ask in asks.iter_mut().filter(open) {
                if ask.is_for(rdma) && time > ask.time {
                    ask.resent = Some(time);
                }
            }
        }
        let is_read = match rdma.operation {
            Operation::ReadRequest => true,
            Operation::Acknowledge(Answer::SequenceError | Answer::NotReady) => false,
            _ => return,
        };
        if self.0.len() >= MOST_HOSTS {
            self.0.clear();
        }
        let asks = self.0.entry(asker(packet, packet.side() == 1)).or_default();
        if asks.len() == MOST {
            asks.pop_front();
        }
        asks.push_back(Ask {
            time,
            is_read,
            number: rdma.number,
            resent: None,
        });
    }

    /// Returns whether `packet`, seen at `time` before, was requested after that, or so shortly before that the sender
    /// had not received the request.
    pub(super) fn asked_since(&self, time: i64, packet: &Held) -> bool {
        let Some(rdma) = &packet.rdma else {
            return false;
        };
        let asks = self.0.get(&asker(packet, packet.side() == 0));
        let mut asks = asks.into_iter().flatten();
        asks.any(|ask| {
            let end = ask.resent.unwrap_or(ask.time.saturating_add(LONGEST_NS));
            time < end && ask.is_for(rdma)
        })
    }
}

impl Ask {
    fn is_for(self, rdma: &Rdma) -> bool {
        let is_read = matches!(rdma.operation, Operation::ReadResponse(_));
        is_read == self.is_read && (0..FAR).contains(&ahead(rdma.number, self.number))
    }
}

fn asker(packet: &Held, is_high: bool) -> Asker {
    let key = &packet.owner.key;
    (key.low, key.high, key.network, is_high)
}
