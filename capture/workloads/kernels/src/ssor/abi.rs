//! The C function for `ctypes`: pointers to planes with their ghosts.
#![allow(unsafe_code)]

use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::{Block, PARTS, Sweep};

/// Sweeps a plane in place; `upper` is 0 for the lower sweep.
///
/// # Safety
/// `plane` and `before` point to `width * height * 5` doubles each, which do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_ssor_sweep(
    plane: *mut f64,
    before: *const f64,
    width: usize,
    height: usize,
    diagonal: f64,
    coupling: f64,
    neighbour: f64,
    upper: u32,
) {
    let size = width * height * PARTS;
    // SAFETY: the caller promises the sizes, and that nobody else uses the planes.
    let (plane, before) = unsafe {
        (
            from_raw_parts_mut(plane, size),
            from_raw_parts(before, size),
        )
    };
    let block = Block {
        diagonal,
        coupling,
        neighbour,
    };
    let way = if upper == 0 {
        Sweep::Lower
    } else {
        Sweep::Upper
    };
    super::sweep(plane, before, width, block, way);
}
