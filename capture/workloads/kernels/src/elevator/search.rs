//! Maximal accepting predecessors (Brim, Černá, Moravec, Šimša 2004), one rank's part.
//!
//! Every state keeps the greatest accepting state from which it can be reached. A state that is its own lies on a
//! cycle. An accepting state whose value is below itself does not: it stops being accepting, and the rest is searched
//! again, until nothing is left.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Elevator, mix};
use crate::outbox::Outbox;

/// A state and the value that reaches it: what ranks send each other.
pub const ENTRY_BYTES: usize = 16;

/// Hashes states, which `mix` scrambles well enough.
#[derive(Default)]
pub struct Scramble(u64);

impl Hasher for Scramble {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("states are numbers");
    }
    fn write_u64(&mut self, state: u64) {
        // The table uses the lowest and the highest bits.
        self.0 = mix(state).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

struct Vertex {
    state: u64,
    /// Greatest accepting predecessor; 0 if there is none.
    value: u64,
    accepting: bool,
    queued: bool,
    expanded: bool,
}

/// The states of one rank.
pub struct Search {
    model: Elevator,
    rank: usize,
    ranks: usize,
    index: HashMap<u64, u32, BuildHasherDefault<Scramble>>,
    vertices: Vec<Vertex>,
    queue: Vec<u32>,
    next: usize,
    found: Vec<(u64, u64)>,
    /// Entries for the other ranks.
    pub outbox: Outbox,
    /// Steps from the states of this rank.
    pub edges: u64,
    /// A state is its own greatest accepting predecessor.
    pub cycle: bool,
}

impl Search {
    /// Creates an empty share; the rank that owns the initial state has it queued.
    pub fn new(model: Elevator, rank: usize, ranks: usize) -> Option<Self> {
        if !model.is_possible() || rank >= ranks {
            return None;
        }
        let mut search = Self {
            model,
            rank,
            ranks,
            index: HashMap::default(),
            vertices: Vec::new(),
            queue: Vec::new(),
            next: 0,
            found: Vec::new(),
            outbox: Outbox::new(ranks, ENTRY_BYTES),
            edges: 0,
            cycle: false,
        };
        let initial = model.initial();
        if search.owner(initial) == rank {
            search.reach(initial, 0);
        }
        Some(search)
    }

    /// Returns the rank of a state, by a hash.
    pub fn owner(&self, state: u64) -> usize {
        ((mix(state) >> 16) % self.ranks as u64) as usize
    }

    /// Returns the number of states of this rank.
    pub fn states(&self) -> usize {
        self.vertices.len()
    }

    /// Returns the number of states that are accepting and not yet known to lie on no cycle.
    pub fn accepting(&self) -> usize {
        self.vertices.iter().filter(|v| v.accepting).count()
    }

    /// Returns whether there is no state to work on.
    pub fn is_idle(&self) -> bool {
        self.next == self.queue.len()
    }

    fn reach(&mut self, state: u64, value: u64) {
        let accepting = Elevator::is_accepting(state);
        let fresh = self.vertices.len() as u32;
        let at = *self.index.entry(state).or_insert(fresh);
        if at == fresh {
            self.vertices.push(Vertex {
                state,
                value,
                accepting,
                queued: true,
                expanded: false,
            });
            self.queue.push(at);
        } else {
            let vertex = &mut self.vertices[at as usize];
            if value <= vertex.value {
                return;
            }
            vertex.value = value;
            if !vertex.queued {
                vertex.queued = true;
                self.queue.push(at);
            }
        }
        let vertex = &self.vertices[at as usize];
        if vertex.accepting && value == self.model.order(state) {
            self.cycle = true;
        }
    }

    /// Takes in entries from another rank; returns how many, or none if the bytes are no entries.
    pub fn absorb(&mut self, bytes: &[u8]) -> Option<usize> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        for entry in entries {
            let number = u128::from_le_bytes(*entry);
            self.reach(number as u64, (number >> 64) as u64);
        }
        rest.is_empty().then_some(entries.len())
    }

    /// Works on up to `limit` states; returns how many there were.
    pub fn work(&mut self, limit: usize) -> usize {
        let mut done = 0;
        let mut found = std::mem::take(&mut self.found);
        while done < limit && !self.is_idle() {
            let vertex = &mut self.vertices[self.queue[self.next] as usize];
            self.next += 1;
            done += 1;
            vertex.queued = false;
            let own = if vertex.accepting {
                self.model.order(vertex.state)
            } else {
                0
            };
            let value = vertex.value.max(own);
            let first = !std::mem::replace(&mut vertex.expanded, true);
            self.model
                .successors(vertex.state, |next| found.push((next, value)));
            if first {
                self.edges += found.len() as u64;
            }
            for (state, value) in found.drain(..) {
                let owner = self.owner(state);
                if owner == self.rank {
                    self.reach(state, value);
                } else {
                    let entry = u128::from(value) << 64 | u128::from(state);
                    self.outbox.push(owner, &entry.to_le_bytes());
                }
            }
        }
        self.found = found;
        if self.is_idle() {
            self.queue.clear();
            self.next = 0;
        }
        done
    }

    /// Ends a phase: accepting states that lie on no cycle stop being accepting, the rest is queued again. Returns how
    /// many are left; call it when no rank works any more.
    pub fn shrink(&mut self) -> usize {
        let mut left = 0;
        for (at, vertex) in self.vertices.iter_mut().enumerate() {
            if vertex.accepting && vertex.value < self.model.order(vertex.state) {
                vertex.accepting = false;
            }
            vertex.value = 0;
            if vertex.accepting {
                left += 1;
                vertex.queued = true;
                self.queue.push(at as u32);
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::{Answer, solve};
    use super::*;

    /// Runs all ranks in one thread, with messages delivered at once; returns the answer and the number of phases.
    fn search(model: Elevator, ranks: usize) -> (Answer, usize) {
        let mut parts: Vec<Search> = (0..ranks)
            .map(|rank| Search::new(model, rank, ranks).unwrap())
            .collect();
        let mut accepting = None;
        let mut phases = 0;
        loop {
            phases += 1;
            let mut message = [0; 512 * ENTRY_BYTES];
            let mut moved = true;
            while moved {
                moved = false;
                for from in 0..ranks {
                    moved |= parts[from].work(100) > 0;
                    for to in 0..ranks {
                        let bytes = parts[from].outbox.take(to, &mut message);
                        assert!(parts[to].absorb(&message[..bytes]).is_some());
                        moved |= bytes > 0;
                    }
                }
            }
            accepting.get_or_insert_with(|| parts.iter().map(Search::accepting).sum::<usize>());
            let cycle = parts.iter().any(|part| part.cycle);
            let left: usize = parts.iter_mut().map(Search::shrink).sum();
            if cycle || left == 0 {
                let answer = Answer {
                    states: parts.iter().map(|part| part.states() as u64).sum(),
                    edges: parts.iter().map(|part| part.edges).sum(),
                    accepting: accepting.unwrap() as u64,
                    cycle,
                };
                return (answer, phases);
            }
        }
    }

    #[test]
    fn any_number_of_ranks_finds_what_one_thread_finds() {
        for (floors, persons, clever) in [(2, 1, true), (4, 2, true), (4, 2, false), (6, 2, true)] {
            let model = Elevator {
                floors,
                persons,
                clever,
            };
            let expected = solve(&model);
            // A controller that may pass by lets a person wait for ever.
            assert_eq!(expected.cycle, !clever);
            for ranks in [1, 3] {
                assert_eq!(search(model, ranks).0, expected, "{model:?} on {ranks}");
            }
        }
    }

    #[test]
    fn phases_do_not_depend_on_the_number_of_ranks() {
        let model = Elevator {
            floors: 5,
            persons: 2,
            clever: true,
        };
        let phases = search(model, 1).1;
        assert!(phases >= 2, "{phases}");
        assert_eq!(search(model, 4).1, phases);
    }

    #[test]
    fn impossible_shares_are_refused() {
        let model = Elevator {
            floors: 1,
            persons: 1,
            clever: true,
        };
        assert!(Search::new(model, 0, 1).is_none());
        let model = Elevator { floors: 3, ..model };
        assert!(Search::new(model, 2, 2).is_none());
        assert_eq!(Search::new(model, 0, 1).unwrap().absorb(&[0; 17]), None);
    }
}
