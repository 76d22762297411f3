//! Copies of packets: the same packet recorded twice, by a mirror of two ports, at a bridge and its port, in front of a
//! router and behind it.
//!
//! A packet that was sent again is no copy. It has another IPv4 identification (RFC 6864), and it follows a round trip
//! time later. Where there is no identification, two packets that look alike may both have been sent: duplicate
//! acknowledgements, datagrams of equal content, segments that left a queue together though one was sent a timeout later.
//! Those count as copies only where the packets beside them are recorded twice, too.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;

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
/// Packets of one sender that are looked at ahead.
const LOOKED_AT: usize = 32;
/// Places at which copies of one packet are told apart.
const MOST_PLACES: usize = 16;
/// Senders of datagrams that are remembered.
const MOST_TALKS: usize = 1 << 16;

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
    /// The last one at the same place is not copied yet.
    single: bool,
    /// Of the first one.
    identity: Identity,
}

/// What is known of one sender of datagrams to one receiver.
#[derive(Clone, Copy)]
struct Talk {
    content: u64,
    ident: u16,
    time: i64,
    /// Packets of that content in a row.
    run: u32,
    /// Those before it came in twos; unknown where there was none.
    in_twos: Option<bool>,
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
    hashing: RandomState,
}

impl Copies {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            seen: HashMap::with_hasher(hashing.clone()),
            order: VecDeque::new(),
            talks: HashMap::with_hasher(hashing.clone()),
            doubled: HashSet::with_hasher(hashing.clone()),
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
        let time = packet.segment.time;
        self.forget(time);
        let content = packet.identity.content;
        let talk = if pair.is_none() {
            self.talk(packet)
        } else {
            None
        };
        let mut copy_of = None;
        match self.seen.get_mut(&content) {
            Some(seen) if !is_other_life(seen, packet, pair.as_deref()) => {
                let limits = Limits::new(packet, pair.as_deref(), talk);
                let interfaces = (seen.identity.interface, packet.identity.interface);
                let moved =
                    seen.identity.ttl != packet.identity.ttl || self.doubled.contains(&interfaces);
                if seen.is_copy(packet, &limits, moved, ahead) {
                    copy_of = Some(seen.number);
                    let sure = limits.identified || packet.takes_numbers();
                    if sure && interfaces.0 != interfaces.1 && self.doubled.len() < MOST_PLACES {
                        self.doubled.insert(interfaces);
                    }
                } else {
                    seen.number = packet.number;
                }
                seen.time = time;
            }
            Some(seen) => *seen = Seen::new(packet),
            None => {
                self.seen.insert(content, Seen::new(packet));
                self.order.push_back((content, time));
            }
        }
        if copy_of.is_some()
            && let Some(pair) = pair
        {
            pair.note_copy(packet);
        }
        copy_of
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
            if self.talks.len() >= MOST_TALKS {
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
                in_twos: Some(talk.run.is_multiple_of(2)),
                counts: talk.ident != ident,
            },
            None => Talk {
                content,
                ident,
                time,
                run: 1,
                in_twos: None,
                counts: false,
            },
        };
        self.talks.insert(hash, now);
        before
    }
}

/// Whether the packets seen are of a connection that ended before this one.
fn is_other_life(seen: &Seen, packet: &Held, pair: Option<&Pair>) -> bool {
    pair.is_some_and(|pair| pair.opens_anew(packet) || seen.time < pair.latest.started)
}

/// How soon copies of one packet follow it, and what speaks for them.
struct Limits {
    /// At another place, and at the same one, in ns.
    elsewhere_ns: i64,
    here_ns: i64,
    /// Its identification tells it from one that was sent again.
    identified: bool,
    /// Packets beside it are copied; unknown where nothing was seen of them.
    beside: Option<bool>,
}

impl Limits {
    fn new(packet: &Held, pair: Option<&Pair>, talk: Option<Talk>) -> Self {
        let identified = match (pair, talk) {
            (Some(pair), _) => pair.is_identified(packet),
            (None, talk) => packet.identity.ident != 0 && talk.is_some_and(|talk| talk.counts),
        };
        let (elsewhere_ns, here_ns) = match pair {
            _ if identified => (LONGEST_NS, SAME_PLACE_NS),
            Some(pair) => (
                pair.copies_elsewhere_within_ns(),
                pair.copies_here_within_ns(),
            ),
            None => (DATAGRAM_ELSEWHERE_NS, DATAGRAM_NS),
        };
        Self {
            elsewhere_ns,
            here_ns,
            identified,
            beside: match pair {
                Some(pair) => pair.copies_go_on().then_some(true),
                None => talk.and_then(|talk| talk.in_twos),
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
            single: true,
            identity: packet.identity,
        }
    }

    /// Whether `packet` is a copy of the last one; takes it in. `moved`: it was seen behind a router, or at an interface
    /// which sees what the other one does.
    fn is_copy(&mut self, packet: &Held, limits: &Limits, moved: bool, ahead: &mut Window) -> bool {
        let waited = since(packet.segment.time, self.time);
        let sent = self.sent;
        let other_network =
            !limits.identified && self.identity.is_of_other_network(&packet.identity);
        // The numbers of TCP tell a packet that was seen elsewhere, too.
        let moved = moved || limits.identified || packet.segment.tcp();
        let times = self.times(packet.identity.point);
        if *times < sent && waited <= limits.elsewhere_ns && !other_network && moved {
            *times += 1;
            return true;
        }
        let soon = waited <= limits.here_ns && !other_network;
        let copied = if limits.identified {
            soon
        } else {
            // Of packets that look alike every second one is a copy at most.
            let mut known = || {
                limits
                    .beside
                    .unwrap_or_else(|| others_are_doubled(packet, ahead))
            };
            soon && self.single && known()
        };
        self.single = !copied;
        if !copied {
            let times = self.times(packet.identity.point);
            *times += 1;
            self.sent = sent.max(*times);
        }
        copied
    }

    /// How often it was seen at `point`.
    fn times(&mut self, point: u64) -> &mut u32 {
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

/// Whether most of the next packets of the sender of `packet` are recorded twice.
fn others_are_doubled(packet: &Held, ahead: &mut Window) -> bool {
    let mut contents = Vec::with_capacity(LOOKED_AT);
    ahead.find_ahead(|later| {
        let same = later.owner.key == packet.owner.key && later.side() == packet.side();
        if same && later.identity.content != packet.identity.content {
            contents.push(later.identity.content);
        }
        (contents.len() == LOOKED_AT).then_some(())
    });
    contents.sort_unstable();
    let groups = contents.chunk_by(|one, other| one == other);
    let doubled = groups.clone().filter(|group| group.len() == 2).count();
    // The copy of the last one may lie behind those that were looked at.
    doubled > 0 && doubled * 4 >= (groups.count() - 1) * 3
}
