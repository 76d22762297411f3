//! Finds every way to complete a square jigsaw puzzle from its first piece.
//!
//! A piece has an edge on each side: a colour and whether it bulges, as a number and its sign. Two edges fit if their
//! sum is 0. Pieces may be turned. Places are filled row by row; a laid piece is `4 * piece + quarter turns clockwise`.

pub mod abi;

/// The largest side: pieces and their turns are 16-bit numbers.
pub const MAX_SIDE: usize = 64;

/// What one call of [`Search::step`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pieces laid: the unit of work.
    pub nodes: u64,
    /// Complete puzzles reported.
    pub solutions: u64,
    /// Whether nothing is left below the first piece.
    pub done: bool,
}

/// The state of a search that can stop at any piece and go on later.
#[derive(Debug)]
pub struct Search {
    side: usize,
    /// North, east, south, west of every piece in each of its turns.
    edges: Vec<[i16; 4]>,
    /// Turned pieces by the edge on their north side, and on their west side.
    by_north: Vec<Vec<u16>>,
    by_west: Vec<Vec<u16>>,
    largest: i16,
    laid: Vec<u16>,
    used: Vec<bool>,
    /// The next candidate to try on each place.
    cursors: Vec<usize>,
    deepest: Vec<u16>,
    done: bool,
}

impl Search {
    /// Creates a search over `side * side` pieces; none if the side is impossible or the pieces too few.
    pub fn new(side: usize, pieces: &[[i16; 4]]) -> Option<Self> {
        if !(1..=MAX_SIDE).contains(&side) || pieces.len() != side * side {
            return None;
        }
        let edges: Vec<[i16; 4]> = pieces
            .iter()
            .flat_map(|[n, e, s, w]| {
                [
                    [*n, *e, *s, *w],
                    [*w, *n, *e, *s],
                    [*s, *w, *n, *e],
                    [*e, *s, *w, *n],
                ]
            })
            .collect();
        let largest = edges.iter().flatten().map(|e| e.saturating_abs()).max()?;
        let mut by_north = vec![Vec::new(); 2 * largest as usize + 1];
        let mut by_west = by_north.clone();
        for (turned, [north, _, _, west]) in edges.iter().enumerate() {
            by_north[(north.saturating_add(largest)) as usize].push(turned as u16);
            by_west[(west.saturating_add(largest)) as usize].push(turned as u16);
        }
        Some(Self {
            side,
            edges,
            by_north,
            by_west,
            largest,
            laid: Vec::with_capacity(pieces.len()),
            used: vec![false; pieces.len()],
            cursors: vec![0; pieces.len() + 1],
            deepest: Vec::new(),
            done: true,
        })
    }

    /// Lays the first piece; returns false if there is no such piece.
    pub fn start(&mut self, first: u16) -> bool {
        if usize::from(first) >= self.edges.len() {
            return false;
        }
        self.used.fill(false);
        self.laid.clear();
        self.deepest.clear();
        self.lay(first);
        self.done = false;
        true
    }

    /// Returns the longest row of pieces that was laid since the start.
    pub fn deepest(&self) -> &[u16] {
        &self.deepest
    }

    /// Goes on until `budget` pieces were laid or `most` solutions reported, or to the end.
    pub fn step<F: FnMut(&[u16])>(&mut self, budget: u64, most: u64, mut report: F) -> Progress {
        let mut progress = Progress::default();
        while !self.done && progress.nodes < budget && progress.solutions < most {
            let next = if self.laid.len() == self.used.len() {
                report(&self.laid);
                progress.solutions += 1;
                None
            } else {
                self.candidate()
            };
            if let Some(turned) = next {
                self.lay(turned);
                progress.nodes += 1;
            } else {
                self.take_back();
            }
        }
        progress.done = self.done;
        progress
    }

    /// Returns the next unused piece, turned so that it fits to the west and north of the next place.
    fn candidate(&mut self) -> Option<u16> {
        let place = self.laid.len();
        let west = (!place.is_multiple_of(self.side))
            .then(|| -self.edges[usize::from(self.laid[place - 1])][1]);
        let north =
            (place >= self.side).then(|| -self.edges[usize::from(self.laid[place - self.side])][2]);
        let list = match (west, north) {
            (Some(west), _) => &self.by_west[(west + self.largest) as usize],
            (None, Some(north)) => &self.by_north[(north + self.largest) as usize],
            (None, None) => return None,
        };
        while let Some(&turned) = list.get(self.cursors[place]) {
            self.cursors[place] += 1;
            let fits = north.is_none_or(|north| self.edges[usize::from(turned)][0] == north);
            if fits && !self.used[usize::from(turned / 4)] {
                return Some(turned);
            }
        }
        None
    }

    fn lay(&mut self, turned: u16) {
        self.laid.push(turned);
        self.used[usize::from(turned / 4)] = true;
        self.cursors[self.laid.len()] = 0;
        if self.laid.len() > self.deepest.len() {
            self.deepest.clone_from(&self.laid);
        }
    }

    fn take_back(&mut self) {
        if let Some(turned) = self.laid.pop() {
            self.used[usize::from(turned / 4)] = false;
        }
        // The first piece stays: another one is another task.
        self.done = self.laid.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two by two, with every inner edge of its own.
    const SMALL: [[i16; 4]; 4] = [[9, 1, 2, 9], [9, 9, 3, -1], [-2, 4, 9, 9], [-3, 9, 9, -4]];

    fn all(search: &mut Search, pieces: usize, budget: u64) -> (Vec<Vec<u16>>, u64) {
        let (mut found, mut nodes) = (Vec::new(), 0);
        for first in 0..4 * pieces as u16 {
            assert!(search.start(first));
            loop {
                let progress = search.step(budget, 1, |laid| found.push(laid.to_vec()));
                nodes += progress.nodes;
                if progress.done {
                    break;
                }
            }
        }
        (found, nodes)
    }

    #[test]
    fn the_only_way_is_found_from_each_of_its_corners() {
        let mut search = Search::new(2, &SMALL).unwrap();
        let (found, _) = all(&mut search, 4, 1000);
        assert_eq!(found.len(), 4);
        assert!(found.contains(&vec![0, 4, 8, 12]));
        // Turned once: the piece of the lower left comes to the upper left.
        assert!(found.contains(&vec![9, 1, 13, 5]));
    }

    #[test]
    fn stopping_often_changes_nothing() {
        let mut search = Search::new(2, &SMALL).unwrap();
        assert_eq!(all(&mut search, 4, 1), all(&mut search, 4, 1000));
    }

    #[test]
    fn equal_edges_fit_in_every_order() {
        // A bulge in the east and south, a hollow in the west and north: no turn helps.
        let pieces = [[-1, 1, 1, -1]; 4];
        let (found, _) = all(&mut Search::new(2, &pieces).unwrap(), 4, 1000);
        let unturned = found.iter().filter(|laid| laid.iter().all(|t| t % 4 == 0));
        assert_eq!(unturned.count(), 24);
    }

    #[test]
    fn impossible_puzzles_are_refused() {
        assert!(Search::new(0, &[]).is_none());
        assert!(Search::new(2, &SMALL[..3]).is_none());
        assert!(!Search::new(2, &SMALL).unwrap().start(16));
    }
}
