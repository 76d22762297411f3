//! Copies of packets: the same packet recorded more than once, by a mirror of two ports, at a bridge and its port, in front
//! of a router and behind it.
//!
//! A packet that was sent again is no copy. It has another IPv4 identification (RFC 6864), and it follows a round trip
//! time later. Where there is no identification, packets that look alike may all have been sent: duplicate
//! acknowledgements, datagrams of equal content, segments that left a queue together though one was sent a timeout later.
//! Those count as copies only where the packets beside them are recorded as often ([`super::beside`]).

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;

use super::asks::Asks;
use super::beside::Beside;
use super::held::{Held, Identity};
use super::pair::Pair;
use super::window::Window;
use crate::decode::segment::since;

/// Packets that are remembered, and for how long.
const MOST: usize = 1 << 16;
const LONGEST_NS: i64 = 1_000_000_000;
/// A copy at the same place of a packet with an identification follows sooner than this.
const SAME_PLACE_NS: i64 = 10_000_000;
/// A copy of a datagram without identification follows sooner, at the same place and at another one.
const DATAGRAM_NS: i64 = 500_000;
const DATAGRAM_ELSEWHERE_NS: i64 = 10_000_000;
/// Places at which copies of one packet are told apart, and pairs of interfaces that see the same.
const MOST_PLACES: usize = 16;
/// Senders of datagrams that are remembered.
const MOST_TALKS: usize = 1 << 16;
/// More packets alike than this in a row are sent, not recorded so often.
const MOST_RECORDED: u32 = 4;

/// What was seen of one content.
struct Seen {
    /// Number and time of the packet that the next copies are of.
    number: u64,
    time: i64,
    /// How often it was sent.
    sent: u32,
    /// How often it was seen at the first place, ...
    first: (u64, u32),
    /// ... and at others.
    others: Vec<(u64, u32)>,
    /// How often the packet sent last was recorded.
    recorded: u32,
    /// Of the first one.
    identity: Identity,
}

/// What is known of one sender of datagrams to one receiver.
#[derive(Clone, Copy)]
struct Talk {
    content: u64,
    ident: u16,
    time: i64,
    /// Packets of that content in a row, and of the content before.
    run: u32,
    run_before: u32,
    /// Each content has another identification, as the last two had.
    counts: bool,
}

/// Packets that copies may follow.
pub(super) struct Copies {
    seen: HashMap<u64, Seen, RandomState>,
    /// Contents in the order in which they were first seen.
    order: VecDeque<(u64, i64)>,
    talks: HashMap<u64, Talk, RandomState>,
    /// Two interfaces at which packets were seen that cannot have been sent twice.
    doubled: HashSet<(u32, u32), RandomState>,
    beside: Beside,
    asks: Asks,
    hashing: RandomState,
}

