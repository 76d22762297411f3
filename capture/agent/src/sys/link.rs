//! Turns the kernel's notices about interfaces into whether one of them is up: rtnetlink(7).

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

const LINK_GROUP: u32 = 1;
const HEADER_BYTES: usize = 16;
/// A header, then type and number of the interface and its flags: struct ifinfomsg.
const LEAST_BYTES: usize = HEADER_BYTES + 16;
/// The interface is switched on, and has a carrier.
const UP_FLAGS: u32 = (libc::IFF_UP | libc::IFF_RUNNING) as u32;

/// A socket on which the kernel tells of changes. No privilege is needed.
pub struct LinkSocket {
    socket: OwnedFd,
    interface: CString,
    index: u32,
}

fn number<const N: usize>(bytes: &[u8], place: usize) -> Option<[u8; N]> {
    bytes.get(place..place + N)?.try_into().ok()
}

impl LinkSocket {
    /// Listens for changes of an interface of this network namespace.
    pub fn open(interface: &str) -> io::Result<Self> {
        let interface = CString::new(interface)?;
        // SAFETY: the name is terminated; zero is a valid address; the pointer and the length describe it.
        unsafe {
            let index = libc::if_nametoindex(interface.as_ptr());
            if index == 0 {
                return Err(io::Error::last_os_error());
            }
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let socket = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_nl = mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = LINK_GROUP;
            let length = mem::size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            if libc::bind(fd, ptr::from_ref(&address).cast(), length) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                socket,
                interface,
                index,
            })
        }
    }

    /// Whether the interface is up now; false when it is gone.
    pub fn is_up(&self) -> bool {
        // SAFETY: zero is a valid request; the name fits, with its end, or is cut.
        unsafe {
            let mut request: libc::ifreq = mem::zeroed();
            let name = self.interface.as_bytes();
            for (place, &byte) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name) {
                *place = byte as libc::c_char;
            }
            let result = libc::ioctl(
                self.socket.as_raw_fd(),
                libc::SIOCGIFFLAGS,
                &raw mut request,
            );
            result == 0 && is_up(u32::from(request.ifr_ifru.ifru_flags.cast_unsigned()))
        }
    }

    /// What the kernel told since the last call, oldest first; false is down.
    pub fn changes(&self) -> Vec<bool> {
        let mut found = Vec::new();
        let mut buffer = [0_u8; 16 << 10];
        loop {
            // SAFETY: the pointer and the length describe `buffer`.
            let count = unsafe {
                let fd = self.socket.as_raw_fd();
                libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0)
            };
            match usize::try_from(count) {
                Ok(count) if count > 0 => self.read(&buffer[..count], &mut found),
                // More was told than the socket holds: only the state now is known.
                Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => {
                    found.push(self.is_up());
                }
                _ => return found,
            }
        }
    }

    fn read(&self, mut bytes: &[u8], found: &mut Vec<bool>) {
        while let Some(length) = number(bytes, 0).map(u32::from_ne_bytes) {
            let length = length as usize;
            if length < HEADER_BYTES || length > bytes.len() {
                return;
            }
            if length >= LEAST_BYTES {
                let kind = number(bytes, 4).map(u16::from_ne_bytes);
                let index = number(bytes, HEADER_BYTES + 4).map(u32::from_ne_bytes);
                let flags = number(bytes, HEADER_BYTES + 8).map(u32::from_ne_bytes);
                if index == Some(self.index) {
                    match kind {
                        Some(libc::RTM_NEWLINK) => found.push(flags.is_some_and(is_up)),
                        Some(libc::RTM_DELLINK) => found.push(false),
                        _ => {}
                    }
                }
            }
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

const fn is_up(flags: u32) -> bool {
    flags & UP_FLAGS == UP_FLAGS
}

impl AsRawFd for LinkSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
