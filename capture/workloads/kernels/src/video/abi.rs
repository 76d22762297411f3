//! C functions for `ctypes`; a frame has `width * height * 6` bytes.
#![allow(unsafe_code)]

use super::{PIXEL_BYTES, compress, correct, paint};

/// Writes the generated frame of a number.
///
/// # Safety
/// `frame` points to a writable frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_video_paint(
    width: usize,
    height: usize,
    number: usize,
    frame: *mut u8,
) {
    // SAFETY: the caller promises a writable frame.
    let frame = unsafe { std::slice::from_raw_parts_mut(frame, width * height * PIXEL_BYTES) };
    paint(width, height, number, frame);
}

/// Corrects the colours of a frame.
///
/// # Safety
/// `frame` points to `length` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_video_correct(frame: *mut u8, length: usize) {
    // SAFETY: the caller promises writable bytes.
    correct(unsafe { std::slice::from_raw_parts_mut(frame, length) });
}

/// Writes a frame as JPEG to `out`; returns its length, or 0 if it cannot be encoded or needs more than `room`.
///
/// # Safety
/// `frame` points to a frame, `out` to `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_video_compress(
    frame: *const u8,
    width: u16,
    height: u16,
    quality: u8,
    out: *mut u8,
    room: usize,
) -> usize {
    let length = usize::from(width) * usize::from(height) * PIXEL_BYTES;
    // SAFETY: the caller promises a frame and `room` writable bytes.
    let (frame, out) = unsafe {
        (
            std::slice::from_raw_parts(frame, length),
            std::slice::from_raw_parts_mut(out, room),
        )
    };
    match compress(frame, width, height, quality) {
        Ok(jpeg) if jpeg.len() <= room => {
            out[..jpeg.len()].copy_from_slice(&jpeg);
            jpeg.len()
        }
        _ => 0,
    }
}
