//! Creates files that appear whole or not at all, and that belong to this user alone.
//!
//! Everybody may be allowed to create files in the folder. A new file is opened exclusively, so that no link is
//! followed. An existing file is replaced only if it belongs to this user; anything else stays as it is, and is an
//! error of kind [`io::ErrorKind::AlreadyExists`]. So does a file that another process writes, which is an error of
//! kind [`io::ErrorKind::ResourceBusy`]: the writer has it locked.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::sys;

/// Returns the name of a file that is not whole yet.
pub fn part(file: &Path) -> PathBuf {
    let mut name = OsString::from(file.as_os_str());
    name.push(".part");
    name.into()
}

/// Returns the folder that a file is in.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Fails unless the name is free, or that of a file of this user, which may be replaced.
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

/// Fails unless the file belongs to this user.
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

/// Fails if another process writes to the file of this name.
pub fn refuse_used(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match options.open(path) {
        Ok(file) if !sys::lock(&file) => Err(used(path)),
        // A file that cannot be opened is reported when it would be replaced.
        _ => Ok(()),
    }
}

fn used(path: &Path) -> io::Error {
    let text = format!("another process writes {}", path.display());
    io::Error::new(ErrorKind::ResourceBusy, text)
}

/// Creates a file, in place of one of this user. The umask restricts `mode`. The file is locked while it is open.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(found) => {
            check_found(path, &found)?;
            refuse_used(path)?;
            fs::remove_file(path)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path)?;
    // Before it was locked, another process may have taken it for a dead one's.
    let is_here = |found: Metadata| Ok(same(&found, &file.metadata()?));
    if sys::lock(&file) && path.symlink_metadata().and_then(is_here)? {
        return Ok(file);
    }
    Err(used(path))
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Gives a file its name, in place of one of this user. Between the check and the renaming, others can create something
/// there only if the name was free, and then they only lose that name: no link is followed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    check(to)?;
    fs::rename(from, to)
}

/// Writes a file under its name with `.part` added, then renames it. `durable`: waits until it is on the disk. While
/// the returned file is open, other processes see that it is in use.
pub fn write(path: &Path, text: &str, durable: bool) -> io::Result<File> {
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
    Ok(file)
}

/// Waits until the names in a folder are on the disk.
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
    fn what_is_being_written_is_used_until_it_is_closed() {
        let folder = Folder::new("used");
        let path = folder.0.join("a");
        let first = create(&path, 0o600).expect("created");
        let busy = create(&path, 0o600).expect_err("refused");
        assert_eq!(busy.kind(), ErrorKind::ResourceBusy, "{busy}");
        refuse_used(&path).expect_err("refused");
        drop(first);
        refuse_used(&path).expect("free");
        let second = create(&path, 0o600).expect("created");
        // Under another name it is in use as well.
        fs::rename(&path, folder.0.join("b")).expect("renamed");
        refuse_used(&path).expect("nothing there");
        refuse_used(&folder.0.join("b")).expect_err("refused");
        drop(second);
        let written = write(&path, "text", false).expect("written");
        refuse_used(&path).expect_err("refused");
        let again = write(&path, "more", false).expect("written again by who has it");
        drop(written);
        refuse_used(&path).expect_err("refused");
        drop(again);
        refuse_used(&path).expect("free");
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
            // At its place, and under the name that it has until it is whole.
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
