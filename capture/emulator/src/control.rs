//! Answers each line on a Unix socket with one line of JSON; the engine decides what a line means.
//!
//! Frames come first: one line is answered at a time, and after each look the socket is left alone for long enough that
//! it costs a small share of the time, whatever clients do.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::error::Error;
use crate::sys::process;

/// Longest line a client may send.
const LINE_LIMIT: usize = 4_096;
/// Clients served at once. One more takes the place of the one that has been silent for longest.
const CLIENT_LIMIT: usize = 16;
/// After a look the socket is left alone for this many times as long as the look took: 5 % of the time at most.
const REST: u64 = 19;

/// The control socket and its clients. The socket file is removed when this is dropped.
pub struct Control {
    path: PathBuf,
    /// Device and inode of the socket file: another one is not ours to remove.
    file: Option<(u64, u64)>,
    listener: UnixListener,
    /// The client that was answered last is the last.
    clients: Vec<Client>,
    resting_until_ns: u64,
}

struct Client {
    stream: UnixStream,
    received: Vec<u8>,
    heard_ns: u64,
}

impl Control {
    /// Listens at `path`. A socket file of ours without a listener is replaced.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let fail = |remedy| {
            move |source| Error::Output {
                what: "control socket",
                path: path.to_owned(),
                source,
                remedy,
            }
        };
        remove_stale(path).map_err(fail(
            "Stop the emulator that uses it, or give another path with --control.",
        ))?;
        // Only this user may connect, whatever the umask.
        let listener = process::with_mask(0o177, || UnixListener::bind(path)).map_err(fail(
            "Give a path of at most 107 bytes in an existing folder that you may write to.",
        ))?;
        listener
            .set_nonblocking(true)
            .map_err(fail("Give another path with --control."))?;
        Ok(Self {
            path: path.to_owned(),
            file: identity(path),
            listener,
            clients: Vec::new(),
            resting_until_ns: 0,
        })
    }

    /// Adds the descriptors to wait for now.
    pub fn add_descriptors(&self, now_ns: u64, descriptors: &mut Vec<RawFd>) {
        if now_ns >= self.resting_until_ns {
            descriptors.push(self.listener.as_raw_fd());
            descriptors.extend(self.clients.iter().map(|client| client.stream.as_raw_fd()));
        }
    }

    /// Returns when to look at the socket without an event on its descriptor; none if that is not needed.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let waiting = self.clients.iter().any(|client| client.end().is_some());
        (waiting || now_ns < self.resting_until_ns).then_some(self.resting_until_ns)
    }

    /// Accepts clients and answers one of the lines they sent, each client in its turn; never waits.
    pub fn serve(&mut self, clock: Clock, answer: impl FnOnce(&[u8]) -> String) {
        let begin_ns = clock.now_ns();
        if begin_ns < self.resting_until_ns {
            return;
        }
        self.accept(begin_ns);
        if !self.clients.iter().any(|client| client.end().is_some()) {
            self.clients.retain_mut(|client| client.receive(begin_ns));
        }
        let next = self
            .clients
            .iter()
            .position(|client| client.end().is_some());
        if let Some(next) = next {
            let mut client = self.clients.remove(next);
            if client.serve(answer) {
                self.clients.push(client);
            }
        }
        let end_ns = clock.now_ns();
        self.resting_until_ns = end_ns + REST * (end_ns - begin_ns);
    }

    fn accept(&mut self, now_ns: u64) {
        for _ in 0..CLIENT_LIMIT {
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == CLIENT_LIMIT {
                let heard = self.clients.iter().map(|client| client.heard_ns);
                if let Some((silent, _)) = heard.enumerate().min_by_key(|&(_, heard_ns)| heard_ns) {
                    self.clients.remove(silent);
                }
            }
            self.clients.push(Client {
                stream,
                received: Vec::new(),
                heard_ns: now_ns,
            });
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Client {
    /// Returns where the first line that was received ends.
    fn end(&self) -> Option<usize> {
        self.received.iter().position(|&byte| byte == b'\n')
    }

    /// Reads what was sent; returns false when the client is gone or sent too much.
    fn receive(&mut self, now_ns: u64) -> bool {
        let mut buffer = [0; LINE_LIMIT];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.heard_ns = now_ns;
                self.received.extend_from_slice(&buffer[..count]);
                self.received.len() <= LINE_LIMIT || self.end().is_some()
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Answers the first line; returns false when the client does not read its answers.
    fn serve(&mut self, answer: impl FnOnce(&[u8]) -> String) -> bool {
        let Some(end) = self.end() else {
            return true;
        };
        let line: Vec<u8> = self.received.drain(..=end).collect();
        let mut text = answer(line.trim_ascii());
        text.push('\n');
        self.stream.write_all(text.as_bytes()).is_ok()
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Removes a socket file that an emulator of this user left behind when it was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        // A socket does not replace a file of this user either.
        flowsweep_common::output::check(path)?;
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is not a socket",
        ));
    }
    flowsweep_common::output::check_owner(path, &found)?;
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "a running emulator answers there",
        )),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}
