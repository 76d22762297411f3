//! C functions for `ctypes`; a search is a pointer that Python keeps until it ends.
#![allow(unsafe_code)]

use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::Search;

/// Returns a search over `side * side` pieces of 4 edges, or null if they are impossible.
///
/// # Safety
/// `pieces` points to `side * side` times 4 numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_jigsaw_new(side: usize, pieces: *const [i16; 4]) -> *mut Search {
    // SAFETY: the caller promises the size.
    let pieces = unsafe { from_raw_parts(pieces, side * side) };
    Search::new(side, pieces).map_or(std::ptr::null_mut(), |s| Box::into_raw(Box::new(s)))
}

/// Lays the first piece, turned; returns false if there is no such piece.
///
/// # Safety
/// `search` is from `flowsweep_jigsaw_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_jigsaw_start(search: *mut Search, first: u16) -> bool {
    // SAFETY: the caller promises a search that nobody else uses.
    unsafe { &mut *search }.start(first)
}

/// Goes on until `budget` pieces were laid or `most` solutions found; returns whether all is done.
///
/// `counts`: pieces laid, solutions.
///
/// # Safety
/// `search` is from `flowsweep_jigsaw_new`; `out` points to room for `most` solutions, `counts` to
/// two numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_jigsaw_step(
    search: *mut Search,
    budget: u64,
    most: u64,
    out: *mut u16,
    counts: *mut u64,
) -> bool {
    // SAFETY: the caller promises a search that nobody else uses, and both sizes.
    let (search, counts) = unsafe { (&mut *search, from_raw_parts_mut(counts, 2)) };
    let places = search.side * search.side;
    // SAFETY: as above.
    let room = unsafe { from_raw_parts_mut(out, most as usize * places) };
    let mut rooms = room.chunks_exact_mut(places);
    let progress = search.step(budget, most, |laid| {
        if let Some(room) = rooms.next() {
            room.copy_from_slice(laid);
        }
    });
    counts.copy_from_slice(&[progress.nodes, progress.solutions]);
    progress.done
}

/// Writes the longest row of pieces since the start; returns its length.
///
/// # Safety
/// `search` is from `flowsweep_jigsaw_new`; `out` points to room for all pieces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_jigsaw_deepest(search: *const Search, out: *mut u16) -> usize {
    // SAFETY: the caller promises a search that nobody else uses, and room for all its pieces.
    let deepest = unsafe { &*search }.deepest();
    // SAFETY: as above.
    unsafe { from_raw_parts_mut(out, deepest.len()) }.copy_from_slice(deepest);
    deepest.len()
}
