//! Reliable transfer over UDP at a controlled rate, as in `LambdaStream` (EVL; He, Leigh, Yu and others, 2005), and
//! plain UDP.
//!
//! The rate follows the interval in which packets arrive: if it is longer than the interval in which they were sent,
//! the path is filling up. Single losses do not change the rate; the receiver reports lost blocks, which are sent
//! again.

pub mod abi;
pub mod rate;
pub mod receive;
pub mod send;
pub mod wire;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Where the bytes of a transfer come from or go to.
#[derive(Debug)]
pub enum Place<'a> {
    /// A buffer to send.
    Source(&'a [u8]),
    /// A buffer to fill.
    Target(&'a mut [u8]),
    /// Files, read or written directly at any place: one after the other, they form the content.
    Disk(Files),
}

impl Place<'_> {
    /// Returns the bytes of the whole transfer.
    pub fn len(&self) -> usize {
        match self {
            Self::Source(bytes) => bytes.len(),
            Self::Target(bytes) => bytes.len(),
            Self::Disk(files) => files.length,
        }
    }

    /// Returns whether there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn read(&self, at: usize, out: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Source(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Target(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Disk(files) => files.each(at, out.len(), |file, place, part| {
                file.read_exact_at(&mut out[part], place)
            })?,
        }
        Ok(())
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Source(_) => return Err(io::Error::other("a source is not written")),
            Self::Target(room) => room[at..at + bytes.len()].copy_from_slice(bytes),
            Self::Disk(files) => files.each(at, bytes.len(), |file, place, part| {
                file.write_all_at(&bytes[part], place)
            })?,
        }
        Ok(())
    }

    /// Waits until file number `part` is on the disk, if the place has files.
    fn sync(&mut self, part: usize) -> io::Result<()> {
        match self {
            Self::Disk(files) => files.open[part].sync_data(),
            _ => Ok(()),
        }
    }
}

/// Open files of the same length; the last one may be shorter.
#[derive(Debug)]
pub struct Files {
    open: Vec<File>,
    length: usize,
    each: usize,
}

impl Files {
    /// Takes files of `length` bytes in all, which [`piece_bytes`] divides among them.
    pub fn new(open: Vec<File>, length: usize) -> Self {
        let each = piece_bytes(length, open.len());
        Self { open, length, each }
    }

    /// Calls `work` with each file that bytes `at..at + length` lie in: the place in the file and
    /// the part of these bytes.
    fn each(
        &self,
        at: usize,
        length: usize,
        mut work: impl FnMut(&File, u64, Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let (file, place) = ((at + done) / self.each, (at + done) % self.each);
            let part = (self.each - place).min(length - done);
            work(&self.open[file], place as u64, done..done + part)?;
            done += part;
        }
        Ok(())
    }
}

/// Returns the bytes of each of `pieces` pieces of a content; the last one may be shorter.
pub fn piece_bytes(length: usize, pieces: usize) -> usize {
    length.div_ceil(pieces.max(1)).max(1)
}

/// When a piece of the content, a file, was received, in nanoseconds since the receiver began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// When the first of its packets arrived.
    pub first_ns: u64,
    /// When it and all pieces before it were complete, on the disk if they go there; 0 for a piece that never was.
    pub whole_ns: u64,
}

