//! Copies of packets: the same packet recorded more than once, by a mirror of two ports, at a bridge and its port, or
//! on both sides of a router.
//!
//! A packet that a host sends again is no copy. It has another IPv4 identification (RFC 6864), and it follows a round
//! trip time later. Without an identification, packets that look alike may all have been sent: duplicate
//! acknowledgements, datagrams of equal content, segments that left a queue together though one was sent a timeout
//! later. They are copies only if neighbouring packets are recorded as often ([`super::beside`]).

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::asks::Asks;
use super::beside::Beside;
use super::case::{Case, Talk};
use super::contents::Contents;
use super::held::Held;
use super::life::distance;
use super::pair::{Pair, Vantage};
use super::places::Places;
use super::seen::{LONGEST_NS, Seen, sender};
use super::sightings::Move;
use super::window::Window;
use crate::decode::flag;
use crate::decode::segment::since;

/// Contents that are examined to learn how often a sender's packets were recorded, and how many suffice.
const LOOKED_BACK: usize = 2048;
const ENOUGH: usize = 16;
/// Pairs of interfaces that see the same packets, and interfaces whose delay is known.
const MOST_PLACES: usize = 16;
/// Senders of datagrams that are remembered.
const MOST_TALKS: usize = 1 << 16;

/// No bridge and no mirror takes longer to pass a packet on.
const DISTANT_NS: i64 = 1_000_000;

/// The packet that another one is a copy of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Original {
    pub number: u64,
    /// Time from its latest sighting to the copy, in ns; 0 for a part of a large segment.
    before_ns: i64,
}

impl Original {
    /// Returns whether the copy came too late to be from another interface of the same machine.
    pub(crate) fn is_distant(self) -> bool {
        self.before_ns > DISTANT_NS
    }
}

/// Packets that copies may follow.
pub(super) struct Copies {
    contents: Contents,
    talks: HashMap<u64, Talk, RandomState>,
    /// Pairs of interfaces that recorded the same packet.
    doubled: HashSet<(u32, u32), RandomState>,
    /// The longest delay of copies at an interface, of packets that their hosts would not have resent so soon.
    delays: HashMap<u32, i64, RandomState>,
    beside: Beside,
    places: Places,
    asks: Asks,
    hashing: RandomState,
}

