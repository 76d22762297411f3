//! Measures the offset between two clocks by round trips to another host, in the packets of NTP (RFC 5905, section
//! 7.3): any NTP server can be the peer, or another agent that runs with --clock-listen.

use std::io;
use std::net::{ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

const PACKET_BYTES: usize = 48;
const PORT: u16 = 123;
/// First byte: version 4, and the mode of a client or of a server.
const CLIENT: u8 = 4 << 3 | 3;
const SERVER: u8 = 4 << 3 | 4;
/// Far from any reference clock, so that no daemon takes us for one.
const STRATUM: u8 = 15;
/// Places of the stamps in a packet.
const ORIGINATE: usize = 24;
const RECEIVE: usize = 32;
const TRANSMIT: usize = 40;
/// From 1900, where NTP's time begins, to 1970.
const EPOCH_S: u64 = 2_208_988_800;

const ROUND_TRIPS: usize = 8;
const TIMEOUT: Duration = Duration::from_millis(200);
/// A peer that is silent this often is not asked again.
const SILENCES: usize = 2;

/// This clock against that of the peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Host and port.
    pub address: String,
    /// Peer's clock minus ours, nanoseconds, by the quickest round trip.
    pub offset_ns: Option<i64>,
    /// That round trip; the offset is off by at most half of it.
    pub round_trip_ns: Option<i64>,
    /// Answers that came.
    pub answers: usize,
    /// Why there is no offset.
    pub error: Option<String>,
}

/// Returns NTP's stamp: seconds in the upper half, 2^-32 s in the lower.
fn stamp(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let fraction = (u64::from(since.subsec_nanos()) << 32) / 1_000_000_000;
    ((since.as_secs() + EPOCH_S) << 32) | fraction
}

/// Returns the time from stamp to stamp; valid across the turn of NTP's era in 2036.
const fn between_ns(from: u64, to: u64) -> i64 {
    ((to.wrapping_sub(from).cast_signed() as i128 * 1_000_000_000) >> 32) as i64
}

fn read(packet: &[u8; PACKET_BYTES], place: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&packet[place..place + 8]);
    u64::from_be_bytes(bytes)
}

fn write(packet: &mut [u8; PACKET_BYTES], place: usize, stamp: u64) {
    packet[place..place + 8].copy_from_slice(&stamp.to_be_bytes());
}

/// Compares our clock with that of `HOST` or `HOST:PORT`.
pub fn compare(address: &str) -> Comparison {
    let mut comparison = Comparison {
        address: address.to_owned(),
        ..Comparison::default()
    };
    match round_trips(address) {
        Ok(found) => {
            comparison.answers = found.len();
            match found.iter().min_by_key(|(_, round_trip_ns)| *round_trip_ns) {
                Some(&(offset_ns, round_trip_ns)) => {
                    comparison.offset_ns = Some(offset_ns);
                    comparison.round_trip_ns = Some(round_trip_ns);
                }
                None => comparison.error = Some("no answer".into()),
            }
        }
        Err(error) => comparison.error = Some(error.to_string()),
    }
    comparison
}

/// Returns offsets and round trips, nanoseconds.
fn round_trips(address: &str) -> io::Result<Vec<(i64, i64)>> {
    let mut candidates = address
        .to_socket_addrs()
        .or_else(|_| (address, PORT).to_socket_addrs())?;
    let peer = candidates
        .next()
        .ok_or_else(|| io::Error::other("a name without address"))?;
    let any = if peer.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    let mut found = Vec::new();
    let mut silences = 0;
    while found.len() + silences < ROUND_TRIPS && silences < SILENCES {
        match round_trip(&socket) {
            Ok(result) => found.push(result),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(error),
            Err(_) => silences += 1,
        }
    }
    Ok(found)
}

/// Returns the offset and the round trip, from four stamps (RFC 5905, section 8).
fn round_trip(socket: &UdpSocket) -> io::Result<(i64, i64)> {
    let mut packet = [0; PACKET_BYTES];
    packet[0] = CLIENT;
    let asked = stamp(SystemTime::now());
    write(&mut packet, TRANSMIT, asked);
    socket.send(&packet)?;
    // Skips late answers to questions that were given up.
    loop {
        let length = socket.recv(&mut packet)?;
        let answered = stamp(SystemTime::now());
        let ours = length >= PACKET_BYTES && read(&packet, ORIGINATE) == asked;
        if ours && packet[0] & 7 == SERVER & 7 {
            let (received, sent) = (read(&packet, RECEIVE), read(&packet, TRANSMIT));
            let there = between_ns(asked, received);
            let back = between_ns(answered, sent);
            let round_trip = between_ns(asked, answered) - between_ns(received, sent);
            return Ok((i64::midpoint(there, back), round_trip));
        }
    }
}

/// Answers others with our time for as long as the process lives; returns when the port is open.
pub fn serve(address: &str) -> io::Result<()> {
    let socket = UdpSocket::bind(address)?;
    thread::Builder::new()
        .name("clock".into())
        .spawn(move || {
            loop {
                let mut packet = [0; PACKET_BYTES];
                let Ok((length, client)) = socket.recv_from(&mut packet) else {
                    continue;
                };
                let received = stamp(SystemTime::now());
                if length < PACKET_BYTES || packet[0] & 7 != CLIENT & 7 {
                    continue;
                }
                let asked = read(&packet, TRANSMIT);
                packet = [0; PACKET_BYTES];
                packet[..2].copy_from_slice(&[SERVER, STRATUM]);
                write(&mut packet, ORIGINATE, asked);
                write(&mut packet, RECEIVE, received);
                write(&mut packet, TRANSMIT, stamp(SystemTime::now()));
                let _ = socket.send_to(&packet, client);
            }
        })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_keep_nanoseconds_and_cross_the_era() {
        let moment = UNIX_EPOCH + Duration::new(2_085_978_495, 999_999_999);
        let later = moment + Duration::from_nanos(1_000_000_001);
        assert!((between_ns(stamp(moment), stamp(later)) - 1_000_000_001).abs() <= 1);
        assert!((between_ns(stamp(later), stamp(moment)) + 1_000_000_001).abs() <= 1);
        assert_eq!(stamp(UNIX_EPOCH) >> 32, EPOCH_S);
    }

    #[test]
    fn own_clock_has_no_offset_beyond_half_the_round_trip() {
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let address = free.expect("a free port").to_string();
        serve(&address).expect("a free port");
        // If the machine stalls for `TIMEOUT`, an answer is late: then once more.
        let mut tries = (0..5).map(|_| compare(&address));
        let found = tries.find(|found| found.answers == ROUND_TRIPS);
        let found = found.expect("all answers in time");
        assert_eq!(found.error, None);
        let (offset, round_trip) = (found.offset_ns.unwrap(), found.round_trip_ns.unwrap());
        assert!(round_trip > 0);
        assert!(offset.abs() <= round_trip / 2 + 2, "{offset} {round_trip}");
    }

    #[test]
    fn missing_peer_is_reported() {
        assert!(compare("127.0.0.1:9").error.is_some());
        assert!(compare("no.such.host.invalid").error.is_some());
    }
}
