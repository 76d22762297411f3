//! C functions for `ctypes`; the databases of a rank are a pointer that Python keeps.
#![allow(unsafe_code)]

use super::database::Databases;
use super::{MAX_STONES, reference};

/// Won, lost and drawn boards, and a checksum that depends on every single value.
type Summary = [u64; 4];

fn add(sum: &mut Summary, stones: usize, index: usize, value: i8) {
    let kind = match value.signum() {
        1 => 0,
        -1 => 1,
        _ => 2,
    };
    sum[kind] += 1;
    let key = (stones as u64) << 40 | (index as u64) << 8 | u64::from(value as u8);
    let mixed = (key ^ key >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    sum[3] = (sum[3] + (mixed >> 32)) & 0xFFFF_FFFF;
}

/// Returns the share of a rank, or null if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn flowsweep_awari_new(rank: usize, ranks: usize) -> *mut Databases {
    Databases::new(rank, ranks).map_or(std::ptr::null_mut(), |d| Box::into_raw(Box::new(d)))
}

/// Begins the next database; returns the most boards that a rank has of it, or -1 if it is too large.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_begin(databases: *mut Databases) -> i64 {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).begin() }.map_or(-1, |most| most as i64)
}

/// Begins the next bound.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`, with a database begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_raise(databases: *mut Databases) {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).raise() }
}

/// Keeps the results of the last bound.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`, with a database begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_settle(databases: *mut Databases) {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).settle() }
}

/// Returns the number of boards found won or lost at this bound.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_found(databases: *const Databases) -> u64 {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).found }
}

/// Works; returns the boards handled and jobs made.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_work(
    databases: *mut Databases,
    limit: usize,
    scan_limit: usize,
) -> usize {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).work(limit, scan_limit) }
}

/// Takes in jobs from another rank; returns how many, or -1 if the bytes are no jobs.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`; `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_absorb(
    databases: *mut Databases,
    bytes: *const u8,
    length: usize,
) -> i64 {
    // SAFETY: the caller promises live databases and `length` readable bytes.
    let done = unsafe { (*databases).absorb(std::slice::from_raw_parts(bytes, length)) };
    done.map_or(-1, |jobs| jobs as i64)
}

/// Returns the number of jobs that wait for a rank.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_waiting(
    databases: *const Databases,
    rank: usize,
) -> usize {
    // SAFETY: the caller promises live databases.
    unsafe { (*databases).outbox.waiting(rank) }
}

/// Moves jobs for a rank into `out`; returns the bytes written.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`; `out` points to `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_take(
    databases: *mut Databases,
    rank: usize,
    out: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: the caller promises live databases and `room` writable bytes.
    unsafe {
        (*databases)
            .outbox
            .take(rank, std::slice::from_raw_parts_mut(out, room))
    }
}

/// Writes a [`Summary`] of this rank's values, of all databases.
///
/// # Safety
/// `databases` is from `flowsweep_awari_new`; `out` has room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_summary(
    databases: *const Databases,
    stones: usize,
    rank: usize,
    ranks: usize,
    out: *mut Summary,
) {
    let mut sum = [0; 4];
    for n in 0..=stones {
        // SAFETY: the caller promises live databases.
        for (index, &value) in unsafe { (*databases).values(n) }.iter().enumerate() {
            add(&mut sum, n, index * ranks + rank, value);
        }
    }
    // SAFETY: the caller promises the room.
    unsafe { out.write(sum) };
}

/// Writes the same for the whole databases, by one thread in another way; returns false if they are too large.
///
/// # Safety
/// `out` has room for a [`Summary`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_awari_reference(stones: usize, out: *mut Summary) -> bool {
    if stones > MAX_STONES {
        return false;
    }
    let mut sum = [0; 4];
    for (n, values) in reference::solve(stones).iter().enumerate() {
        for (index, &value) in values.iter().enumerate() {
            add(&mut sum, n, index, value);
        }
    }
    // SAFETY: the caller promises the room.
    unsafe { out.write(sum) };
    true
}
