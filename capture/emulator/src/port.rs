//! Turns a site's interface into batches of frames with arrival times, and frames back into packets on the wire.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::clock::{Clock, Now};
use crate::config;
use crate::error::{Error, warn};
use crate::stats::PortCounters;
use crate::sys::packet::{self, BATCH, PacketSocket};
use crate::sys::receive::{ReceiveBatch, Received};

/// Requested per direction: 64 MiB hold 20 ms of 10 Gbit/s even when every frame costs twice its size.
const BUFFER_BYTES: i32 = 64 << 20;

/// One site's port.
pub struct Port {
    /// Name in the configuration.
    pub name: String,
    /// Interface in this network namespace.
    pub interface: String,
    /// Counters of this port since the start.
    pub counters: PortCounters,
    socket: PacketSocket,
    index: u32,
    /// When the socket was last seen empty.
    emptied_ns: u64,
}

/// Fates of frames handed to the interface.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// This many left, from the first on.
    Frames(usize),
    /// The interface is busy; nothing left.
    Busy,
    /// The interface will never take the first frame.
    Refused,
}

impl Port {
    /// Opens the interface.
    pub fn open(config: config::Port) -> Result<Self, Error> {
        let config::Port {
            name, interface, ..
        } = config;
        let index = packet::interface_index(&interface).map_err(|_| Error::NoInterface {
            port: name.clone(),
            interface: interface.clone(),
        })?;
        let socket =
            PacketSocket::open(index, BUFFER_BYTES).map_err(|source| match source.kind() {
                io::ErrorKind::PermissionDenied => Error::NotPermitted {
                    interface: interface.clone(),
                    source,
                },
                _ => Error::System {
                    action: format!("opening a packet socket on {interface}"),
                    source,
                },
            })?;
        Ok(Self {
            name,
            interface,
            counters: PortCounters::default(),
            socket,
            index,
            emptied_ns: 0,
        })
    }

    /// Reads what waits, up to one batch; returns true when more may wait.
    pub fn receive(&mut self, batch: &mut ReceiveBatch, clock: Clock) -> Result<bool, Error> {
        let before_ns = clock.now_ns();
        let count = match batch.receive(&self.socket) {
            Ok(count) => count,
            // The interface went down; the kernel reports that once. It may come up again.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.check_presence()?;
                warn(format_args!("interface {} is down", self.interface));
                return Ok(false);
            }
            Err(source) => {
                return Err(Error::System {
                    action: format!("receiving from {}", self.interface),
                    source,
                });
            }
        };
        self.counters.received += count as u64;
        if count < BATCH {
            self.emptied_ns = before_ns;
        }
        Ok(count == BATCH)
    }

    /// Returns the arrival time of a frame of the batch just read.
    ///
    /// The read itself may note an emptiness later than the frames it returned, so callers take the floor before it.
    pub fn arrival_ns(frame: &Received<'_>, now: Now, floor_ns: u64) -> u64 {
        frame
            .stamp_ns
            .map_or(now.steady_ns, |stamp| now.steady(stamp, floor_ns))
    }

    /// Returns when the socket was last seen empty.
    pub const fn emptied_ns(&self) -> u64 {
        self.emptied_ns
    }

    /// Hands frames to the interface.
    pub fn send(&self, frames: &[&[u8]]) -> Sent {
        match self.socket.send(frames) {
            Ok(count) => Sent::Frames(count),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Sent::Busy,
                _ => Sent::Refused,
            },
        }
    }

    /// Lets no further frame in; those that wait can still be received.
    pub fn close_inlet(&self) -> Result<(), Error> {
        let result = self.socket.close_inlet();
        result.map_err(Error::system("closing the inlet of a socket"))
    }

    /// Adds the kernel's drops since the last call to the counters.
    pub fn update_drops(&mut self) {
        self.counters.kernel_dropped += self.socket.take_drops().unwrap_or(0);
    }

    fn check_presence(&self) -> Result<(), Error> {
        match packet::interface_index(&self.interface) {
            Ok(index) if index == self.index => Ok(()),
            _ => Err(Error::NoInterface {
                port: self.name.clone(),
                interface: self.interface.clone(),
            }),
        }
    }
}

impl AsRawFd for Port {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