impl Copies {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            seen: HashMap::with_hasher(hashing.clone()),
            order: VecDeque::new(),
            talks: HashMap::with_hasher(hashing.clone()),
            doubled: HashSet::with_hasher(hashing.clone()),
            beside: Beside::default(),
            asks: Asks::new(hashing),
            hashing: hashing.clone(),
        }
    }

    /// The number of the packet that `packet` is a copy of. `pair` is that of a TCP segment.
    pub(super) fn find(
        &mut self,
        packet: &Held,
        pair: Option<&mut Pair>,
        ahead: &mut Window,
    ) -> Option<u64> {
        let copy_of = self.find_other(packet, pair, ahead);
        if copy_of.is_none() {
            self.asks.note(packet);
        }
        copy_of
    }

    fn find_other(
        &mut self,
        packet: &Held,
        pair: Option<&mut Pair>,
        ahead: &mut Window,
    ) -> Option<u64> {
        let time = packet.segment.time;
        self.forget(time);
        let content = packet
            .identity
            .among(|content| self.seen.contains_key(&content));
        let talk = if pair.is_none() {
            self.talk(packet)
        } else {
            None
        };
        let Some(seen) = self.seen.get(&content) else {
            let part_of = pair.and_then(|pair| pair.part_of(packet));
            let seen = Seen::new(packet);
            let seen = match part_of {
                Some((number, large)) => {
                    self.note_places(large.interface, packet);
                    seen.part_of(number, large.point)
                }
                None => seen,
            };
            self.seen.insert(content, seen);
            self.order.push_back((content, time));
            return part_of.map(|(number, _)| number);
        };
        let mut case = Case::new(seen, packet, pair.as_deref(), talk);
        case.may_be_copied &= !self.asks.asked_since(seen.time, packet);
        let looked = case.may_be_copied.then(|| {
            let known = |content: u64, time: i64| {
                let seen = self.seen.get(&content);
                seen.filter(|seen| since(time, seen.time) <= case.within_ns)
                    .map_or(0, |seen| seen.recorded)
            };
            let wanted = !case.is_sure || case.opens_anew;
            wanted.then(|| self.beside.recorded(packet, case.within_ns, ahead, known))
        });
        let recorded = looked.flatten().unwrap_or(0).max(case.recorded);
        let interfaces = (seen.identity.interface, packet.identity.interface);
        let is_copy = case.may_be_copied
            && if case.opens_anew {
                recorded > 1
            } else {
                let moved = case.is_elsewhere && self.doubled.contains(&interfaces);
                // What was divided between two places is not recorded twice there.
                let is_told = !packet.is_tcp() || pair.as_deref().is_some_and(Pair::is_divided);
                case.is_sure || moved && is_told || seen.recorded < recorded
            };
        let seen = self.seen.get_mut(&content)?;
        if !is_copy {
            if case.is_other_life {
                *seen = Seen::new(packet);
            } else {
                seen.note_sent(packet);
            }
            return None;
        }
        seen.note_copy(packet);
        self.note_places(interfaces.0, packet);
        if let Some(pair) = pair {
            pair.note_copy(packet);
        }
        self.seen.get(&content).map(|seen| seen.number)
    }

    /// Notes that `packet`, or what it is a part of, was seen at another interface before.
    fn note_places(&mut self, interface: u32, packet: &Held) {
        let other = packet.identity.interface;
        if interface != other
            && packet.is_no_acknowledgement()
            && self.doubled.len() < MOST_PLACES
        {
            self.doubled.insert((interface, other));
        }
    }

    /// Forgets packets that no copy can follow.
    fn forget(&mut self, time: i64) {
        while let Some(&(content, first)) = self.order.front() {
            let old = since(time, first).unsigned_abs() > LONGEST_NS as u64;
            if !old && self.order.len() < MOST {
                return;
            }
            self.order.pop_front();
            if let Some(seen) = self.seen.get(&content) {
                // One that was seen again just now stays, at the end of the row.
                if since(time, seen.time).unsigned_abs() <= LONGEST_NS as u64
                    && self.order.len() < MOST / 2
                {
                    self.order.push_back((content, seen.time));
                } else {
                    self.seen.remove(&content);
                }
            }
        }
    }

    /// What was known of the sender of a datagram before this one; takes it in.
    fn talk(&mut self, packet: &Held) -> Option<Talk> {
        let mut hash = packet.owner.key.hash(&self.hashing);
        hash ^= u64::from(packet.segment.is_from_high());
        let time = packet.segment.time;
        if self.talks.len() >= MOST_TALKS {
            self.talks
                .retain(|_, talk| since(time, talk.time).unsigned_abs() < LONGEST_NS as u64);
            // Half of the room at least: or the next ones would go through all of them again.
            if self.talks.len() > MOST_TALKS / 2 {
                self.talks.clear();
            }
        }
        let (content, ident) = (packet.identity.content, packet.identity.ident);
        let before = self.talks.get(&hash).copied();
        let now = match before {
            Some(talk) if talk.content == content => Talk {
                run: talk.run.saturating_add(1),
                time,
                ..talk
            },
            Some(talk) => Talk {
                content,
                ident,
                time,
                run: 1,
                run_before: talk.run,
                counts: talk.ident != ident,
            },
            None => Talk {
                content,
                ident,
                time,
                run: 1,
                run_before: 0,
                counts: false,
            },
        };
        self.talks.insert(hash, now);
        before
    }
}

/// What a packet and the one that it may be a copy of say.
#[allow(clippy::struct_excessive_bools)]
struct Case {
    /// It came soon enough, and into the same network.
    may_be_copied: bool,
    within_ns: i64,
    /// Nothing but a copy is like that.
    is_sure: bool,
    /// The other one was seen at another place more often.
    is_elsewhere: bool,
    /// A SYN behind the end of its connection: with the number of the SYN before, it may begin the next one.
    opens_anew: bool,
    /// The packets before are of a connection that has ended.
    is_other_life: bool,
    /// How often packets of its sender are recorded, as far as those before it say.
    recorded: u32,
}

