//! The same databases by one thread in another way: forward moves only, repeated until nothing
//! changes any more.

use super::{Moves, board, boards, moves, number};

/// Returns the values of all boards with 0 to `stones` stones.
pub fn solve(stones: usize) -> Vec<Vec<i8>> {
    let mut databases: Vec<Vec<i8>> = Vec::new();
    for n in 0..=stones {
        let values = solve_one(n, &databases);
        databases.push(values);
    }
    databases
}

struct Position {
    best: Option<i8>,
    quiet: Vec<u32>,
}

fn solve_one(stones: usize, smaller: &[Vec<i8>]) -> Vec<i8> {
    let positions: Vec<Position> = (0..boards(stones))
        .map(|index| look(index, stones, smaller))
        .collect();
    let mut values = vec![0; positions.len()];
    for bound in 1..=stones as i8 {
        // 1: the player to move gets the bound; -1: the opponent does; 0: neither is shown.
        let mut shown = vec![0_i8; positions.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (index, position) in positions.iter().enumerate() {
                if shown[index] != 0 {
                    continue;
                }
                let next = |wanted: i8| {
                    let mut quiet = position.quiet.iter();
                    if wanted == -1 {
                        quiet.any(|&to| shown[to as usize] == -1)
                    } else {
                        quiet.all(|&to| shown[to as usize] == 1)
                    }
                };
                let verdict = if position.best.is_some_and(|best| best >= bound) || next(-1) {
                    1
                } else if position.best.is_none_or(|best| best <= -bound) && next(1) {
                    -1
                } else {
                    continue;
                };
                shown[index] = verdict;
                changed = true;
            }
        }
        for (value, verdict) in values.iter_mut().zip(&shown) {
            if *verdict != 0 {
                *value = bound * verdict;
            }
        }
    }
    values
}

fn look(index: u32, stones: usize, smaller: &[Vec<i8>]) -> Position {
    let outcomes = match moves(&board(index, stones)) {
        Moves::Over(value) => {
            return Position {
                best: Some(value),
                quiet: Vec::new(),
            };
        }
        Moves::Some(outcomes) => outcomes,
    };
    let captures = outcomes.iter().filter(|outcome| outcome.captured > 0);
    let best = captures
        .map(|outcome| {
            let left = &smaller[stones - usize::from(outcome.captured)];
            outcome.captured as i8 - left[number(&outcome.board) as usize]
        })
        .max();
    let quiet = outcomes.iter().filter(|outcome| outcome.captured == 0);
    Position {
        best,
        quiet: quiet.map(|outcome| number(&outcome.board)).collect(),
    }
}
