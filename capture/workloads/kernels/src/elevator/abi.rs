//! C functions for `ctypes`; a search is a pointer that Python keeps.
#![allow(unsafe_code)]

use super::search::Search;
use super::{Elevator, reference};

/// Returns a share of the search, or null if floors, persons or ranks are impossible.
#[unsafe(no_mangle)]
pub extern "C" fn flowsweep_elevator_new(
    floors: u8,
    persons: u8,
    clever: bool,
    rank: usize,
    ranks: usize,
) -> *mut Search {
    let model = Elevator {
        floors,
        persons,
        clever,
    };
    Search::new(model, rank, ranks).map_or(std::ptr::null_mut(), |s| Box::into_raw(Box::new(s)))
}

/// Ends a search.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_free(search: *mut Search) {
    // SAFETY: the caller gives back what `Box::into_raw` gave.
    drop(unsafe { Box::from_raw(search) });
}

/// Takes in entries from another rank; returns how many, or -1 if the bytes are no entries.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`; `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_absorb(
    search: *mut Search,
    bytes: *const u8,
    length: usize,
) -> i64 {
    // SAFETY: the caller promises a live search and `length` readable bytes.
    let done = unsafe { (*search).absorb(std::slice::from_raw_parts(bytes, length)) };
    done.map_or(-1, |entries| entries as i64)
}

/// Works on up to `limit` states; returns how many there were.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_work(search: *mut Search, limit: usize) -> usize {
    // SAFETY: the caller promises a live search.
    unsafe { (*search).work(limit) }
}

/// Returns the number of entries that wait for a rank.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_waiting(search: *const Search, rank: usize) -> usize {
    // SAFETY: the caller promises a live search.
    unsafe { (*search).outbox.waiting(rank) }
}

/// Moves entries for a rank into `out`; returns the bytes written.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`; `out` points to `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_take(
    search: *mut Search,
    rank: usize,
    out: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: the caller promises a live search and `room` writable bytes.
    unsafe {
        (*search)
            .outbox
            .take(rank, std::slice::from_raw_parts_mut(out, room))
    }
}

/// Ends a phase; returns how many accepting states are left.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_shrink(search: *mut Search) -> usize {
    // SAFETY: the caller promises a live search.
    unsafe { (*search).shrink() }
}

/// Writes states, edges, accepting states and whether a cycle was found.
///
/// # Safety
/// `search` is from `flowsweep_elevator_new`; `out` points to four writable `u64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_counts(search: *const Search, out: *mut [u64; 4]) {
    // SAFETY: the caller promises a live search and the room.
    unsafe {
        let search = &*search;
        let (states, accepting) = (search.states() as u64, search.accepting() as u64);
        out.write([states, search.edges, accepting, u64::from(search.cycle)]);
    }
}

/// Writes the same four numbers for the whole model, by one thread in another way.
///
/// # Safety
/// `out` points to four writable `u64`; floors and persons are possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_elevator_reference(
    floors: u8,
    persons: u8,
    clever: bool,
    out: *mut [u64; 4],
) {
    let model = Elevator {
        floors,
        persons,
        clever,
    };
    let found = reference::solve(&model);
    // SAFETY: the caller promises the room.
    unsafe {
        out.write([
            found.states,
            found.edges,
            found.accepting,
            u64::from(found.cycle),
        ]);
    }
}
