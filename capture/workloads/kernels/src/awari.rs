//! Awari: boards, moves and their numbers.
//!
//! A board is seen by the player to move: pits 0 to 5 are that player's, 6 to 11 the opponent's. Stones are sown one by
//! one into the following pits, never into the one they come from. If the last falls into an opponent's pit that then
//! has 2 or 3, these are captured, and so backwards without a gap. A player who can must leave the opponent a stone to
//! move with.

pub mod abi;
pub mod database;
mod job;
pub mod reference;

/// Pits of both players.
pub const PITS: usize = 12;
/// Stones on the largest board that is numbered: its numbers fit into `u32`.
pub const MAX_STONES: usize = 20;

const HALF: usize = PITS / 2;

/// Stones in each pit.
pub type Board = [u8; PITS];

/// What a move leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The board as the opponent sees it.
    pub board: Board,
    /// Stones captured.
    pub captured: u8,
}

/// What a player can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moves {
    /// The game is over: the mover's stones minus the opponent's.
    Over(i8),
    /// At least one move.
    Some(Vec<Outcome>),
}

const fn binomials() -> [[u32; PITS]; MAX_STONES + PITS] {
    let mut table = [[0_u32; PITS]; MAX_STONES + PITS];
    let mut n = 0;
    while n < MAX_STONES + PITS {
        table[n][0] = 1;
        let mut k = 1;
        while k < PITS && n > 0 {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
}

/// `BINOMIALS[n][k]`: n over k.
const BINOMIALS: [[u32; PITS]; MAX_STONES + PITS] = binomials();

/// Returns the number of boards with this many stones.
pub fn boards(stones: usize) -> u32 {
    BINOMIALS[stones + PITS - 1][PITS - 1]
}

/// Returns the number of a board among those with as many stones.
pub fn number(board: &Board) -> u32 {
    let mut stones = 0;
    (0..PITS - 1)
        .map(|pit| {
            stones += usize::from(board[pit]);
            BINOMIALS[stones + pit][pit + 1]
        })
        .sum()
}

/// Returns the board of a number.
pub fn board(mut number: u32, stones: usize) -> Board {
    let mut board = [0; PITS];
    let mut above = stones + PITS - 1;
    for pit in (0..PITS - 1).rev() {
        let mut bar = above - 1;
        while BINOMIALS[bar][pit + 1] > number {
            bar -= 1;
        }
        number -= BINOMIALS[bar][pit + 1];
        board[pit + 1] = (above - bar - 1) as u8;
        above = bar;
    }
    board[0] = above as u8;
    board
}

fn turned(board: &Board) -> Board {
    let mut other = *board;
    other.rotate_left(HALF);
    other
}

/// Returns the move from a pit, if it is legal.
pub fn play(board: &Board, pit: usize) -> Option<Outcome> {
    let stones = board[pit];
    if stones == 0 {
        return None;
    }
    let must_feed = board[HALF..].iter().all(|&stones| stones == 0);
    if must_feed && pit + usize::from(stones) < HALF {
        return None;
    }
    let mut after = *board;
    after[pit] = 0;
    let mut at = pit;
    for _ in 0..stones {
        at = (at + 1) % PITS;
        if at == pit {
            at = (at + 1) % PITS;
        }
        after[at] += 1;
    }
    let mut captured = 0;
    while at >= HALF && matches!(after[at], 2 | 3) {
        captured += after[at];
        after[at] = 0;
        at -= 1;
    }
    Some(Outcome {
        board: turned(&after),
        captured,
    })
}

/// Returns all moves, or how the game has ended.
pub fn moves(board: &Board) -> Moves {
    let found: Vec<Outcome> = (0..HALF).filter_map(|pit| play(board, pit)).collect();
    if !found.is_empty() {
        return Moves::Some(found);
    }
    // Stones belong to the player on whose side they are.
    let own: i8 = board[..HALF].iter().map(|&stones| stones as i8).sum();
    let other: i8 = board[HALF..].iter().map(|&stones| stones as i8).sum();
    Moves::Over(own - other)
}

/// Calls `found` with every board from which a move without capture leads to this one.
pub fn predecessors(board: &Board, mut found: impl FnMut(&Board)) {
    let after = turned(board);
    for pit in (0..HALF).filter(|&pit| after[pit] == 0) {
        let mut before = after;
        let mut at = pit;
        for stones in 1.. {
            at = (at + 1) % PITS;
            if at == pit {
                at = (at + 1) % PITS;
            }
            if before[at] == 0 {
                break;
            }
            before[at] -= 1;
            before[pit] = stones;
            let outcome = play(&before, pit);
            if outcome.is_some_and(|o| o.captured == 0 && o.board == *board) {
                found(&before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_boards_match() {
        for stones in 0..6 {
            for index in 0..boards(stones) {
                let found = board(index, stones);
                assert_eq!(found.iter().map(|&s| usize::from(s)).sum::<usize>(), stones);
                assert_eq!(number(&found), index);
            }
        }
        assert_eq!(boards(0), 1);
        assert_eq!(boards(9), 167_960);
    }

    #[test]
    fn captures_run_backwards_without_a_gap() {
        let before = [0, 0, 0, 0, 0, 3, 1, 2, 1, 0, 0, 5];
        let outcome = play(&before, 5).unwrap();
        assert_eq!(outcome.captured, 2 + 3 + 2);
        assert_eq!(outcome.board, [0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_lap_leaves_out_the_pit_it_began_in() {
        let mut before = [0; PITS];
        before[2] = 12;
        let outcome = play(&before, 2).unwrap();
        let mut after = [1; PITS];
        (after[2], after[3]) = (0, 2);
        assert_eq!(outcome.board, turned(&after));
    }

    #[test]
    fn a_player_must_feed_or_the_game_is_over() {
        let mut alone = [0; PITS];
        (alone[0], alone[5]) = (1, 1);
        assert_eq!(play(&alone, 0), None);
        assert!(play(&alone, 5).is_some());
        alone[5] = 0;
        assert_eq!(moves(&alone), Moves::Over(1));
        assert_eq!(moves(&turned(&alone)), Moves::Over(-1));
    }

    #[test]
    fn predecessors_are_the_moves_backwards() {
        let stones = 5;
        let mut forward = Vec::new();
        let mut backward = Vec::new();
        for index in 0..boards(stones) {
            let here = board(index, stones);
            if let Moves::Some(all) = moves(&here) {
                let quiet = all.iter().filter(|outcome| outcome.captured == 0);
                forward.extend(quiet.map(|outcome| (index, number(&outcome.board))));
            }
            predecessors(&here, |before| backward.push((number(before), index)));
        }
        forward.sort_unstable();
        backward.sort_unstable();
        assert_eq!(forward, backward);
    }
}
