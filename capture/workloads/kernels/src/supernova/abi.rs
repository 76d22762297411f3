//! C functions for `ctypes`; an image has `side * side` values of 16 bits.
#![allow(unsafe_code)]

use super::{LEAST_SIDE, Place, paint, search, truth};

/// Writes places to `out`, as many as fit; returns how many there are.
unsafe fn write(places: &[Place], out: *mut i32, capacity: usize) -> usize {
    for (index, &(x, y)) in places.iter().take(capacity).enumerate() {
        // SAFETY: the callers' callers promise `capacity` pairs.
        unsafe {
            out.add(2 * index).write(x);
            out.add(2 * index + 1).write(y);
        }
    }
    places.len()
}

/// Makes an image; returns false if `side` is too small.
///
/// # Safety
/// `image` points to a writable image.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_supernova_paint(
    number: u64,
    side: usize,
    second: bool,
    image: *mut u16,
) -> bool {
    if side < LEAST_SIDE {
        return false;
    }
    // SAFETY: the caller promises a writable image.
    let image = unsafe { std::slice::from_raw_parts_mut(image, side * side) };
    paint(number, side, second, image);
    true
}

/// Writes where something has appeared in a pair; returns how many there are.
///
/// # Safety
/// `out` points to `capacity` writable pairs; `side` is at least [`LEAST_SIDE`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_supernova_truth(
    number: u64,
    side: usize,
    out: *mut i32,
    capacity: usize,
) -> usize {
    // SAFETY: the caller promises the room.
    unsafe { write(&truth(number, side), out, capacity) }
}

/// Writes the objects found in a pair of images; returns how many there are.
///
/// # Safety
/// `first` and `second` point to images, `out` to `capacity` writable pairs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_supernova_search(
    first: *const u16,
    second: *const u16,
    side: usize,
    out: *mut i32,
    capacity: usize,
) -> usize {
    if side < LEAST_SIDE {
        return 0;
    }
    // SAFETY: the caller promises images and room.
    unsafe {
        let first = std::slice::from_raw_parts(first, side * side);
        let second = std::slice::from_raw_parts(second, side * side);
        write(&search(first, second, side), out, capacity)
    }
}
