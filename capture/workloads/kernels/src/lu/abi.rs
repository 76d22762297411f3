//! C functions for `ctypes`: matrices are pointers to column-major doubles.
#![allow(unsafe_code)]

use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Factors a panel in place; returns 0, or 1 + the column without a pivot.
///
/// # Safety
/// `panel` points to `rows * width` doubles and `pivots` to `width` numbers; `width <= rows`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_lu_factor(
    panel: *mut f64,
    rows: usize,
    width: usize,
    pivots: *mut u32,
) -> usize {
    // SAFETY: the caller promises both sizes, and that nobody else uses them.
    let (panel, pivots) = unsafe {
        (
            from_raw_parts_mut(panel, rows * width),
            from_raw_parts_mut(pivots, width),
        )
    };
    match super::factor(panel, rows, pivots) {
        Ok(()) => 0,
        Err(super::Singular(column)) => column + 1,
    }
}

/// Swaps the rows of columns as those of a panel were, whose first row is row `first`.
///
/// # Safety
/// `columns` points to `rows * count` doubles, `pivots` to `width` numbers below `rows - first`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_lu_swap(
    columns: *mut f64,
    rows: usize,
    count: usize,
    first: usize,
    pivots: *const u32,
    width: usize,
) {
    // SAFETY: the caller promises both sizes, and that nobody else uses them.
    let (columns, pivots) = unsafe {
        (
            from_raw_parts_mut(columns, rows * count),
            from_raw_parts(pivots, width),
        )
    };
    super::swap(columns, rows, first, pivots);
}

/// Updates columns right of a panel, whose first row is row `first`.
///
/// # Safety
/// `columns` points to `rows * count` doubles, `panel` to `(rows - first) * width`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_lu_update(
    columns: *mut f64,
    rows: usize,
    count: usize,
    first: usize,
    panel: *const f64,
    width: usize,
) {
    // SAFETY: the caller promises both sizes, and that nobody else uses them.
    let (columns, panel) = unsafe {
        (
            from_raw_parts_mut(columns, rows * count),
            from_raw_parts(panel, (rows - first) * width),
        )
    };
    super::update(columns, rows, first, panel, width);
}
