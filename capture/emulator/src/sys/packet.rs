//! Turns an interface into a packet socket that sends Ethernet frames in batches; `receive` reads them.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::check;

/// Frames that cross the kernel's border in one call.
pub const BATCH: usize = 64;

fn socklen<T>() -> libc::socklen_t {
    mem::size_of::<T>() as libc::socklen_t
}

fn set_option<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which the kernel only reads.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(value).cast(),
            socklen::<T>(),
        )
    };
    check(result).map(drop)
}

/// Returns the number of an interface of this network namespace.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: `name` is a terminated string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// A packet socket bound to one interface: every frame that comes in, with the kernel's receive stamp; no outgoing one.
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens and binds. `buffer_bytes` is requested in both directions; without privilege the kernel grants less.
    pub fn open(interface: u32, buffer_bytes: libc::c_int) -> io::Result<Self> {
        // Protocol 0 until it is bound: otherwise frames of all interfaces would be queued in between.
        // SAFETY: no pointers.
        let fd = check(unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                0,
            )
        })?;
        // SAFETY: the kernel just returned this descriptor; nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        for (force, plain) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            set_option(&socket, libc::SOL_SOCKET, force, &buffer_bytes)
                .or_else(|_| set_option(&socket, libc::SOL_SOCKET, plain, &buffer_bytes))?;
        }
        let on: libc::c_int = 1;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        // SAFETY: zero is a valid value of this plain structure.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as libc::c_int;
        // SAFETY: the pointer and the length describe `address`.
        check(unsafe {
            libc::bind(
                socket.as_raw_fd(),
                ptr::from_ref(&address).cast(),
                socklen::<libc::sockaddr_ll>(),
            )
        })?;
        // SAFETY: zero is a valid value of this plain structure.
        let mut membership: libc::packet_mreq = unsafe { mem::zeroed() };
        membership.mr_ifindex = interface as libc::c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &membership,
        )?;
        Ok(Self(socket))
    }

    /// Lets no further frame in; those that wait can still be read.
    pub fn close_inlet(&self) -> io::Result<()> {
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
        set_option(&self.0, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Returns how many frames the kernel dropped at this socket since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = socklen::<libc::tpacket_stats>();
        // SAFETY: the pointers describe `statistics` and its length, which the kernel fills.
        check(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                ptr::from_mut(&mut statistics).cast(),
                &raw mut length,
            )
        })?;
        Ok(u64::from(statistics.tp_drops))
    }

    /// Sends up to [`BATCH`] frames; returns how many the interface took. An error is about the first frame.
    pub fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        // SAFETY: zero is a valid value of these plain structures.
        let mut vectors: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for ((vector, message), frame) in vectors.iter_mut().zip(&mut messages).zip(frames) {
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` messages point at vectors and frames that outlive the call; the kernel only reads
        // the frames.
        let sent = check(unsafe {
            libc::sendmmsg(
                self.0.as_raw_fd(),
                messages.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        })?;
        Ok(sent as usize)
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_interface_has_no_index() {
        assert!(interface_index("no-such-if").is_err());
        assert!(interface_index("lo").is_ok());
    }
}
