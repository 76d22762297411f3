//! Turns raw Linux calls into safe functions. All `unsafe` of the emulator is here.
#![allow(unsafe_code)]

pub mod packet;
pub mod process;
pub mod receive;

use std::io;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
