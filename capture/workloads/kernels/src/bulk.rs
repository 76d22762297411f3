//! Reliable transfer over UDP at a controlled rate, as in `LambdaStream` (EVL; He, Leigh, Yu and
//! others, 2005), and plain UDP beside it.
//!
//! The rate follows the interval in which packets arrive: if it is longer than the interval in
//! which they were sent, the path is filling up. Single losses do not change the rate; what is
//! lost is reported by the receiver and sent again.

pub mod abi;
pub mod rate;
pub mod receive;
pub mod send;
pub mod wire;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where the bytes of a transfer come from or go to.
#[derive(Debug)]
pub enum Place<'a> {
    /// A buffer to send.
    Source(&'a [u8]),
    /// A buffer to fill.
    Target(&'a mut [u8]),
    /// A file, read or written at once at any place.
    Disk(File, u64),
}

impl Place<'_> {
    /// Bytes of the whole transfer.
    pub fn len(&self) -> usize {
        match self {
            Self::Source(bytes) => bytes.len(),
            Self::Target(bytes) => bytes.len(),
            Self::Disk(_, length) => *length as usize,
        }
    }

    /// Whether there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn read(&self, at: usize, out: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Source(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Target(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Disk(file, _) => file.read_exact_at(out, at as u64)?,
        }
        Ok(())
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Source(_) => return Err(io::Error::other("a source is not written")),
            Self::Target(room) => room[at..at + bytes.len()].copy_from_slice(bytes),
            Self::Disk(file, _) => file.write_all_at(bytes, at as u64)?,
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Disk(file, _) => file.sync_data(),
            _ => Ok(()),
        }
    }
}

/// What a sender or receiver has seen.
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
    /// Time until all was there (receiver) or known to be there (sender).
    pub elapsed_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    /// A thread that is not run for 10 ms loses more than the relay does: what depends on that is tried again.
    const TRIES: usize = 10;

    /// A sender and a receiver on loopback; a relay in between loses every n-th data packet.
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
                receive::receive(&b, &mut Place::Target(target), 1000, reliable).unwrap()
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
            let (sent, got) = (sent.unwrap(), got.unwrap());
            assert_eq!(sent.blocks, got.blocks);
            if reliable {
                assert_eq!(got.arrived, got.blocks);
                return sent;
            }
            got
        });
        (data, received, counts)
    }

    #[test]
    fn everything_arrives_although_some_is_lost() {
        let mut rates = Vec::new();
        // Single losses are no reason to be slower.
        while rates.iter().all(|&rate| rate <= 60_000_000) {
            assert!(rates.len() < TRIES, "{rates:?}");
            let (sent, received, counts) = transfer(2_000_500, 50, true);
            assert!(sent == received);
            assert!(counts.repeated >= 2000 / 50, "{counts:?}");
            rates.push(counts.rate_bit_s);
        }
    }

    #[test]
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
