//! The careful reading of a capture: packets are put into the order of their times, copies of other packets are found,
//! and each TCP segment is given to the connection whose receiver would accept it.
//!
//! Most captures need none of that, and are read the quick way, which only notices that something is odd
//! ([`crate::common::suspicion`]). Then the capture is read again, through here. A packet waits in a window of bounded
//! time and length before it is judged, so that what follows it can settle a doubt.

mod asks;
mod beside;
mod case;
mod contents;
mod copies;
pub(crate) mod held;
mod life;
mod lives;
mod pair;
mod parts;
mod seen;
mod window;

use std::collections::VecDeque;

use foldhash::fast::RandomState;

use self::copies::Copies;
use self::held::{Held, Refusal};
use self::lives::Lives;
use self::window::Window;
use crate::decode::TCP;
use crate::decode::segment::OwnerKind;

/// How packets are sifted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiftOptions {
    /// How long before a packet that stands behind it in the file another may lie, in ns; 0: the order of the file stands.
    pub window_ns: i64,
    /// Packets that may wait for earlier ones.
    pub window_packets: usize,
    /// Copies of other packets count as packets.
    pub keep_duplicates: bool,
}

/// A packet, and what was decided about it.
pub(crate) struct Sifted {
    pub packet: Held,
    /// Number of the packet that it is a copy of.
    pub copy_of: Option<u64>,
    /// Why its receiver would not accept it.
    pub refused: Option<Refusal>,
}

/// Packets that wait, and what is known of those before them.
pub(crate) struct Sifter {
    window: Window,
    copies: Option<Copies>,
    lives: Lives,
    hashing: RandomState,
    /// Packets taken.
    number: u64,
    judged: VecDeque<Sifted>,
}

impl Sifter {
    /// `hashing` makes the hashes of keys.
    pub(crate) fn new(options: SiftOptions, hashing: &RandomState) -> Self {
        Self {
            window: Window::new(options.window_ns, options.window_packets),
            copies: (!options.keep_duplicates).then(|| Copies::new(hashing)),
            lives: Lives::new(hashing),
            hashing: hashing.clone(),
            number: 0,
            judged: VecDeque::new(),
        }
    }

    /// Takes the next packet of the files; how it comes.
    pub(crate) fn take(&mut self, mut packet: Held) -> Order {
        self.number += 1;
        packet.number = self.number;
        let order = self.window.order(&packet);
        self.window.push(packet);
        while let Some(packet) = self.window.pop(false) {
            let sifted = self.judge(packet);
            self.judged.push_back(sifted);
        }
        order
    }

    /// The next packet in the order of time, if no earlier one can come. `ended`: none will come at all.
    pub(crate) fn next(&mut self, ended: bool) -> Option<Sifted> {
        if let Some(sifted) = self.judged.pop_front() {
            return Some(sifted);
        }
        let packet = self.window.pop(ended)?;
        Some(self.judge(packet))
    }

    fn judge(&mut self, mut packet: Held) -> Sifted {
        let (mut copy_of, mut refused) = (None, None);
        if packet.owner.kind != OwnerKind::None {
            let tcp = packet.owner.key.protocol == TCP;
            let follows = tcp && packet.segment.tcp();
            let pair = follows.then(|| self.lives.pair(&packet));
            let copies = self.copies.as_mut();
            copy_of = copies.and_then(|copies| copies.find(&packet, pair, &mut self.window));
            if copy_of.is_some() {
                packet.owner.kind = OwnerKind::None;
            } else if tcp {
                refused = self.find_life(&mut packet);
            }
        }
        Sifted {
            packet,
            copy_of,
            refused,
        }
    }

    /// Sets the life of a TCP packet; why it is refused there.
    fn find_life(&mut self, packet: &mut Held) -> Option<Refusal> {
        let (life, refused) = self.lives.assign(packet, &mut self.window);
        packet.owner.key.life = life;
        if packet.owner.kind == OwnerKind::Whole {
            packet.owner.hash = packet.owner.key.hash(&self.hashing);
            if refused.is_some() {
                packet.owner.kind = OwnerKind::Refused;
            }
        }
        refused
    }

    /// Bytes that its tables may grow by at once with so many more packets.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        self.lives.growth(more)
    }
}

pub(crate) use self::window::Order;
