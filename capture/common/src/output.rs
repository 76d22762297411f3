//! Turns a path into a file that appears whole or not at all, and that is nobody else's.
//!
//! The folder may be one in which everybody may make files. A new file is opened exclusively, so that no link is
//! followed. What has its name already is replaced only if it is a file of this user; anything else is an error of kind
//! [`io::ErrorKind::AlreadyExists`], and stays as it is.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::sys;

/// The name of a file that is not whole yet.
pub fn part(file: &Path) -> PathBuf {
    let mut name = OsString::from(file.as_os_str());
    name.push(".part");
    name.into()
}

/// The folder that a file is in.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Fails unless nothing has this name, or a file of this user, which may be replaced.
pub fn check(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) => check_found(path, &found),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn check_found(path: &Path, found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    let what = if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if !kind.is_file() {
        "a device"
    } else {
        return check_owner(path, found);
    };
    Err(taken(path, found, what))
}

/// Fails unless it is of this user.
pub fn check_owner(path: &Path, found: &Metadata) -> io::Result<()> {
    if found.uid() == sys::user() {
        return Ok(());
    }
    Err(taken(path, found, "there,"))
}

fn taken(path: &Path, found: &Metadata, what: &str) -> io::Error {
    let text = format!(
        "{} is {what} of user number {}",
        path.display(),
        found.uid()
    );
    io::Error::new(ErrorKind::AlreadyExists, text)
}

/// A new file, in place of one of this user. The umask takes away from `mode`.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(found) => {
            check_found(path, &found)?;
            fs::remove_file(path)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(path)
}

/// Gives a file its name, in place of one of this user. Between the look and the renaming, others can put something
/// there only where nothing was, and it is a name in the folder that they lose then: nothing is followed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    check(to)?;
    fs::rename(from, to)
}

/// Writes a file under its name with `.part` added, then renames it. `durable`: it is on the disk then.
pub fn write(path: &Path, text: &str, durable: bool) -> io::Result<()> {
    check(path)?;
    let part = part(path);
    let mut file = create(&part, 0o644)?;
    let mut finish = || {
        file.write_all(text.as_bytes())?;
        if durable {
            file.sync_all()?;
        }
        rename(&part, path)
    };
    finish().inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })?;
    if durable {
        sync_folder(&folder_of(path))?;
    }
    Ok(())
}

/// The names in a folder are on the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems cannot, and need not.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("flowsweep-output-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("folder");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn own_file_is_replaced_and_its_other_name_is_not() {
        let folder = Folder::new("own");
        let path = folder.0.join("a");
        fs::write(&path, "old").expect("written");
        fs::hard_link(&path, folder.0.join("b")).expect("linked");
        write(&path, "new", true).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "new");
        assert_eq!(fs::read_to_string(folder.0.join("b")).expect("read"), "old");
        assert!(!part(&path).exists());
    }

    #[test]
    fn nothing_else_is_followed_or_replaced() {
        let folder = Folder::new("foreign");
        let victim = folder.0.join("victim");
        fs::write(&victim, "all there is").expect("written");
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).expect("mode");
        let (link, dangling) = (folder.0.join("link"), folder.0.join("dangling"));
        symlink(&victim, &link).expect("link");
        symlink(folder.0.join("nothing"), &dangling).expect("link");
        let (socket, inner) = (folder.0.join("socket"), folder.0.join("folder"));
        let _listener = UnixListener::bind(&socket).expect("socket");
        fs::create_dir(&inner).expect("folder");
        for path in [link, dangling, socket, inner] {
            // At its place, and by the name that it has until it is whole.
            let named = folder.0.join("a");
            let kinds = [
                check(&path).expect_err("refused"),
                create(&path, 0o600).expect_err("refused"),
                write(&path, "new", false).expect_err("refused"),
                rename(&victim, &path).expect_err("refused"),
            ];
            for error in kinds {
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
            }
            fs::rename(&path, part(&named)).expect("renamed");
            write(&named, "new", false).expect_err("refused");
            assert!(part(&named).symlink_metadata().is_ok());
            fs::rename(part(&named), &path).expect("renamed");
        }
        assert_eq!(fs::read_to_string(&victim).expect("read"), "all there is");
        assert!(!folder.0.join("nothing").exists());
        assert!(!folder.0.join("a").exists());
    }
}
