//! Finds every way to complete a partly filled chess board with queens that do not attack each other.
//!
//! Rows are filled from the first to the last. A board is the column of the queen in each row.

/// The largest board: columns are bits of a `u32`.
pub const MAX_BOARD: usize = 31;

/// What was found below one sub-board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Complete boards.
    pub solutions: u64,
    /// Queens placed while searching, without those of the given rows: the unit of work.
    pub nodes: u64,
}

/// Why a sub-board cannot be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBoard {
    /// Zero rows, or more than a `u32` has bits.
    #[error("board {0}: expected 1 to {MAX_BOARD}")]
    Size(usize),
    /// More rows than the board has are given, or a column outside of it.
    #[error("row {0} is outside of the board")]
    Row(usize),
}

/// The state of the search: attacked columns and diagonals as seen from the current row.
struct Search<'a, F: FnMut(&[u8])> {
    full: u32,
    columns: [u8; MAX_BOARD],
    board: usize,
    nodes: u64,
    solutions: u64,
    report: &'a mut F,
}

impl<F: FnMut(&[u8])> Search<'_, F> {
    fn descend(&mut self, row: usize, taken: u32, left: u32, right: u32) {
        if row == self.board {
            self.solutions += 1;
            (self.report)(&self.columns[..self.board]);
            return;
        }
        let mut free = self.full & !(taken | left | right);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            self.nodes += 1;
            self.columns[row] = queen.trailing_zeros() as u8;
            self.descend(
                row + 1,
                taken | queen,
                (left | queen) << 1,
                (right | queen) >> 1,
            );
        }
    }
}

/// Searches all completions of `prefix`, the columns of the first rows, and reports each.
///
/// A prefix whose queens attack each other has none.
pub fn solve<F: FnMut(&[u8])>(
    board: usize,
    prefix: &[u8],
    mut report: F,
) -> Result<Found, BadBoard> {
    if !(1..=MAX_BOARD).contains(&board) {
        return Err(BadBoard::Size(board));
    }
    let full = u32::MAX >> (u32::BITS as usize - board);
    let mut search = Search {
        full,
        columns: [0; MAX_BOARD],
        board,
        nodes: 0,
        solutions: 0,
        report: &mut report,
    };
    let (mut taken, mut left, mut right) = (0, 0, 0);
    for (row, &column) in prefix.iter().enumerate() {
        if row >= board || usize::from(column) >= board {
            return Err(BadBoard::Row(row));
        }
        let queen = 1 << column;
        if (taken | left | right) & queen != 0 {
            return Ok(Found::default());
        }
        search.columns[row] = column;
        taken |= queen;
        left = (left | queen) << 1;
        right = (right | queen) >> 1;
    }
    search.descend(prefix.len(), taken, left, right);
    Ok(Found {
        solutions: search.solutions,
        nodes: search.nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_boards_have_the_known_numbers_of_solutions() {
        for (board, expected) in [1, 0, 0, 2, 10, 4, 40, 92, 352, 724]
            .into_iter()
            .enumerate()
        {
            let found = solve(board + 1, &[], |_| {}).unwrap();
            assert_eq!(found.solutions, expected, "board {}", board + 1);
        }
    }

    #[test]
    fn sub_boards_add_up_to_the_whole() {
        let mut sum = Found::default();
        for first in 0..8 {
            for second in 0..8 {
                let part = solve(8, &[first, second], |_| {}).unwrap();
                sum.solutions += part.solutions;
                sum.nodes += part.nodes;
            }
        }
        let whole = solve(8, &[], |_| {}).unwrap();
        assert_eq!(sum.solutions, whole.solutions);
        // The rows that a sub-board gives are not counted again: 8 + 42 queens.
        assert_eq!(sum.nodes + 50, whole.nodes);
    }

    #[test]
    fn reported_boards_attack_nowhere_and_differ() {
        let mut seen = std::collections::HashSet::new();
        solve(7, &[], |columns| {
            for a in 0..7 {
                for b in a + 1..7 {
                    assert_ne!(columns[a], columns[b]);
                    assert_ne!(columns[a].abs_diff(columns[b]) as usize, b - a);
                }
            }
            assert!(seen.insert(columns.to_vec()));
        })
        .unwrap();
        assert_eq!(seen.len(), 40);
    }

    #[test]
    fn attacking_and_impossible_rows_differ() {
        assert_eq!(solve(8, &[0, 1], |_| {}), Ok(Found::default()));
        assert_eq!(solve(8, &[8], |_| {}), Err(BadBoard::Row(0)));
        assert_eq!(solve(0, &[], |_| {}), Err(BadBoard::Size(0)));
        assert_eq!(solve(32, &[], |_| {}), Err(BadBoard::Size(32)));
        assert_eq!(solve(1, &[0, 0], |_| {}), Err(BadBoard::Row(1)));
    }
}
