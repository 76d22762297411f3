//! Which life of its connection a TCP segment belongs to, and whether the receiver would accept it there.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::held::{Held, NEAR, Refusal};
use super::life::{Life, distance};
use super::pair::Pair;
use super::window::Window;
use crate::decode::{Key, flag};

/// All TCP connections, by their endpoints.
pub(super) struct Lives {
    pairs: HashMap<Key, Pair, RandomState>,
}

/// The decision to which connection of its endpoints a segment belongs.
enum Decision {
    /// It belongs to the life with this number.
    Of(u32),
    /// It begins a life.
    Begins,
    /// It belongs to the life with this number, whose receiver refuses it.
    Refused(u32, Refusal),
}

impl Lives {
    pub(super) fn new(hashing: &RandomState) -> Self {
        Self {
            pairs: HashMap::with_hasher(hashing.clone()),
        }
    }

    /// Returns the bytes by which the table may grow at once with `more` packets.
    pub(super) fn growth(&self, more: usize) -> u64 {
        if self.pairs.len() + more <= self.pairs.capacity() {
            return 0;
        }
        let entry = size_of::<(Key, Pair)>() + 1;
        (2 * self.pairs.capacity().max(more) * entry) as u64
    }

    /// Returns what is known of the connections between the endpoints of `packet`.
    pub(super) fn pair(&mut self, packet: &Held) -> &mut Pair {
        let pairs = self.pairs.entry(packet.owner.key);
        pairs.or_insert_with(|| Pair::new(packet.segment.time))
    }

    /// Returns the life of `packet`, and why its receiver refuses it.
    pub(super) fn assign(
        &mut self,
        packet: &mut Held,
        ahead: &mut Window,
    ) -> (u32, Option<Refusal>) {
        if !packet.segment.tcp() {
            // Its header is cut after the ports: it goes to the latest life.
            let pair = self.pairs.get(&packet.owner.key);
            return (pair.map_or(0, |pair| pair.latest.number), None);
        }
        let pair = self.pair(packet);
        let decision = decide(pair, packet, ahead);
        pair.note(packet);
        if pair.is_elsewhere(packet) {
            packet.segment.set_elsewhere();
        }
        let number = match decision {
            Decision::Of(number) => number,
            Decision::Begins => pair.begin(packet),
            Decision::Refused(number, refusal) => return (number, Some(refusal)),
        };
        if let Some(life) = pair.lives().find(|life| life.number == number) {
            life.note(packet);
        }
        (number, None)
    }
}

fn decide(pair: &mut Pair, packet: &Held, ahead: &mut Window) -> Decision {
    let segment = &packet.segment;
    if segment.has(flag::SYN) && !segment.has(flag::RST) {
        return if segment.has(flag::ACK) {
            place_syn_ack(pair, packet, ahead)
        } else {
            place_syn(pair, packet, ahead)
        };
    }
    let life = pair.nearest(packet);
    if segment.has(flag::RST) {
        let believed = life.takes_reset(packet)
            && (life.expects(packet)
                || ahead
                    .find_ahead(|next| continues_behind(packet, next))
                    .is_none());
        return if believed {
            Decision::Of(life.number)
        } else {
            Decision::Refused(life.number, Refusal::StrayRst)
        };
    }
    let takes_number = life.takes_number(packet);
    let takes_acknowledgement =
        life.takes_acknowledgement(packet) && !life.acknowledges_too_much(packet);
    if takes_number && takes_acknowledgement {
        return Decision::Of(life.number);
    }
    if takes_number && life.has_ended() {
        return Decision::Begins;
    }
    if takes_number {
        // The capture may have lost the data that it acknowledges: then the other side goes on there.
        let (ack, peer) = (segment.ack, 1 - packet.side());
        let known = life.sides[peer].next.unwrap_or(ack);
        let continues = ahead.find_ahead(|next| {
            let speaks = !next.segment.has(flag::SYN | flag::RST);
            (next.shares_ends(packet) && next.side() == peer && speaks).then(|| {
                distance(ack, next.segment.seq).abs() < distance(known, next.segment.seq).abs()
            })
        });
        return match continues {
            Some(true) => {
                life.jump(peer);
                Decision::Of(life.number)
            }
            _ => Decision::Refused(life.number, Refusal::OutsideWindow),
        };
    }
    place_far_segment(life, packet, ahead)
}

/// Finds a packet that shows that a RST was not its sender's, which goes on as before. RFC 5961 3: a challenge ACK
/// answers a RST whose number is not exactly the expected one.
fn continues_behind(reset: &Held, next: &Held) -> Option<()> {
    let same = next.shares_ends(reset) && next.side() == reset.side();
    (same && !next.segment.has(flag::SYN | flag::RST)).then_some(())
}

