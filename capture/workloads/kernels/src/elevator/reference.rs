//! The same answers in another way, by one thread: breadth first, then repeated removal of states
//! without a predecessor.

use std::collections::{HashMap, VecDeque};

use super::Elevator;

/// The correct result of the whole search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// States that can be reached.
    pub states: u64,
    /// Steps between them.
    pub edges: u64,
    /// Accepting states among them.
    pub accepting: u64,
    /// Whether an accepting state can be visited for ever: the property is violated.
    pub cycle: bool,
}

/// Searches everything.
pub fn solve(model: &Elevator) -> Answer {
    // The predecessors of each accepting state that are accepting: only accepting states follow those.
    let mut inbound: HashMap<u64, u32> = HashMap::new();
    let mut seen = std::collections::HashSet::from([model.initial()]);
    let mut queue = VecDeque::from([model.initial()]);
    let mut edges = 0;
    while let Some(state) = queue.pop_front() {
        model.successors(state, |next| {
            edges += 1;
            if seen.insert(next) {
                queue.push_back(next);
                if Elevator::is_accepting(next) {
                    inbound.entry(next).or_default();
                }
            }
            if Elevator::is_accepting(state) {
                *inbound.entry(next).or_default() += 1;
            }
        });
    }
    let accepting = inbound.len() as u64;
    let mut free: Vec<u64> = inbound
        .iter()
        .filter(|&(_, &count)| count == 0)
        .map(|(&state, _)| state)
        .collect();
    let mut removed = 0;
    while let Some(state) = free.pop() {
        removed += 1;
        model.successors(state, |next| {
            let count = inbound.get_mut(&next).expect("a successor was counted");
            *count -= 1;
            if *count == 0 {
                free.push(next);
            }
        });
    }
    Answer {
        states: seen.len() as u64,
        edges,
        accepting,
        cycle: removed < accepting,
    }
}
