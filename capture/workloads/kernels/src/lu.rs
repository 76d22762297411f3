//! Computes columns of the LU decomposition of a matrix, with partial pivoting.
//!
//! Matrices are column-major: column `c` of `rows` rows starts at `c * rows`. A step computes the factors and row swaps
//! of the `width` columns of a panel, on and below its diagonal block; then every other column follows.

pub mod abi;

/// Rows of a tile in the inner loop: a tile of the panel stays in the second-level cache.
const TILE: usize = 256;

/// A column of zeros on and below the diagonal: the matrix has no inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {0} of the panel has no pivot")]
pub struct Singular(pub usize);

/// Factors a panel of `rows` by `pivots.len()` in place: L below the diagonal, U on and above.
///
/// `pivots[c]` is the row of the panel that was swapped with row `c`, in this order.
pub fn factor(panel: &mut [f64], rows: usize, pivots: &mut [u32]) -> Result<(), Singular> {
    for step in 0..pivots.len() {
        let column = &panel[step * rows..][..rows];
        let pivot = (step..rows).fold(step, |best, row| {
            if column[row].abs() > column[best].abs() {
                row
            } else {
                best
            }
        });
        if column[pivot] == 0.0 {
            return Err(Singular(step));
        }
        pivots[step] = pivot as u32;
        for column in panel.chunks_exact_mut(rows) {
            column.swap(step, pivot);
        }
        let (done, rest) = panel.split_at_mut((step + 1) * rows);
        let column = &mut done[step * rows..];
        let inverse = 1.0 / column[step];
        for value in &mut column[step + 1..] {
            *value *= inverse;
        }
        for other in rest.chunks_exact_mut(rows) {
            let (top, below) = other.split_at_mut(step + 1);
            subtract(below, &column[step + 1..], top[step]);
        }
    }
    Ok(())
}

/// Swaps rows as `factor` did; row 0 of the panel is row `first` of the columns.
pub fn swap(columns: &mut [f64], rows: usize, first: usize, pivots: &[u32]) {
    for column in columns.chunks_exact_mut(rows) {
        for (step, &pivot) in pivots.iter().enumerate() {
            column.swap(first + step, first + pivot as usize);
        }
    }
}

/// Updates columns right of the panel, rows swapped, to their part of U and to what is left of A.
pub fn update(columns: &mut [f64], rows: usize, first: usize, panel: &[f64], width: usize) {
    let panel_rows = rows - first;
    for column in columns.chunks_exact_mut(rows) {
        let (top, below) = column[first..].split_at_mut(width);
        for step in 0..width {
            let factor = top[step];
            let panel_column = &panel[step * panel_rows..][..width];
            subtract(&mut top[step + 1..], &panel_column[step + 1..], factor);
        }
        for (tile, target) in below.chunks_mut(TILE).enumerate() {
            let start = width + tile * TILE;
            for (step, &factor) in top.iter().enumerate() {
                let panel_column = &panel[step * panel_rows..][..panel_rows];
                subtract(target, &panel_column[start..start + target.len()], factor);
            }
        }
    }
}

/// Computes `target -= factor * other`.
fn subtract(target: &mut [f64], other: &[f64], factor: f64) {
    for (value, &by) in target.iter_mut().zip(other) {
        *value -= factor * by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers that look random, between -0.5 and 0.5.
    fn matrix(rows: usize) -> Vec<f64> {
        let mut state = 1_u64;
        (0..rows * rows)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
            })
            .collect()
    }

    /// Decomposes in steps of `width` columns, as the ranks do; returns factors and row order.
    fn decompose(a: &[f64], rows: usize, width: usize) -> (Vec<f64>, Vec<usize>) {
        let mut lu = a.to_vec();
        let mut order: Vec<usize> = (0..rows).collect();
        for first in (0..rows).step_by(width) {
            let width = width.min(rows - first);
            let panel_rows = rows - first;
            let mut panel: Vec<f64> = (first..first + width)
                .flat_map(|column| lu[column * rows + first..(column + 1) * rows].to_vec())
                .collect();
            let mut pivots = vec![0; width];
            factor(&mut panel, panel_rows, &mut pivots).unwrap();
            swap(&mut lu, rows, first, &pivots);
            for (step, &pivot) in pivots.iter().enumerate() {
                order.swap(first + step, first + pivot as usize);
            }
            update(
                &mut lu[(first + width) * rows..],
                rows,
                first,
                &panel,
                width,
            );
            for column in 0..width {
                lu[(first + column) * rows + first..(first + column + 1) * rows]
                    .copy_from_slice(&panel[column * panel_rows..][..panel_rows]);
            }
        }
        (lu, order)
    }

    #[test]
    fn factors_multiply_to_the_matrix_with_its_rows_in_order_of_the_pivots() {
        let rows = 37;
        let a = matrix(rows);
        for width in [1, 5, 8, 37] {
            let (lu, order) = decompose(&a, rows, width);
            for column in 0..rows {
                for row in 0..rows {
                    let sum: f64 = (0..=row.min(column))
                        .map(|k| {
                            let l = if k == row { 1.0 } else { lu[k * rows + row] };
                            l * lu[column * rows + k]
                        })
                        .sum();
                    let expected = a[column * rows + order[row]];
                    assert!(
                        (sum - expected).abs() < 1e-12,
                        "width {width}: {row}, {column}"
                    );
                }
            }
        }
    }

    #[test]
    fn factors_below_the_diagonal_are_at_most_one() {
        let rows = 20;
        let (lu, _) = decompose(&matrix(rows), rows, 6);
        for column in 0..rows {
            for row in column + 1..rows {
                assert!(lu[column * rows + row].abs() <= 1.0);
            }
        }
    }

    #[test]
    fn a_matrix_without_inverse_is_an_error() {
        let mut panel = vec![1.0, 2.0, 2.0, 4.0];
        assert_eq!(factor(&mut panel, 2, &mut [0, 0]), Err(Singular(1)));
    }
}