impl Copies {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            contents: Contents::new(hashing),
            talks: HashMap::with_hasher(hashing.clone()),
            doubled: HashSet::with_hasher(hashing.clone()),
            delays: HashMap::with_hasher(hashing.clone()),
            beside: Beside::default(),
            places: Places::new(hashing),
            asks: Asks::new(hashing),
            hashing: hashing.clone(),
        }
    }

    /// Returns the original of `packet` if it is a copy. `pair` is that of a TCP segment.
    pub(super) fn find(
        &mut self,
        packet: &Held,
        pair: Option<&mut Pair>,
        ahead: &mut Window,
    ) -> Option<Original> {
        if packet.is_cut_to_ports() {
            return None;
        }
        let copy_of = self.find_other(packet, pair, ahead);
        if copy_of.is_none() {
            self.asks.note(packet);
        }
        copy_of
    }

    fn find_other(
        &mut self,
        packet: &Held,
        mut pair: Option<&mut Pair>,
        ahead: &mut Window,
    ) -> Option<Original> {
        let time = packet.segment.time;
        self.contents.forget(time);
        let content = packet.identity.among(|content| self.contents.has(content));
        let talk = if pair.is_none() {
            self.talk(packet)
        } else {
            None
        };
        let Some(seen) = self.contents.get(content) else {
            let part_of = pair.and_then(|pair| pair.part_of(packet));
            let seen = Seen::new(packet);
            let seen = match part_of {
                Some((number, large)) => {
                    self.note_places(large.interface, packet);
                    seen.part_of(number, large.point)
                }
                None => seen,
            };
            self.contents.insert(content, seen);
            return part_of.map(|(number, _)| Original {
                number,
                before_ns: 0,
            });
        };
        let late_ns = self.delays.get(&packet.identity.interface).copied();
        let mut case = Case::new(seen, packet, pair.as_deref(), talk, late_ns.unwrap_or(0));
        let is_late = !case.may_be_copied && !case.is_other_network && case.waited <= LONGEST_NS;
        if is_late
            && let Some(pair) = pair
                .as_deref_mut()
                .filter(|pair| seen.time >= pair.latest.started)
        {
            case.take_replay(pair.is_replay(packet, || self.comes_again(packet, ahead)));
        }
        case.may_be_copied &= !packet.identity.has_other_payload(&seen.identity);
        case.may_be_copied &= !self.asks.asked_since(seen.time, packet);
        case.may_be_copied &= case.is_sure || !self.is_resent(packet, case.within_ns);
        let looked = case.may_be_copied.then(|| {
            let known = |content: u64, time: i64| {
                let seen = self.contents.get(content);
                seen.filter(|seen| since(time, seen.time) <= case.within_ns)
                    .map_or(0, |seen| seen.recorded)
            };
            let wanted = !case.is_sure || case.opens_anew;
            wanted.then(|| self.beside.recorded(packet, &case.terms(), ahead, known))
        });
        let recorded = looked.flatten().unwrap_or(0).max(case.recorded);
        let interfaces = (seen.identity.interface, packet.identity.interface);
        let is_copy = case.may_be_copied
            && if case.opens_anew {
                recorded > 1
            } else {
                let moved = case.is_elsewhere && self.doubled.contains(&interfaces);
                // A segment that was divided between two places is not recorded twice there.
                let is_once_here =
                    !packet.is_tcp() || pair.as_deref().is_some_and(Pair::is_divided);
                let is_recorded = seen.recorded < recorded;
                let mut passed_both = || {
                    let known = |content: u64, time: i64| {
                        let seen = self.contents.get(content);
                        seen.filter(|seen| since(time, seen.time) <= case.within_ns)
                    };
                    let from = seen.identity;
                    let moved = Move { packet, from };
                    let places = &mut self.places;
                    places.are_on_one_path(&moved, &case.terms(), ahead, known)
                };
                case.is_sure
                    || moved && is_once_here
                    || is_recorded && (packet.is_tcp() || !case.may_be_other_path)
                    || case.may_be_other_path
                        && passed_both().unwrap_or(case.is_routed || is_recorded)
            };
        let seen = self.contents.get_mut(content)?;
        if !is_copy {
            if case.is_other_life {
                *seen = Seen::new(packet);
            } else {
                seen.note_sent(packet);
            }
            return None;
        }
        seen.note_copy(packet);
        if case.shows_delay && (late_ns.is_some() || self.delays.len() < MOST_PLACES) {
            let delay = self.delays.entry(packet.identity.interface).or_default();
            *delay = case.waited.max(*delay);
        }
        self.note_places(interfaces.0, packet);
        let original = Original {
            number: self.contents.get(content)?.number,
            before_ns: case.waited,
        };
        if let Some(pair) = pair {
            if original.is_distant() && pair.vantage.is_none() {
                pair.vantage = Some(self.find_vantage(interfaces.0, packet, ahead));
            }
            pair.note_copy(packet);
        }
        Some(original)
    }

    /// Returns where the packets of a pair were seen whose times are comparable: `packet` is a distant copy of one that
    /// was seen at the interface `first`.
    fn find_vantage(&self, first: u32, packet: &Held, ahead: &mut Window) -> Vantage {
        if first != packet.identity.interface {
            Vantage::Interface(first)
        } else if self.is_answered_first(packet, ahead) {
            Vantage::Anywhere
        } else {
            Vantage::Unknown
        }
    }

    /// Returns whether a segment after `packet` is acknowledged before its copy comes: then both are of one place. In
    /// two merged captures, the copy is from the receiver's, which contains the answer after it.
    fn is_answered_first(&self, packet: &Held, ahead: &mut Window) -> bool {
        // Content, side and end of a segment, and whether it is acknowledged.
        let mut sent: Option<(u64, usize, u32, bool)> = None;
        let found = ahead.find_ahead(|next| {
            if !next.shares_ends(packet) {
                return None;
            }
            let content = next.identity.content;
            if let Some((its_content, side, end, is_answered)) = &mut sent {
                if *its_content == content {
                    let is_answered = *is_answered;
                    sent = None;
                    return is_answered.then_some(());
                }
                let ack = next.segment.acknowledgement();
                *is_answered |=
                    next.side() != *side && ack.is_some_and(|ack| distance(*end, ack) >= 0);
            } else if next.takes_numbers() && !self.contents.has(content) {
                sent = Some((content, next.side(), next.end(), false));
            }
            None
        });
        found.is_some()
    }

    /// Returns whether the packet after `packet`, a SYN, between the same endpoints was seen before.
    fn comes_again(&self, packet: &Held, ahead: &mut Window) -> bool {
        let again = ahead.find_ahead(|next| {
            let is_syn = next.side() == packet.side() && next.segment.has(flag::SYN);
            if !next.shares_ends(packet) || is_syn {
                return None;
            }
            let content = next.identity.among(|content| self.contents.has(content));
            Some(self.contents.has(content))
        });
        again == Some(true)
    }

    /// Notes that `packet`, or the segment it is a part of, was seen at another interface before.
    fn note_places(&mut self, interface: u32, packet: &Held) {
        let other = packet.identity.interface;
        if interface != other && packet.is_no_acknowledgement() && self.doubled.len() < MOST_PLACES
        {
            self.doubled.insert((interface, other));
        }
    }

    /// Returns whether an RDMA packet that looks like a copy was sent again: earlier ones of its sender were recorded
    /// once. Its hardware resends a whole window within microseconds, and all those packets look like copies.
    fn is_resent(&self, packet: &Held, within_ns: i64) -> bool {
        if packet.rdma.is_none() {
            return false;
        }
        let (own, time) = (sender(packet), packet.segment.time);
        let latest = self.contents.latest_first().take(LOOKED_BACK);
        let settled = latest.filter(|(first, _)| since(time, *first) > within_ns);
        let before = settled
            .filter_map(|(_, seen)| seen)
            .filter(|seen| seen.sender == own)
            .take(ENOUGH);
        let recorded: Vec<u32> = before.map(|seen| seen.recorded).collect();
        let again = recorded.iter().filter(|&&times| times > 1).count();
        recorded.len() == ENOUGH && 2 * again < ENOUGH
    }

    /// Returns the state of the sender of a datagram before this one, and updates it.
    fn talk(&mut self, packet: &Held) -> Option<Talk> {
        let mut hash = packet.owner.key.hash(&self.hashing);
        hash ^= u64::from(packet.segment.is_from_high());
        let time = packet.segment.time;
        if self.talks.len() >= MOST_TALKS {
            self.talks
                .retain(|_, talk| since(time, talk.time).unsigned_abs() < LONGEST_NS as u64);
            // At least half of the room: otherwise the next packets would scan all of them again.
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
            Some(mut talk) => {
                talk.note_step(ident);
                Talk {
                    content,
                    ident,
                    time,
                    run: 1,
                    run_before: talk.run,
                    counts: talk.ident != ident,
                    ..talk
                }
            }
            None => Talk {
                content,
                ident,
                time,
                run: 1,
                run_before: 0,
                counts: false,
                jumps: 0,
            },
        };
        self.talks.insert(hash, now);
        before
    }
}
