//! The careful reading of a capture: it puts packets into the order of their times, finds copies of other packets, and
//! gives each TCP segment to the connection whose receiver would accept it.
//!
//! Most captures do not need it: the quick reading only notices that something is odd ([`crate::common::suspicion`]),
//! and then the capture is read again, through here. A packet waits in a window of bounded time and length before it is
//! judged, so that the packets after it can settle a doubt.

mod asks;
mod beside;
mod case;
mod contents;
mod copies;
pub(crate) mod held;
pub(crate) mod identity;
mod life;
mod lives;
mod pair;
mod parts;
mod places;
mod seen;
mod sightings;
mod window;

use foldhash::fast::RandomState;

use self::copies::{Copies, Original};
use self::held::{Held, Refusal};
use self::identity::Captured;
use self::lives::Lives;
use self::window::Window;
use crate::decode::segment::OwnerKind;
use crate::decode::{TCP, flag};

/// How packets are sifted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiftOptions {
    /// How much earlier than a packet before it in the file a packet may be, in ns; 0 keeps the order of the file.
    pub window_ns: i64,
    /// Packets that may wait for earlier ones.
    pub window_packets: usize,
    /// Copies of other packets count as packets.
    pub keep_duplicates: bool,
    /// Packets are put in order, and not judged.
    pub only_order: bool,
}

/// A packet, and what was decided about it.
pub(crate) struct Sifted {
    pub packet: Held,
    /// The packet that it is a copy of.
    pub copy_of: Option<Original>,
    /// Why its receiver would not accept it.
    pub refused: Option<Refusal>,
}

/// Packets that wait, and what is known of earlier ones.
pub(crate) struct Sifter {
    window: Window,
    judge: Option<Judge>,
    /// Whether a TCP segment was cut within its options: one without SYN, and one with it.
    lacks_options: [bool; 2],
    /// Packets taken.
    number: u64,
}

/// Finds the copies among the packets, and the connection of each TCP segment.
struct Judge {
    copies: Option<Copies>,
    lives: Lives,
    hashing: RandomState,
}

impl Sifter {
    /// `hashing` makes the hashes of keys.
    pub(crate) fn new(options: SiftOptions, hashing: &RandomState) -> Self {
        Self {
            window: Window::new(options.window_ns, options.window_packets),
            judge: (!options.only_order).then(|| Judge {
                copies: (!options.keep_duplicates).then(|| Copies::new(hashing)),
                lives: Lives::new(hashing),
                hashing: hashing.clone(),
            }),
            lacks_options: [false; 2],
            number: 0,
        }
    }

    /// Takes the next packet of the files, once [`Self::next`] has no more earlier ones; returns how it fits the order.
    #[inline]
    pub(crate) fn take(&mut self, mut packet: Held) -> Order {
        self.number += 1;
        packet.number = self.number;
        self.find_cut_options(&mut packet);
        let order = self.window.order(&packet);
        self.window.push(packet);
        order
    }

    /// Makes segments that were cut within their options comparable with `packet` and with waiting packets.
    #[inline]
    fn find_cut_options(&mut self, packet: &mut Held) {
        let is_syn = packet.segment.has(flag::SYN);
        let lacks_options = &mut self.lacks_options[usize::from(is_syn)];
        if packet.identity.captured == Captured::Numbers && !*lacks_options {
            *lacks_options = true;
            let alike = |held: &&mut Held| held.segment.has(flag::SYN) == is_syn;
            let waiting = self.window.each_mut().filter(alike);
            waiting.for_each(|held| held.identity.prefer_numbers());
        }
        if *lacks_options {
            packet.identity.prefer_numbers();
        }
    }

    /// Returns the next packet in the order of time, if no earlier one can come. `ended`: no more come at all.
    #[inline]
    pub(crate) fn next(&mut self, ended: bool) -> Option<Sifted> {
        let packet = self.window.pop(ended)?;
        Some(self.judge(packet))
    }

    #[inline]
    fn judge(&mut self, mut packet: Held) -> Sifted {
        let (mut copy_of, mut refused) = (None, None);
        if let Some(judge) = &mut self.judge
            && packet.owner.kind != OwnerKind::None
        {
            copy_of = judge.find_other(&packet, &mut self.window);
            if copy_of.is_some() {
                packet.owner.kind = OwnerKind::None;
            } else if packet.owner.key.protocol == TCP {
                refused = judge.find_life(&mut packet, &mut self.window);
            }
        }
        Sifted {
            packet,
            copy_of,
            refused,
        }
    }

    /// Returns the bytes by which its tables may grow at once with `more` packets.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        let judge = self.judge.as_ref();
        judge.map_or(0, |judge| judge.lives.growth(more))
    }
}

impl Judge {
    /// Returns the packet that `packet` is a copy of.
    fn find_other(&mut self, packet: &Held, window: &mut Window) -> Option<Original> {
        let pair = packet.is_tcp().then(|| self.lives.pair(packet));
        let copies = self.copies.as_mut()?;
        copies.find(packet, pair, window)
    }

    /// Sets the life of a TCP packet; returns why its receiver refuses it.
    fn find_life(&mut self, packet: &mut Held, window: &mut Window) -> Option<Refusal> {
        let (life, refused) = self.lives.assign(packet, window);
        packet.owner.key.life = life;
        if packet.owner.kind == OwnerKind::Whole {
            packet.owner.hash = packet.owner.key.hash(&self.hashing);
            if refused.is_some() {
                packet.owner.kind = OwnerKind::Refused;
            }
        }
        refused
    }
}

pub(crate) use self::window::Order;
