//! Turns an interface into batches of captured packets: the part of libpcap's interface that the agent needs.

mod raw;

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint};
use std::os::fd::RawFd;
use std::ptr;
use std::slice;

use raw::{Handle, PacketHeader, Program, RawStatistics};

const ERROR_BYTES: usize = 256;
const PRECISION_NANO: c_int = 1;
const NETMASK_UNKNOWN: c_uint = u32::MAX;

/// Codes of `pcap_activate` that deserve their own message.
pub mod code {
    /// No such interface.
    pub const NO_SUCH_DEVICE: i32 = -5;
    /// The right to capture is missing.
    pub const PERMISSION_DENIED: i32 = -8;
    /// The interface is down.
    pub const INTERFACE_NOT_UP: i32 = -9;
    /// The right to set promiscuous mode is missing.
    pub const PROMISCUOUS_DENIED: i32 = -11;
}

/// The error of a failed call of libpcap.
#[derive(Debug)]
pub struct Failure {
    /// Its code; see [`code`].
    pub code: i32,
    /// Its text.
    pub message: String,
}

/// How to capture.
#[derive(Debug)]
pub struct Settings<'a> {
    /// Interface to capture from.
    pub interface: &'a str,
    /// Bytes of each packet that are kept.
    pub snaplen: i32,
    /// Size of the kernel's ring, bytes.
    pub buffer_bytes: i32,
    /// Time after which the kernel hands over a part-filled block of the ring, milliseconds.
    pub block_timeout_ms: i32,
    /// Whether frames for other stations are captured too.
    pub promiscuous: bool,
}

/// A captured packet.
#[derive(Debug)]
pub struct Packet<'a> {
    /// Seconds since the epoch.
    pub seconds: u32,
    /// Sub-second part, in units of the capture's resolution.
    pub fraction: u32,
    /// Length on the wire without FCS.
    pub length: u32,
    /// The bytes that were kept.
    pub bytes: &'a [u8],
}

/// Counters since the capture was opened, modulo 2^32.
#[derive(Debug, Default, Clone, Copy)]
pub struct Statistics {
    /// Packets that passed the filter, those dropped included.
    pub received: u32,
    /// Packets that found the ring full.
    pub dropped: u32,
    /// Packets that the interface lost.
    pub interface_dropped: u32,
}

/// An open capture.
pub struct Capture {
    handle: *mut Handle,
    fd: RawFd,
}

impl Drop for Capture {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used afterwards.
        unsafe { raw::pcap_close(self.handle) }
    }
}

/// Copies a string of libpcap's.
///
/// # Safety
/// `text` is null or a terminated string.
unsafe fn words(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().trim().to_owned()
}

/// Returns the version of libpcap.
pub fn version() -> String {
    // SAFETY: a static string.
    unsafe { words(raw::pcap_lib_version()) }
}

/// Returns a C string; text with a zero byte names nothing that exists.
fn terminated(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure {
        code: code::NO_SUCH_DEVICE,
        message: "a zero byte in the text".into(),
    })
}

impl Capture {
    /// Opens the interface. It captures at once, without a filter.
    pub fn open(settings: &Settings<'_>) -> Result<Self, Failure> {
        let interface = terminated(settings.interface)?;
        let mut error = [0; ERROR_BYTES];
        // SAFETY: both pointers are valid, the error buffer has the size that libpcap demands.
        let handle = unsafe { raw::pcap_create(interface.as_ptr(), error.as_mut_ptr()) };
        if handle.is_null() {
            return Err(Failure {
                code: -1,
                // SAFETY: libpcap wrote a terminated string.
                message: unsafe { words(error.as_ptr()) },
            });
        }
        let mut capture = Self { handle, fd: -1 };
        // SAFETY: the handle is open and not yet active; these calls only store the values.
        unsafe {
            raw::pcap_set_snaplen(handle, settings.snaplen);
            raw::pcap_set_promisc(handle, settings.promiscuous.into());
            raw::pcap_set_timeout(handle, settings.block_timeout_ms);
            raw::pcap_set_buffer_size(handle, settings.buffer_bytes);
            // Where it is not supported, times stay in microseconds: see `resolution_ns`.
            raw::pcap_set_tstamp_precision(handle, PRECISION_NANO);
        }
        // SAFETY: the handle is open. Positive values are warnings, such as that promiscuous mode is not supported.
        capture.check(unsafe { raw::pcap_activate(handle) })?;
        // SAFETY: the handle is active, the error buffer large enough.
        let result = unsafe { raw::pcap_setnonblock(handle, 1, error.as_mut_ptr()) };
        capture.check(result)?;
        // SAFETY: the handle is active.
        capture.fd = unsafe { raw::pcap_get_selectable_fd(handle) };
        Ok(capture)
    }

