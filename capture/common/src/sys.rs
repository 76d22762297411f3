//! Turns raw Linux calls into safe functions. All `unsafe` of this crate is here.
#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// `_LINUX_CAPABILITY_VERSION_3`: two words for each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Word {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn terminated(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Locks an open file; returns false if another process has it locked. A file system without locks cannot show that.
pub fn lock(file: &File) -> bool {
    // SAFETY: the descriptor is open.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Returns the user whose rights are in effect.
pub fn user() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() }
}

/// Returns whether the real and the effective user are root.
pub fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::getuid() == 0 && libc::geteuid() == 0 }
}

/// Returns whether files can be created and renamed in the folder with the rights in effect.
pub fn is_writable(folder: &Path) -> bool {
    let Ok(name) = terminated(folder.as_os_str()) else {
        return false;
    };
    let mode = libc::W_OK | libc::X_OK;
    // SAFETY: the name is terminated.
    unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), mode, libc::AT_EACCESS) == 0 }
}

/// Returns the capabilities that this thread could use.
pub fn permitted() -> io::Result<u64> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let mut words = [Word::default(); 2];
    // SAFETY: the header and both words have the layout of version 3, which the header names.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })?;
    Ok(u64::from(words[1].permitted) << 32 | u64::from(words[0].permitted))
}

/// Sets the capabilities of this thread; none is inherited.
pub fn set_capabilities(effective: u64, permitted: u64) -> io::Result<()> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let words = [0, 32].map(|shift| Word {
        effective: (effective >> shift) as u32,
        permitted: (permitted >> shift) as u32,
        inheritable: 0,
    });
    // SAFETY: as in `permitted`.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) })
}

/// Prevents programs that this thread starts from gaining rights by their files (set-user-ID, capabilities).
pub fn set_no_new_privileges() -> io::Result<()> {
    // SAFETY: these options take numbers only.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        // Kernels before 4.3 have no ambient set to clear.
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        );
    }
    Ok(())
}

/// A user, with group and name.
#[derive(Debug)]
pub struct Identity {
    pub user: libc::uid_t,
    pub group: libc::gid_t,
    pub name: Option<String>,
}

/// Returns the supplementary groups of this process.
pub fn groups() -> io::Result<Vec<libc::gid_t>> {
    // SAFETY: with a size of 0 nothing is written; the second call has room for the count of the first.
    unsafe {
        let count = libc::getgroups(0, ptr::null_mut());
        check(count.into())?;
        let mut groups = vec![0; count.unsigned_abs() as usize];
        check(libc::getgroups(count, groups.as_mut_ptr()).into())?;
        Ok(groups)
    }
}

/// Sets the rights in effect to those of a user; [`as_root`] restores root's.
pub fn as_user(identity: &Identity) -> io::Result<()> {
    let name = identity
        .name
        .as_deref()
        .and_then(|name| CString::new(name).ok());
    // SAFETY: the name is terminated, the list has the given length.
    unsafe {
        let known = name.is_some_and(|name| libc::initgroups(name.as_ptr(), identity.group) == 0);
        if !known {
            check(libc::setgroups(1, &raw const identity.group).into())?;
        }
        check(libc::setegid(identity.group).into())?;
        check(libc::seteuid(identity.user).into())
    }
}

/// Undoes [`as_user`].
pub fn as_root(groups: &[libc::gid_t]) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `groups`.
    unsafe {
        check(libc::seteuid(0).into())?;
        check(libc::setegid(0).into())?;
        check(libc::setgroups(groups.len(), groups.as_ptr()).into())
    }
}

/// Becomes a user for good, after [`as_user`].
pub fn become_user(identity: &Identity) -> io::Result<()> {
    let (user, group) = (identity.user, identity.group);
    // SAFETY: numbers only.
    unsafe {
        check(libc::seteuid(0).into())?;
        check(libc::setresgid(group, group, group).into())?;
        check(libc::setresuid(user, user, user).into())
    }
}

/// Returns the signal that this process gets when its parent dies; 0 for none.
pub fn death_signal() -> io::Result<libc::c_int> {
    let mut signal: libc::c_int = 0;
    // SAFETY: a pointer to a number that the kernel fills.
    check(unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) }.into())?;
    Ok(signal)
}

/// Sets that signal again: the kernel forgets it whenever the user or the group changes.
pub fn set_death_signal(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) }.into())
}
