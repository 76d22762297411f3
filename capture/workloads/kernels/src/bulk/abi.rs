//! C functions for `ctypes`: both sides of a transfer on a connected UDP socket of the caller.
#![allow(unsafe_code)]

use std::fs::File;
use std::mem::ManuallyDrop;
use std::net::UdpSocket;
use std::os::fd::{FromRawFd, RawFd};

use super::send::Plan;
use super::{Counts, Files, Place, Span, receive, send};

/// Borrows the socket, which stays the caller's.
unsafe fn borrowed(socket: RawFd) -> ManuallyDrop<UdpSocket> {
    // SAFETY: the callers' callers promise an open socket; it is not closed here.
    ManuallyDrop::new(unsafe { UdpSocket::from_raw_fd(socket) })
}

/// Returns a number for the caller: 0, or that of the operating system's error.
fn code(result: std::io::Result<Counts>, counts: &mut Counts) -> i32 {
    match result {
        Ok(found) => {
            *counts = found;
            0
        }
        // 110: connection timed out.
        Err(error) => error.raw_os_error().unwrap_or(110),
    }
}

/// Takes over the files: they are closed with the transfer.
unsafe fn opened(files: *const RawFd, count: usize, length: usize) -> Place<'static> {
    // SAFETY: the callers' callers promise `count` open files.
    let open = unsafe {
        let numbers = std::slice::from_raw_parts(files, count);
        numbers.iter().map(|&file| File::from_raw_fd(file))
    };
    Place::Disk(Files::new(open.collect(), length))
}

/// Sends `length` bytes from `bytes`, or, if that is null, from `count` open files.
///
/// # Safety
/// `socket` is an open, connected UDP socket; `bytes` points to `length` bytes or `files` to the
/// descriptors of `count` open files, which are closed; `counts` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_bulk_send(
    socket: RawFd,
    bytes: *const u8,
    files: *const RawFd,
    count: usize,
    length: usize,
    block_bytes: usize,
    start_bit_s: f64,
    least_bit_s: f64,
    most_bit_s: f64,
    reliable: bool,
    counts: *mut Counts,
) -> i32 {
    let plan = Plan {
        block_bytes,
        start_bit_s,
        least_bit_s,
        most_bit_s,
        reliable,
    };
    // SAFETY: the caller's promises.
    unsafe {
        let place = if bytes.is_null() {
            opened(files, count, length)
        } else {
            Place::Source(std::slice::from_raw_parts(bytes, length))
        };
        code(send::send(&borrowed(socket), &place, &plan), &mut *counts)
    }
}

/// Receives `length` bytes into `bytes`, or, if that is null, into `count` open files; the content
/// has `count` pieces either way.
///
/// # Safety
/// As for `flowsweep_bulk_send`; `bytes` is writable, and so are `count` spans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flowsweep_bulk_receive(
    socket: RawFd,
    bytes: *mut u8,
    files: *const RawFd,
    count: usize,
    length: usize,
    block_bytes: usize,
    reliable: bool,
    spans: *mut Span,
    counts: *mut Counts,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        let mut place = if bytes.is_null() {
            opened(files, count, length)
        } else {
            Place::Target(std::slice::from_raw_parts_mut(bytes, length))
        };
        let spans = std::slice::from_raw_parts_mut(spans, count);
        let found = receive::receive(&borrowed(socket), &mut place, block_bytes, reliable, spans);
        code(found, &mut *counts)
    }
}