/// Counts of a sender or a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Packets with data sent (sender) or received (receiver), repeated ones included.
    pub packets: u64,
    /// Their UDP payload, headers included.
    pub payload_bytes: u64,
    /// Blocks sent again, or received more than once.
    pub repeated: u64,
    /// Reports sent (receiver) or received (sender), and their UDP payload.
    pub reports: u64,
    /// See `reports`.
    pub report_bytes: u64,
    /// Blocks of the transfer, and those that arrived.
    pub blocks: u64,
    /// See `blocks`.
    pub arrived: u64,
    /// Times at which the rate was lowered.
    pub lowered: u64,
    /// The last rate, in bit/s of UDP payload.
    pub rate_bit_s: u64,
    /// Time until all data was there (receiver) or known to be there (sender).
    pub elapsed_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    /// A thread that does not run for 10 ms loses more packets than the relay drops: results that
    /// depend on it are tried again, and their tests run alone (`make test-alone`).
    const TRIES: usize = 10;

    /// Runs a sender and a receiver on loopback; a relay in between loses every n-th data packet.
    fn transfer(bytes: usize, lose_every: usize, reliable: bool) -> (Vec<u8>, Vec<u8>, Counts) {
        let data: Vec<u8> = (0..bytes).map(|i| ((i * i) >> 3) as u8).collect();
        let make = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (a, relay, b) = (make(), make(), make());
        a.connect(relay.local_addr().unwrap()).unwrap();
        b.connect(relay.local_addr().unwrap()).unwrap();
        let (to_a, to_b) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        relay
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let mut received = vec![0; bytes];
        let over = AtomicBool::new(false);
        let counts = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut packet = [0; 2048];
                let mut seen = 0;
                while !over.load(Ordering::Relaxed) {
                    let Ok((length, from)) = relay.recv_from(&mut packet) else {
                        continue;
                    };
                    seen += usize::from(from == to_a);
                    let lost = from == to_a && seen % lose_every == 0;
                    if !lost {
                        let to = if from == to_a { to_b } else { to_a };
                        let _ = relay.send_to(&packet[..length], to);
                    }
                }
            });
            let target = &mut received;
            let other_side = scope.spawn(move || {
                let mut spans = [Span::default()];
                let mut target = Place::Target(target);
                let got = receive::receive(&b, &mut target, 1000, reliable, &mut spans).unwrap();
                (got, spans[0])
            });
            let plan = send::Plan {
                block_bytes: 1000,
                start_bit_s: 80e6,
                least_bit_s: 1e6,
                most_bit_s: 100e6,
                reliable,
            };
            let sent = send::send(&a, &Place::Source(&data), &plan);
            let got = other_side.join();
            over.store(true, Ordering::Relaxed);
            let (sent, (got, span)) = (sent.unwrap(), got.unwrap());
            assert_eq!(sent.blocks, got.blocks);
            if reliable {
                assert_eq!(got.arrived, got.blocks);
                assert!(
                    0 < span.first_ns && span.first_ns < span.whole_ns,
                    "{span:?}"
                );
                assert!(span.whole_ns <= got.elapsed_ns, "{span:?}");
                return sent;
            }
            got
        });
        (data, received, counts)
    }

    #[test]
    fn everything_arrives_although_some_is_lost() {
        let (sent, received, counts) = transfer(2_000_500, 50, true);
        assert!(sent == received);
        assert!(counts.repeated >= 2000 / 50, "{counts:?}");
    }

    #[test]
    #[ignore = "measures a rate: runs alone"]
    fn single_losses_do_not_lower_the_rate() {
        let mut rates = Vec::new();
        while rates.iter().all(|&rate| rate <= 60_000_000) {
            assert!(rates.len() < TRIES, "{rates:?}");
            rates.push(transfer(2_000_500, 50, true).2.rate_bit_s);
        }
    }

    #[test]
    fn files_are_one_content() {
        let folder = std::env::temp_dir().join(format!("bulk-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let content: Vec<u8> = (0..1000_u32).map(|i| (i * 7) as u8).collect();
        let open = (0..3).map(|number| {
            let path = folder.join(number.to_string());
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true);
            options.open(path).unwrap()
        });
        // 334, 334 and 332 bytes.
        let mut place = Place::Disk(Files::new(open.collect(), content.len()));
        assert_eq!(place.len(), 1000);
        // Out of order, and across the ends of files.
        for at in [900, 300, 0, 600] {
            let end = (at + 300).min(1000);
            place.write(at, &content[at..end]).unwrap();
        }
        let mut found = vec![0; 1000];
        place.read(0, &mut found).unwrap();
        assert!(found == content);
        let sizes = |number: usize| std::fs::read(folder.join(number.to_string())).unwrap();
        assert!(sizes(0) == content[..334] && sizes(1) == content[334..668]);
        assert!(sizes(2) == content[668..]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[ignore = "measures a loss: runs alone"]
    fn plain_udp_says_how_much_arrived() {
        let mut arrived = Vec::new();
        while !arrived.iter().any(|count| (400..500).contains(count)) {
            assert!(arrived.len() < TRIES, "{arrived:?}");
            let (sent, received, counts) = transfer(500_000, 10, false);
            assert!(sent != received);
            assert_eq!(counts.blocks, 500);
            arrived.push(counts.arrived);
        }
    }
}
