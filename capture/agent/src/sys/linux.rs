//! Wraps Linux calls: signals as a descriptor, waiting, closing a socket's inlet, disk space, the kernel's clock.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// SIGINT, SIGTERM and SIGHUP as a descriptor that can be polled.
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals for this thread and those it starts.
    pub fn catch() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before the other calls use it; the descriptor is new and ours.
        unsafe {
            check(libc::sigemptyset(set.as_mut_ptr()))?;
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                check(libc::sigaddset(set.as_mut_ptr(), signal))?;
            }
            check(libc::sigprocmask(
                libc::SIG_BLOCK,
                set.as_ptr(),
                ptr::null_mut(),
            ))?;
            let fd = check(libc::signalfd(
                -1,
                set.as_ptr(),
                libc::SFD_NONBLOCK | libc::SFD_CLOEXEC,
            ))?;
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Returns the name of one pending signal.
    pub fn take(&self) -> Option<&'static str> {
        let mut information = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let length = mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the stated length.
        let read =
            unsafe { libc::read(self.0.as_raw_fd(), information.as_mut_ptr().cast(), length) };
        if read != length as isize {
            return None;
        }
        // SAFETY: the kernel filled it whole.
        match unsafe { information.assume_init() }.ssi_signo as libc::c_int {
            libc::SIGINT => Some("SIGINT"),
            libc::SIGHUP => Some("SIGHUP"),
            _ => Some("SIGTERM"),
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one of the descriptors can be read, or for this time.
pub fn wait<const N: usize>(descriptors: [RawFd; N], timeout: Duration) -> io::Result<()> {
    let mut entries = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the pointer and the count describe `entries`.
    let result = check(unsafe {
        libc::poll(
            entries.as_mut_ptr(),
            N as libc::nfds_t,
            timeout.as_millis() as libc::c_int,
        )
    });
    match result {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Lets no further packet into a packet socket, bypassing libpcap: that would apply a filter set through it to the
/// packets that wait in the ring as well.
pub fn close_inlet(socket: RawFd) -> io::Result<()> {
    let mut reject = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut reject,
    };
    // SAFETY: the pointers describe `program` and its one instruction, which the kernel copies.
    let result = unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            mem::size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// Creates a file without a name in this folder, which is gone when it is closed.
pub fn nameless_file(folder: &Path) -> io::Result<OwnedFd> {
    let name = CString::new(folder.as_os_str().as_bytes())?;
    let flags = libc::O_TMPFILE | libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the name is terminated; the descriptor is new and ours.
    unsafe {
        let fd = check(libc::open(name.as_ptr(), flags, 0o600))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits until everything written to the file system of this folder is on its disk.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    let folder = File::open(folder)?;
    // SAFETY: the descriptor is open.
    check(unsafe { libc::syncfs(folder.as_raw_fd()) }).map(drop)
}

/// Reserves space on the disk for a file.
pub fn allocate(file: RawFd, bytes: u64) -> io::Result<()> {
    // SAFETY: the call takes numbers only. The function returns the error instead of setting errno.
    match unsafe { libc::posix_fallocate(file, 0, bytes.cast_signed()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Returns the kernel's view of its clock, by adjtimex(2), and whether it takes it for synchronised.
pub fn kernel_clock() -> io::Result<(libc::timex, bool)> {
    // SAFETY: all zero is a valid structure, which asks and changes nothing; the kernel fills it.
    unsafe {
        let mut state: libc::timex = mem::zeroed();
        let result = check(libc::adjtimex(&raw mut state))?;
        let synchronised = result != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
        Ok((state, synchronised))
    }
}
