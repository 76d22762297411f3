//! Turns lines on a Unix socket into one line of JSON each; what a line means is up to the engine.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Longest line a client may send.
const LINE_LIMIT: usize = 4_096;
/// Clients served at once; more wait in the listener's queue.
const CLIENT_LIMIT: usize = 16;

/// The control socket and its clients. The socket file is removed when this is dropped.
pub struct Control {
    path: PathBuf,
    listener: UnixListener,
    clients: Vec<Client>,
}

struct Client {
    stream: UnixStream,
    line: Vec<u8>,
}

impl Control {
    /// Listens at `path`. A socket file that nobody listens at any more is replaced.
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
        let listener = UnixListener::bind(path).map_err(fail(
            "Give a path of at most 107 bytes in an existing folder that you may write to.",
        ))?;
        listener
            .set_nonblocking(true)
            .map_err(fail("Give another path with --control."))?;
        Ok(Self {
            path: path.to_owned(),
            listener,
            clients: Vec::new(),
        })
    }

    /// The descriptors to wait for.
    pub fn add_descriptors(&self, descriptors: &mut Vec<RawFd>) {
        if self.clients.len() < CLIENT_LIMIT {
            descriptors.push(self.listener.as_raw_fd());
        }
        descriptors.extend(self.clients.iter().map(|client| client.stream.as_raw_fd()));
    }

    /// Accepts clients and answers the lines they sent; never waits.
    pub fn serve(&mut self, mut answer: impl FnMut(&[u8]) -> String) {
        while self.clients.len() < CLIENT_LIMIT {
            let Ok((stream, _)) = self.listener.accept() else {
                break;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client {
                    stream,
                    line: Vec::new(),
                });
            }
        }
        self.clients.retain_mut(|client| client.serve(&mut answer));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Client {
    /// Answers what was sent; false when the client is gone, says too much or does not read its answers.
    fn serve(&mut self, answer: &mut impl FnMut(&[u8]) -> String) -> bool {
        let mut buffer = [0; LINE_LIMIT];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.line.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
            while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                let mut text = answer(line.trim_ascii());
                text.push('\n');
                if self.stream.write_all(text.as_bytes()).is_err() {
                    return false;
                }
            }
            if self.line.len() > LINE_LIMIT {
                return false;
            }
        }
        true
    }
}

/// Removes a socket file that an emulator left behind when it was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is not a socket",
        ));
    }
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