impl Case {
    fn new(seen: &Seen, packet: &Held, pair: Option<&Pair>, talk: Option<Talk>) -> Self {
        let (own, other) = (&packet.identity, &seen.identity);
        let identified = match (pair, talk) {
            (Some(pair), _) => pair.is_identified(packet),
            (None, talk) => own.ident != 0 && talk.is_some_and(|talk| talk.counts),
        };
        let (here_ns, elsewhere_ns) = match pair {
            _ if identified => (SAME_PLACE_NS, LONGEST_NS),
            Some(pair) => pair.copies_within_ns(),
            None => (DATAGRAM_NS, DATAGRAM_ELSEWHERE_NS),
        };
        let is_elsewhere = seen.times(own.point) < seen.sent;
        let opens_anew = pair.is_some_and(|pair| pair.opens_anew(packet));
        let within_ns = if opens_anew {
            SAME_PLACE_NS
        } else if is_elsewhere {
            elsewhere_ns
        } else {
            here_ns
        };
        let waited = since(packet.segment.time, seen.time);
        let other_network = !identified && pair.is_none() && own.is_of_other_network(other);
        let earlier = pair.is_some_and(|pair| seen.time < pair.latest.started);
        // A host may send data again as they are, identification included: not before a round trip.
        let round_trip = pair.and_then(Pair::round_trip_ns);
        let at_once = round_trip.is_none_or(|ns| waited < ns / 2);
        let sent_once = at_once || packet.is_tcp() && !packet.takes_numbers();
        let identified_copy = identified && (is_elsewhere || pair.is_some()) && sent_once;
        let routed = is_elsewhere && own.ttl < other.ttl && at_once;
        Self {
            may_be_copied: waited <= within_ns && !other_network && !earlier,
            within_ns,
            is_sure: identified_copy || routed,
            is_elsewhere,
            opens_anew,
            is_other_life: earlier || opens_anew,
            recorded: match (pair, talk) {
                (Some(pair), _) => pair.recorded(packet),
                (None, Some(talk)) if talk.run_before <= MOST_RECORDED => talk.run_before,
                _ => 0,
            },
        }
    }
}

impl Seen {
    fn new(packet: &Held) -> Self {
        Self {
            number: packet.number,
            time: packet.segment.time,
            sent: 1,
            first: (packet.identity.point, 1),
            others: Vec::new(),
            recorded: 1,
            identity: packet.identity,
        }
    }

    /// The same of a part of packet `number`, which was seen at `point` before.
    fn part_of(self, number: u64, point: u64) -> Self {
        Self {
            number,
            first: (point, 1),
            others: vec![self.first],
            recorded: 2,
            ..self
        }
    }

    /// Takes in a packet alike that was sent.
    fn note_sent(&mut self, packet: &Held) {
        let times = self.times_at(packet.identity.point);
        *times += 1;
        self.sent = self.sent.max(*self.times_at(packet.identity.point));
        self.number = packet.number;
        self.recorded = 1;
        self.time = packet.segment.time;
        self.identity = packet.identity;
    }

    /// Takes in a copy of the packet that was sent last.
    fn note_copy(&mut self, packet: &Held) {
        if self.times(packet.identity.point) < self.sent {
            *self.times_at(packet.identity.point) += 1;
        }
        self.recorded += 1;
        self.time = packet.segment.time;
    }

    /// How often it was seen at `point`.
    fn times(&self, point: u64) -> u32 {
        let all = std::iter::once(&self.first).chain(&self.others);
        let mut there = all.filter(|place| place.0 == point);
        there.next().map_or(0, |place| place.1)
    }

    fn times_at(&mut self, point: u64) -> &mut u32 {
        if self.first.0 == point {
            return &mut self.first.1;
        }
        let place = self.others.iter().position(|other| other.0 == point);
        let full = (self.others.len() == MOST_PLACES).then_some(MOST_PLACES - 1);
        let place = place.or(full).unwrap_or_else(|| {
            self.others.push((point, 0));
            self.others.len() - 1
        });
        &mut self.others[place].1
    }
}
