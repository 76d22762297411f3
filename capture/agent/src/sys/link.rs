//! Finds out from the kernel whether an interface is up: rtnetlink(7).

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

const LINK_GROUP: u32 = 1;
/// Sizes of struct nlmsghdr and of the struct ifinfomsg after it, which attributes follow.
const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// How often the carrier was lost since the interface was created: `linux/if_link.h`.
const CARRIER_DOWN_COUNT: u16 = 48;
/// The interface is switched on, and there is a carrier. `IFF_RUNNING` shows the latter too, up to a second late.
const UP_FLAGS: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;

/// The state of the interface at one time, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Switched on, with a carrier.
    pub up: bool,
    /// How often the carrier was lost; kernels before 4.16 do not count.
    pub losses: Option<u32>,
}

/// A socket on which the kernel reports changes. No privilege is needed.
pub struct LinkSocket {
    socket: OwnedFd,
    index: u32,
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
            Ok(Self { socket, index })
        }
    }

    /// Asks for the present state; the answer is the last of the next [`Self::states`].
    pub fn ask(&self) {
        let length = (HEADER_BYTES + LINK_BYTES) as u32;
        let mut request = [0; HEADER_BYTES + LINK_BYTES];
        request[..4].copy_from_slice(&length.to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
        request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
        request[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&self.index.to_ne_bytes());
        // SAFETY: the pointer and the length describe `request`. If it fails, no answer comes.
        unsafe {
            let fd = self.socket.as_raw_fd();
            libc::send(fd, request.as_ptr().cast(), request.len(), 0);
        }
    }

    /// Returns the states that the kernel has reported since the last call, oldest first.
    pub fn states(&self) -> Vec<State> {
        let mut found = Vec::new();
        let mut buffer = [0_u8; 16 << 10];
        loop {
            // SAFETY: the pointer and the length describe `buffer`.
            let count = unsafe {
                let fd = self.socket.as_raw_fd();
                libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0)
            };
            match usize::try_from(count) {
                Ok(count) if count > 0 => read(&buffer[..count], self.index, &mut found),
                // The socket overflowed; the next request has the current state.
                Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => {}
                _ => return found,
            }
        }
    }
}

impl AsRawFd for LinkSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    let word = bytes.get(place..place + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(word))
}

fn half(bytes: &[u8], place: usize) -> Option<u16> {
    let half = bytes.get(place..place + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(half))
}

/// Reads the messages about one interface.
fn read(mut bytes: &[u8], index: u32, found: &mut Vec<State>) {
    while let (Some(length), Some(kind)) = (word(bytes, 0), half(bytes, 4)) {
        let length = length as usize;
        let Some(message) = bytes.get(HEADER_BYTES..length) else {
            return;
        };
        if word(message, 4) == Some(index) {
            let flags = word(message, 8).unwrap_or_default();
            match kind {
                libc::RTM_NEWLINK => found.push(State {
                    up: flags & UP_FLAGS == UP_FLAGS,
                    losses: message.get(LINK_BYTES..).and_then(losses),
                }),
                libc::RTM_DELLINK => found.push(State {
                    up: false,
                    losses: None,
                }),
                _ => {}
            }
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn losses(mut attributes: &[u8]) -> Option<u32> {
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let length = usize::from(length);
        if kind == CARRIER_DOWN_COUNT {
            return word(attributes, ATTRIBUTE_BYTES);
        }
        if length < ATTRIBUTE_BYTES {
            return None;
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_an_interface_is_reported_on_request() {
        let socket = LinkSocket::open("lo").expect("netlink");
        socket.states();
        socket.ask();
        let states = socket.states();
        assert_eq!(states.len(), 1);
        assert!(LinkSocket::open("no-such-if").is_err());
    }

    #[test]
    fn messages_that_are_cut_or_of_others_are_passed_over() {
        let mut message = vec![0; HEADER_BYTES + LINK_BYTES];
        message[..4].copy_from_slice(&40_u32.to_ne_bytes());
        message[4..6].copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
        message[20..24].copy_from_slice(&7_u32.to_ne_bytes());
        message[24..28].copy_from_slice(&UP_FLAGS.to_ne_bytes());
        message.extend(8_u16.to_ne_bytes());
        message.extend(CARRIER_DOWN_COUNT.to_ne_bytes());
        message.extend(5_u32.to_ne_bytes());
        let twice = [&message[..], &message].concat();
        for (index, length, expected) in [(7, 80, 2), (7, 79, 1), (7, 3, 0), (8, 80, 0)] {
            let mut found = Vec::new();
            read(&twice[..length], index, &mut found);
            let state = State {
                up: true,
                losses: Some(5),
            };
            assert_eq!(found, vec![state; expected]);
        }
        message[..4].copy_from_slice(&0_u32.to_ne_bytes());
        read(&message, 7, &mut Vec::new());
    }
}
