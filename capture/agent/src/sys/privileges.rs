//! Turns a process that may capture into one that may do nothing special any more.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `CAP_DAC_OVERRIDE` of linux/capability.h: write whatever the permissions of files say.
const DAC_OVERRIDE: u64 = 1 << 1;
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

/// The capabilities that this thread could use.
fn permitted() -> io::Result<u64> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let mut words = [Word::default(); 2];
    // SAFETY: the header and both words have the layout of version 3, which the header names.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })?;
    Ok(u64::from(words[1].permitted) << 32 | u64::from(words[0].permitted))
}

fn set(effective: u64, permitted: u64) -> io::Result<()> {
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

/// True when files can be made and renamed in the folder with the rights that are in effect.
fn is_writable(folder: &Path) -> bool {
    let Ok(name) = CString::new(folder.as_os_str().as_bytes()) else {
        return false;
    };
    let mode = libc::W_OK | libc::X_OK;
    // SAFETY: the name is terminated.
    unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), mode, libc::AT_EACCESS) == 0 }
}

/// Drops every capability of this thread, for good and for all programs that it starts. Root that writes into a folder
/// of somebody else keeps `CAP_DAC_OVERRIDE`, without which no file could be renamed or begun there. Returns the names
/// of what was kept. To be called before other threads start: capabilities belong to threads.
pub fn drop_all(folders: &[&Path]) -> io::Result<Vec<&'static str>> {
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
    let usable = permitted()?;
    set(0, usable)?;
    let writable = folders.iter().all(|folder| is_writable(folder));
    let keep = if writable { 0 } else { usable & DAC_OVERRIDE };
    set(keep, keep)?;
    Ok(if keep == 0 {
        Vec::new()
    } else {
        vec!["cap_dac_override"]
    })
}
