//! Turns signals into a descriptor, and asks for what punctual threads need: real-time scheduling, resident memory.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::check;

/// SIGTERM and SIGINT as a descriptor that can be polled.
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks both signals for this thread and those it starts.
    pub fn catch() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before the other calls use it.
        unsafe {
            check(libc::sigemptyset(set.as_mut_ptr()))?;
            check(libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM))?;
            check(libc::sigaddset(set.as_mut_ptr(), libc::SIGINT))?;
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

    /// Takes one pending signal; returns whether there was one.
    pub fn take(&self) -> bool {
        let mut information = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let length = mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the stated length.
        let read =
            unsafe { libc::read(self.0.as_raw_fd(), information.as_mut_ptr().cast(), length) };
        read == length as isize
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until a descriptor can be read or the time is over (`None`: forever); `ready` is true for each that can.
pub fn poll(
    descriptors: &[RawFd],
    ready: &mut Vec<bool>,
    timeout_ns: Option<u64>,
) -> io::Result<()> {
    let mut entries: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let timeout = timeout_ns.map(|time| libc::timespec {
        tv_sec: (time / 1_000_000_000) as libc::time_t,
        tv_nsec: (time % 1_000_000_000) as libc::c_long,
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the pointers describe `entries` and `timeout`, which outlive the call.
    let result = check(unsafe {
        libc::ppoll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            timeout,
            ptr::null(),
        )
    });
    if let Err(error) = result
        && error.kind() != io::ErrorKind::Interrupted
    {
        return Err(error);
    }
    ready.clear();
    ready.extend(entries.iter().map(|entry| entry.revents != 0));
    Ok(())
}

/// Runs `act` with a mask for the permissions of new files; no other thread may create files meanwhile.
pub fn with_mask<T>(mask: libc::mode_t, act: impl FnOnce() -> T) -> T {
    // SAFETY: numbers only.
    let before = unsafe { libc::umask(mask) };
    let result = act();
    // SAFETY: as above.
    unsafe { libc::umask(before) };
    result
}

/// Asks for first-in-first-out real-time scheduling of this thread.
pub fn real_time(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the pointer describes `parameter`.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) }).map(drop)
}

/// Lets timers of this thread expire on time instead of up to 50 us later.
pub fn precise_timers() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) }).map(drop)
}

/// Keeps all memory of the process resident, now and later, unless a limit on locked memory could make a later
/// allocation fail.
pub fn lock_memory() -> io::Result<()> {
    let unlimited = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the pointer describes `unlimited`.
    check(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const unlimited) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}
