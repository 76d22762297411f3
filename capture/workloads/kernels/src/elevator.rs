//! The elevator model and one rank's share of the search for accepting cycles in it.
//!
//! Floors, persons and a cab, as in BEEM's `elevator`: a person waits on a floor, enters, rides to
//! a floor of choice, leaves and may call again. The property is `G (waiting -> F riding)` for the
//! first person; its negation, as a Büchi automaton of two states, is part of every state.

pub mod abi;
pub mod reference;
pub mod search;

/// A person takes 6 bits of a state, 4 of them for the floor.
pub const MAX_FLOORS: u8 = 16;
/// See [`MAX_FLOORS`].
pub const MAX_PERSONS: u8 = 6;

const STATE_BITS: u32 = 48;
const MASK: u64 = (1 << STATE_BITS) - 1;
const CAB: u32 = 36;
const UP: u64 = 1 << 40;
const OPEN: u64 = 1 << 41;
/// The automaton's accepting state: the first person waits and will never ride.
const ACCEPTING: u64 = 1 << 42;

const IDLE: u64 = 0;
const WAITING: u64 = 1;
const RIDING: u64 = 2;

/// A building and the controller of its cab.
#[derive(Clone, Copy, Debug)]
pub struct Elevator {
    /// 2 to [`MAX_FLOORS`].
    pub floors: u8,
    /// 1 to [`MAX_PERSONS`].
    pub persons: u8,
    /// Serve the next request in the direction of travel; else any request, in any order.
    pub clever: bool,
}

/// Scrambles a state into a number of the same 48 bits, different for different states.
pub fn mix(state: u64) -> u64 {
    let x = (state ^ (state >> 24)).wrapping_mul(0x9E37_79B9_7F4A_7C15) & MASK;
    let x = (x ^ (x >> 24)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F) & MASK;
    x ^ (x >> 24)
}

impl Elevator {
    /// Returns whether states can be encoded.
    pub fn is_possible(&self) -> bool {
        (2..=MAX_FLOORS).contains(&self.floors) && (1..=MAX_PERSONS).contains(&self.persons)
    }

    /// Returns the initial state: everybody idle, spread over the floors; the cab below, doors closed.
    pub fn initial(&self) -> u64 {
        (0..self.persons).fold(UP, |state, person| {
            with_person(state, person, IDLE, u64::from(person % self.floors))
        })
    }

    /// Returns whether infinitely many visits of this state violate the property.
    pub fn is_accepting(state: u64) -> bool {
        state & ACCEPTING != 0
    }

    /// Returns the place of an accepting state in the order that the search uses; never 0.
    ///
    /// The nearer the cab is on its tour to the first person, the later the place, so that few rounds are needed.
    pub fn order(&self, state: u64) -> u64 {
        let (cab, floor) = (cab(state), person(state, 0).1);
        let top = u64::from(self.floors) - 1;
        let left = match (state & UP != 0, floor >= cab) {
            (true, true) => floor - cab,
            (true, false) => (top - cab) + (top - floor),
            (false, true) => cab + floor,
            (false, false) => cab - floor,
        };
        ((2 * top + 1 - left) << STATE_BITS) | mix(state)
    }

    /// Calls `found` with every successor in the product with the automaton.
    pub fn successors(&self, state: u64, mut found: impl FnMut(u64)) {
        let accepting = Self::is_accepting(state);
        self.moves(state & !ACCEPTING, |next| {
            let waits = person(next, 0).0 == WAITING;
            if !accepting {
                found(next);
            }
            if waits {
                found(next | ACCEPTING);
            }
        });
    }

    fn moves(self, state: u64, mut found: impl FnMut(u64)) {
        let (cab, open) = (cab(state), state & OPEN != 0);
        let mut requests = 0_u32;
        for index in 0..self.persons {
            let (kind, floor) = person(state, index);
            if kind != IDLE {
                requests |= 1 << floor;
            }
            let here = open && floor == cab;
            match kind {
                IDLE => found(with_person(state, index, WAITING, floor)),
                WAITING if here => {
                    for target in (0..u64::from(self.floors)).filter(|&target| target != floor) {
                        found(with_person(state, index, RIDING, target));
                    }
                }
                RIDING if here => found(with_person(state, index, IDLE, floor)),
                _ => {}
            }
        }
        let wanted_here = requests & (1 << cab) != 0;
        if open {
            if !wanted_here {
                found(state & !OPEN);
            }
            return;
        }
        if wanted_here {
            found(state | OPEN);
            if self.clever {
                return;
            }
        }
        let above = requests >> cab > 1;
        let below = requests & ((1 << cab) - 1) != 0;
        let up = above && (!self.clever || !below || state & UP != 0);
        let down = below && (!self.clever || !above || state & UP == 0);
        if up {
            found(with_cab(state, cab + 1) | UP);
        }
        if down {
            found(with_cab(state, cab - 1) & !UP);
        }
    }
}

fn person(state: u64, index: u8) -> (u64, u64) {
    let bits = state >> (6 * u32::from(index));
    (bits >> 4 & 3, bits & 15)
}

fn with_person(state: u64, index: u8, kind: u64, floor: u64) -> u64 {
    let shift = 6 * u32::from(index);
    state & !(63 << shift) | (kind << 4 | floor) << shift
}

fn cab(state: u64) -> u64 {
    state >> CAB & 15
}

fn with_cab(state: u64, floor: u64) -> u64 {
    state & !(15 << CAB) | floor << CAB
}