/// Places a segment far from those before it: the capture may have lost the data between, the ports may serve another
/// connection, or the segment belongs to none.
fn place_far_segment(life: &mut Life, packet: &Held, ahead: &mut Window) -> Decision {
    let (side, end) = (packet.side(), packet.end());
    let known = life.sides[side].next.unwrap_or(end);
    let nearer = |number: u32| distance(end, number).abs() < distance(known, number).abs();
    let continues = ahead.find_ahead(|next| {
        if !next.shares_ends(packet) || next.segment.has(flag::SYN | flag::RST) {
            return None;
        }
        if next.side() == side {
            return Some(nearer(next.segment.seq));
        }
        let ack = next.segment.acknowledgement()?;
        nearer(ack).then_some(true)
    });
    let ended = life.has_ended();
    // If nothing follows, an acknowledgement that was not captured may have allowed a segment that is near.
    let near = distance(known, packet.segment.seq).abs() <= NEAR;
    if !continues.unwrap_or(ended || near) {
        return Decision::Refused(life.number, Refusal::OutsideWindow);
    }
    let forward = distance(known, packet.segment.seq) > 0;
    if forward && !ended && life.takes_acknowledgement(packet) {
        life.jump(side);
        Decision::Of(life.number)
    } else {
        Decision::Begins
    }
}

/// Places a SYN. RFC 9293 3.6.1: after a connection has ended, a SYN begins another one, whatever its number. RFC 5961
/// 4: in a live one, a challenge ACK answers it, and it changes nothing.
fn place_syn(pair: &mut Pair, packet: &Held, ahead: &mut Window) -> Decision {
    let (side, seq) = (packet.side(), packet.segment.seq);
    let same = pair.lives().find(|life| life.sides[side].base == Some(seq));
    if let Some(life) = same {
        return if life.has_ended() && !life.was_refused() {
            Decision::Begins
        } else {
            Decision::Of(life.number)
        };
    }
    let life = &mut pair.latest;
    let own = life.sides[side];
    if own.next.is_none() {
        return Decision::Of(life.number);
    }
    if own.follows_syn(seq) {
        return Decision::Of(life.number);
    }
    if !own.seen
        && own
            .next
            .is_some_and(|next| (0..=NEAR).contains(&distance(seq, next)))
    {
        // The other side acknowledged data that follows it: the SYN was captured late.
        return Decision::Of(life.number);
    }
    if life.has_ended() || !life.is_established() {
        return Decision::Begins;
    }
    let answer = seq.wrapping_add(1);
    let alone = !life.sides[1 - side].seen;
    let next = own.next.unwrap_or(seq);
    let confirmed = ahead.find_ahead(|later| {
        if !later.shares_ends(packet) {
            return None;
        }
        let segment = &later.segment;
        if later.side() != side {
            // A challenge ACK acknowledges the old numbers. If the SYN-ACK was not captured, the next segment answers.
            let new = segment.has(flag::SYN)
                || distance(next, answer) > 0
                || distance(answer, next) > NEAR;
            return (new && segment.acknowledgement() == Some(answer)).then_some(());
        }
        let continues = alone && !segment.has(flag::SYN | flag::RST);
        (continues && distance(answer, segment.seq).abs() < distance(next, segment.seq).abs())
            .then_some(())
    });
    match confirmed {
        Some(()) => Decision::Begins,
        None => Decision::Refused(life.number, Refusal::StraySyn),
    }
}

fn place_syn_ack(pair: &mut Pair, packet: &Held, ahead: &mut Window) -> Decision {
    let (side, peer) = (packet.side(), 1 - packet.side());
    let (seq, ack) = (packet.segment.seq, packet.segment.ack);
    let answers = pair.lives().find(|life| {
        let (own, other) = (&life.sides[side], &life.sides[peer]);
        let base = Some(ack.wrapping_sub(1));
        // Of several SYN-ACKs, the last one is valid until one is acknowledged.
        own.base == Some(seq) && other.base.is_none_or(|known| Some(known) == base)
            || other.may_be_acknowledged_by(ack) && !life.is_established()
            || own.base.is_none() && other.base.is_none()
    });
    if let Some(life) = answers {
        return Decision::Of(life.number);
    }
    let life = &mut pair.latest;
    if life.has_ended() {
        return Decision::Begins;
    }
    let unheard = !life.sides[side].seen;
    if unheard && life.takes_acknowledgement(packet) && life.is_established() {
        // It was captured after the data that followed it.
        return Decision::Of(life.number);
    }
    let follows = seq.wrapping_add(1);
    let confirmed = ahead.find_ahead(|later| {
        if !later.shares_ends(packet) || later.segment.has(flag::SYN | flag::RST) {
            return None;
        }
        let number = if later.side() == side {
            later.segment.seq
        } else {
            later.segment.acknowledgement()?
        };
        (number == follows).then_some(())
    });
    match confirmed {
        Some(()) => Decision::Begins,
        None => Decision::Refused(life.number, Refusal::StraySynAck),
    }
}