    /// Returns the descriptor to wait for.
    pub const fn fd(&self) -> RawFd {
        self.fd
    }

    /// Returns the nanoseconds per unit of [`Packet::fraction`].
    pub fn resolution_ns(&self) -> u32 {
        // SAFETY: the handle is active.
        if unsafe { raw::pcap_get_tstamp_precision(self.handle) } == PRECISION_NANO {
            1
        } else {
            1_000
        }
    }

    /// Returns libpcap's number of the link-layer header, and its name.
    pub fn link_type(&self) -> (i32, String) {
        // SAFETY: the handle is active; the name is a static string or null.
        unsafe {
            let number = raw::pcap_datalink(self.handle);
            (number, words(raw::pcap_datalink_val_to_name(number)))
        }
    }

    /// Sets the filter; an empty text lets everything pass.
    pub fn filter(&mut self, text: &str) -> Result<(), Failure> {
        let text = terminated(text)?;
        let mut program = Program {
            length: 0,
            instructions: ptr::null_mut(),
        };
        // SAFETY: the handle is active, the pointers valid; libpcap fills the program.
        let result = unsafe {
            raw::pcap_compile(
                self.handle,
                &raw mut program,
                text.as_ptr(),
                1,
                NETMASK_UNKNOWN,
            )
        };
        self.check(result)?;
        // SAFETY: the program was compiled for this handle.
        let result = unsafe { raw::pcap_setfilter(self.handle, &raw mut program) };
        // SAFETY: the kernel and libpcap have copies.
        unsafe { raw::pcap_freecode(&raw mut program) };
        self.check(result)
    }

    /// Hands up to `limit` packets that wait in the ring to `handle`; returns how many, 0 when none waits.
    pub fn dispatch<F: FnMut(Packet<'_>)>(
        &mut self,
        limit: u16,
        mut handle: F,
    ) -> Result<u64, Failure> {
        extern "C" fn forward<F: FnMut(Packet<'_>)>(
            user: *mut c_uchar,
            header: *const PacketHeader,
            bytes: *const c_uchar,
        ) {
            // SAFETY: `user` is the closure that `dispatch` borrows for the time of the call; header and bytes are
            // libpcap's, valid until this function returns.
            let (handle, header, bytes) = unsafe {
                let header = &*header;
                let bytes = slice::from_raw_parts(bytes, header.captured as usize);
                (&mut *user.cast::<F>(), header, bytes)
            };
            handle(Packet {
                seconds: header.time.tv_sec as u32,
                fraction: header.time.tv_usec as u32,
                length: header.length,
                bytes,
            });
        }
        let user = ptr::from_mut(&mut handle).cast();
        // SAFETY: the handle is active; `forward` gets the closure's pointer only during this call.
        let count = unsafe {
            raw::pcap_dispatch(
                self.handle,
                c_int::from(limit.cast_signed().max(1)),
                forward::<F>,
                user,
            )
        };
        self.check(count)?;
        Ok(count as u64)
    }

    /// Returns the counters so far.
    pub fn statistics(&mut self) -> Result<Statistics, Failure> {
        let mut raw = RawStatistics::default();
        // SAFETY: the handle is active, the pointer valid.
        let result = unsafe { raw::pcap_stats(self.handle, &raw mut raw) };
        self.check(result)?;
        Ok(Statistics {
            received: raw.received,
            dropped: raw.dropped,
            interface_dropped: raw.interface_dropped,
        })
    }

    fn check(&self, result: c_int) -> Result<(), Failure> {
        if result >= 0 {
            return Ok(());
        }
        // SAFETY: the handle is open; both strings are libpcap's.
        let (own, general) = unsafe {
            (
                words(raw::pcap_geterr(self.handle)),
                words(raw::pcap_statustostr(result)),
            )
        };
        let message = if own.is_empty() { general } else { own };
        Err(Failure {
            code: result,
            message,
        })
    }
}
