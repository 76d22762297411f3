//! Computes the values of one plane of a grid in a sweep of SSOR, point after point.
//!
//! A plane has rows of points, a point [`PARTS`] values, and two layers of ghost points surround it. Each point waits
//! for the one before it in its row, the one in the row before, and the one in the plane before: ranks that share a
//! plane work one after the other.

pub mod abi;

/// Values of a point.
pub const PARTS: usize = 5;
/// Layers of ghost points around a plane.
pub const GHOSTS: usize = 2;

/// The matrix as a sweep needs it: its block at each point, and the weight of each neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Coefficient of the identity matrix in the block.
    pub diagonal: f64,
    /// Coefficient of the matrix of ones in the block.
    pub coupling: f64,
    /// Coefficient of each neighbour that came before.
    pub neighbour: f64,
}

impl Block {
    /// Returns the block's inverse times a point.
    pub fn solve(self, point: [f64; PARTS]) -> [f64; PARTS] {
        let sum: f64 = point.iter().sum();
        let share = self.coupling * sum / (self.diagonal + PARTS as f64 * self.coupling);
        point.map(|value| (value - share) / self.diagonal)
    }
}

/// The direction of a sweep, by the corner that it starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// From the first point; before it, a plane contains residuals.
    Lower,
    /// From the last point; before it, a plane contains the result of the lower sweep.
    Upper,
}

/// Sweeps a plane of `width` points a row in place, ghosts included; `before` is the plane before.
pub fn sweep(plane: &mut [f64], before: &[f64], width: usize, block: Block, way: Sweep) {
    let row = width * PARTS;
    let height = plane.len() / row;
    for line in GHOSTS..height - GHOSTS {
        for column in GHOSTS..width - GHOSTS {
            let (y, x) = match way {
                Sweep::Lower => (line, column),
                Sweep::Upper => (height - 1 - line, width - 1 - column),
            };
            let here = y * row + x * PARTS;
            let (beside, above) = match way {
                Sweep::Lower => (here - PARTS, here - row),
                Sweep::Upper => (here + PARTS, here + row),
            };
            let near: [f64; PARTS] = std::array::from_fn(|part| {
                block.neighbour * (plane[beside + part] + plane[above + part] + before[here + part])
            });
            let point: [f64; PARTS] = std::array::from_fn(|part| plane[here + part]);
            let swept = match way {
                Sweep::Lower => block.solve(std::array::from_fn(|part| point[part] + near[part])),
                Sweep::Upper => {
                    let more = block.solve(near);
                    std::array::from_fn(|part| point[part] + more[part])
                }
            };
            plane[here..here + PARTS].copy_from_slice(&swept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Block = Block {
        diagonal: 7.0,
        coupling: 0.1,
        neighbour: 1.2,
    };

    #[test]
    fn the_inverse_of_a_block_undoes_it() {
        let point = [1.0, -2.0, 3.0, 0.5, 4.0];
        let sum: f64 = point.iter().sum();
        let times = point.map(|value| BLOCK.diagonal * value + BLOCK.coupling * sum);
        for (again, value) in BLOCK.solve(times).iter().zip(point) {
            assert!((again - value).abs() < 1e-12);
        }
    }

    /// Returns a plane of 3 by 4 points with ghosts, of numbers that differ everywhere.
    fn plane(first: f64) -> Vec<f64> {
        (0..7 * 8 * PARTS)
            .map(|index| (first + index as f64).sin())
            .collect()
    }

    #[test]
    fn both_sweeps_solve_their_triangle() {
        let (width, row) = (8, 8 * PARTS);
        for (way, sign) in [(Sweep::Lower, -1), (Sweep::Upper, 1)] {
            let (before, start) = (plane(1.0), plane(0.0));
            let mut swept = start.clone();
            sweep(&mut swept, &before, width, BLOCK, way);
            for y in GHOSTS..7 - GHOSTS {
                for x in GHOSTS..width - GHOSTS {
                    let here = y * row + x * PARTS;
                    let at = |place: usize, step: isize, part: usize| {
                        swept[place.checked_add_signed(step).unwrap() + part]
                    };
                    // D w is what was there, and what the neighbours that came before add
                    let added: Vec<f64> = (0..PARTS)
                        .map(|part| {
                            let beside = at(here, sign * PARTS as isize, part);
                            let above = at(here, sign * row as isize, part);
                            BLOCK.neighbour * (beside + above + before[here + part])
                        })
                        .collect();
                    let point = &swept[here..here + PARTS];
                    let sum: f64 = point.iter().sum();
                    let old = &start[here..here + PARTS];
                    let old_sum: f64 = old.iter().sum();
                    for part in 0..PARTS {
                        let left = BLOCK.diagonal * point[part] + BLOCK.coupling * sum;
                        let right = match way {
                            Sweep::Lower => old[part] + added[part],
                            Sweep::Upper => {
                                BLOCK.diagonal * old[part] + BLOCK.coupling * old_sum + added[part]
                            }
                        };
                        assert!((left - right).abs() < 1e-12, "{way:?} {y} {x} {part}");
                    }
                }
            }
            let ghosts = |values: &[f64]| values[..GHOSTS * row].to_vec();
            assert_eq!(ghosts(&swept), ghosts(&start));
        }
    }
}
