//! The C functions of the library, for `ctypes`: pointers and lengths to safe slices and back.
#![allow(unsafe_code)]

use crate::nqueens;

/// Completes a sub-board: writes the solutions and the number of nodes.
///
/// `out` takes `capacity` solutions of `board` bytes each; those beyond are counted, not written.
/// Returns the number of solutions, or -1 for an impossible board.
///
/// # Safety
/// `prefix` points to `prefix_len` bytes, `out` to `capacity * board` writable bytes (it may be
/// null if `capacity` is 0), and `nodes` to one writable `u64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_nqueens(
    board: u32,
    prefix: *const u8,
    prefix_len: usize,
    out: *mut u8,
    capacity: u64,
    nodes: *mut u64,
) -> i64 {
    let board = board as usize;
    let prefix = if prefix_len == 0 {
        &[]
    } else {
        // SAFETY: the caller promises `prefix_len` readable bytes.
        unsafe { std::slice::from_raw_parts(prefix, prefix_len) }
    };
    let room: &mut [u8] = if capacity == 0 {
        &mut []
    } else {
        // SAFETY: the caller promises `capacity * board` writable bytes that nobody else uses.
        unsafe { std::slice::from_raw_parts_mut(out, capacity as usize * board) }
    };
    let mut places = room.chunks_exact_mut(board.max(1));
    let found = nqueens::solve(board, prefix, |columns| {
        if let Some(place) = places.next() {
            place.copy_from_slice(columns);
        }
    });
    let Ok(found) = found else { return -1 };
    // SAFETY: the caller promises one writable `u64`.
    unsafe { nodes.write(found.nodes) };
    found.solutions as i64
}
