//! Turns a process that may do everything into one that may do no more than write its files.

use std::env;
use std::io;
use std::path::Path;

use crate::sys::{self, Identity};

/// `CAP_DAC_OVERRIDE` of linux/capability.h: write to files whatever their permissions.
const DAC_OVERRIDE: u64 = 1 << 1;

/// Under `sudo`, becomes the user who called it, if that user may write into all of the folders: then the files are
/// theirs, and created with their rights. Returns false if this process stays what it is.
///
/// Call it after everything that needs root was opened, and before other threads start.
pub fn become_sudo_user(folders: &[&Path]) -> io::Result<bool> {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) else {
        return Ok(false);
    };
    if user == 0 || !sys::is_root() {
        return Ok(false);
    }
    let identity = Identity {
        user,
        group,
        name: env::var("SUDO_USER").ok(),
    };
    let (groups, signal) = (sys::groups()?, sys::death_signal()?);
    sys::as_user(&identity)?;
    let writable = folders.iter().all(|folder| sys::is_writable(folder));
    if writable {
        sys::become_user(&identity)?;
    } else {
        sys::as_root(&groups)?;
    }
    sys::set_death_signal(signal)?;
    Ok(writable)
}

/// Drops every capability of this thread, for good and for all programs that it starts. Root that writes into a folder
/// of somebody else keeps `CAP_DAC_OVERRIDE`, without which it could not rename or create files there. Returns the
/// names of those that were kept. Call it before other threads start: capabilities belong to threads.
pub fn drop_all(folders: &[&Path]) -> io::Result<Vec<&'static str>> {
    sys::set_no_new_privileges()?;
    let usable = sys::permitted()?;
    sys::set_capabilities(0, usable)?;
    let writable = folders.iter().all(|folder| sys::is_writable(folder));
    let keep = if writable { 0 } else { usable & DAC_OVERRIDE };
    sys::set_capabilities(keep, keep)?;
    Ok(if keep == 0 {
        Vec::new()
    } else {
        vec!["cap_dac_override"]
    })
}
