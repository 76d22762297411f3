//! IPv4 and IPv6 headers to addresses, lengths and the transport protocol.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::protocols::{FRAGMENT, TCP, has_ports};
use super::{Key, Layer, Outcome, Stop, Walk, source_route};

const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
/// Headers between that of IP and the transport's, at most.
const MOST_HEADERS: usize = 1024;

/// What the headers of one IP packet say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ip {
    pub source: u128,
    pub destination: u128,
    pub v6: bool,
    /// Identification; 0 for IPv6.
    pub ident: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Length of the whole packet.
    pub bytes: u32,
    /// Bytes behind the headers read so far.
    pub payload: u32,
    pub offloaded: bool,
    /// The addresses in a checksum are others.
    pub elsewhere: bool,
}

impl Walk<'_> {
    /// IPv4, RFC 791.
    pub(super) fn ip4(&mut self) -> Result<Layer, Stop> {
        let header = *self.chunk::<20>(0)?;
        let header_length = usize::from(header[0] & 15) * 4;
        if header[0] >> 4 == 6 {
            // The header before it says IPv4 for both versions: the packet knows better.
            return Ok(Layer::Ip6);
        }
        if header[0] >> 4 != 4 || header_length < 20 {
            return Err(Stop::Malformed);
        }
        let stated = u32::from(u16::from_be_bytes([header[2], header[3]]));
        let bytes = if stated == 0 {
            self.wire_left()
        } else {
            stated
        };
        let mut ip = Ip {
            source: u128::from(u32::from_be_bytes([
                header[12], header[13], header[14], header[15],
            ])),
            destination: u128::from(u32::from_be_bytes([
                header[16], header[17], header[18], header[19],
            ])),
            v6: false,
            ident: u16::from_be_bytes([header[4], header[5]]),
            ttl: header[8],
            bytes,
            payload: self
                .bounded(bytes)
                .checked_sub(header_length as u32)
                .ok_or(Stop::Malformed)?,
            offloaded: stated == 0,
            elsewhere: false,
        };
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        if header_length > 20
            && let Some(options) = self.bytes.get(self.at + 20..self.at + header_length)
            && let Some(last) = source_route::ip4(options)
        {
            ip.destination = u128::from(last);
        }
        if self.verifies() {
            self.verify_ip4(header_length);
        }
        self.at += header_length;
        // More fragments follow, or this is not the first.
        if fragment & 0x3fff != 0 {
            self.fragment(&ip, u64::from(header[9]) << 32 | u64::from(ip.ident));
        }
        if fragment & 0x1fff != 0 {
            return Ok(self.later_fragment(&ip, header[9], usize::from(fragment & 0x1fff) * 8));
        }
        if header[9] == AUTHENTICATION {
            return self.authenticated(ip);
        }
        self.protocol(header[9], &ip)
    }

    /// IPv4 behind authentication headers, RFC 4302: what they protect is the packet. It may be nothing but
    /// such headers: bounded.
    #[cold]
    fn authenticated(&mut self, mut ip: Ip) -> Result<Layer, Stop> {
        for _ in 0..MOST_HEADERS {
            let Ok(&[next, length]) = self.chunk::<2>(0) else {
                return self.protocol(AUTHENTICATION, &ip);
            };
            let length = (usize::from(length) + 2) * 4;
            self.at += length;
            ip.payload = ip.payload.saturating_sub(length as u32);
            if next != AUTHENTICATION {
                return self.protocol(next, &ip);
            }
        }
        Err(Stop::Malformed)
    }

    /// IPv6, RFC 8200.
    pub(super) fn ip6(&mut self) -> Result<Layer, Stop> {
        let header = *self.chunk::<40>(0)?;
        if header[0] >> 4 != 6 {
            return Err(Stop::Malformed);
        }
        let stated = u32::from(u16::from_be_bytes([header[4], header[5]]));
        let payload = if stated == 0 {
            self.wire_left().saturating_sub(40)
        } else {
            stated
        };
        let (source, destination) = header[8..40].split_at(16);
        let mut ip = Ip {
            source: wide(source),
            destination: wide(destination),
            v6: true,
            ident: 0,
            ttl: header[7],
            bytes: payload + 40,
            payload: self.bounded(payload + 40).saturating_sub(40),
            offloaded: stated == 0 && payload > 0,
            elsewhere: false,
        };
        self.at += 40;
        let mut next = header[6];
        // Extension headers, each naming the next. A packet may be all headers: bounded.
        for _ in 0..=MOST_HEADERS {
            let length = match next {
                // Hop-by-hop, routing, destination options, HIP, shim6.
                0 | 43 | 60 | 139 | 140 => (usize::from(self.u8(1)?) + 1) * 8,
                // Mobility: a message of its own, but for a header that says what follows (RFC 6275 6.1.1).
                135 if self.u8(0)? != NO_NEXT_HEADER => (usize::from(self.u8(1)?) + 1) * 8,
                // In units of 4 bytes, less 2.
                AUTHENTICATION => (usize::from(self.u8(1)?) + 2) * 4,
                44 => 8,
                _ => return self.protocol(next, &ip),
            };
            let following = self.u8(0)?;
            if next == 44 {
                let offset = self.u16(2)?;
                // An "atomic" fragment, whole in itself, is none (RFC 6946).
                if offset & 0xfff9 != 0 {
                    let identification = self.u32(4)?;
                    self.fragment(&ip, u64::from(following) << 32 | u64::from(identification));
                }
                ip.payload = ip.payload.saturating_sub(8);
                self.at += 8;
                if offset & 0xfff8 != 0 {
                    return Ok(self.later_fragment(&ip, following, usize::from(offset & 0xfff8)));
                }
            } else {
                ip.payload = ip
                    .payload
                    .checked_sub(length as u32)
                    .ok_or(Stop::Malformed)?;
                if self.verifies() {
                    let header = self.bytes.get(self.at..self.at + length);
                    ip.extended(next, header.unwrap_or_default());
                }
                self.at += length;
            }
            next = following;
        }
        Err(Stop::Malformed)
    }

    /// Notes that this IP packet is a part of another. The innermost one that is counts.
    #[cold]
    fn fragment(&mut self, ip: &Ip, identification: u64) {
        // No secret key: whoever can choose what is hashed here can send such fragments anyway.
        let mut hasher = FixedState::default().build_hasher();
        hasher.write_u128(ip.source);
        hasher.write_u128(ip.destination);
        hasher.write_u64(identification);
        self.packet.fragment = true;
        self.cannot_verify();
        self.packet.datagram = hasher.finish();
    }

    /// A fragment that begins `offset` bytes behind the first is of the flow of the first one. Its part of a
    /// UDP payload was counted there, by the UDP header.
    #[cold]
    fn later_fragment(&mut self, ip: &Ip, protocol: u8, offset: usize) -> Layer {
        self.flow(ip, FRAGMENT, 0, 0);
        let header = self.rest_of_tcp_header(offset);
        let packet = &mut *self.packet;
        // A tunnel further out may have kept the packet.
        packet.later_fragment = packet.key.protocol == FRAGMENT;
        if packet.later_fragment && protocol == TCP {
            packet.payload = ip.payload.saturating_sub(header);
        }
        Layer::Done
    }

    /// How many bytes of a TCP header a fragment begins with: scanners send first ones of 8 bytes. Options count
    /// as payload where the first fragment kept their length.
    fn rest_of_tcp_header(&self, offset: usize) -> u32 {
        let length = 12_usize
            .checked_sub(offset)
            .and_then(|behind| self.bytes.get(self.at + behind))
            .map_or(20, |byte| usize::from(byte >> 4) * 4);
        length.max(20).saturating_sub(offset) as u32
    }

    /// Makes this IP packet the packet's flow, in place of one further out. A tunnel over UDP keeps what
    /// carries no ports, such as ICMP: the innermost TCP or UDP header is the flow.
    #[inline]
    pub(super) fn flow(&mut self, ip: &Ip, protocol: u8, source_port: u16, destination_port: u16) {
        if self.packet.tunnels > 0 && has_ports(self.packet.key.protocol) && !has_ports(protocol) {
            return;
        }
        let from_high = (ip.source, source_port) > (ip.destination, destination_port);
        let key = if from_high {
            Key {
                low: ip.destination,
                high: ip.source,
                low_port: destination_port,
                high_port: source_port,
                protocol,
                v6: ip.v6,
            }
        } else {
            Key {
                low: ip.source,
                high: ip.destination,
                low_port: source_port,
                high_port: destination_port,
                protocol,
                v6: ip.v6,
            }
        };
        let packet = &mut *self.packet;
        packet.outcome = Outcome::Flow;
        packet.key = key;
        packet.from_high = from_high;
        packet.ip_bytes = ip.bytes;
        packet.offloaded = ip.offloaded;
        packet.payload = 0;
        (packet.ident, packet.ttl, packet.checksum_field) = (ip.ident, ip.ttl, 0);
        packet.tcp = false;
    }
}

fn wide(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::MOST_HEADERS;
    use crate::decode::{Outcome, Packet, whole};

    fn decoded(bytes: &[u8]) -> Packet {
        whole(101, bytes)
    }

    /// IPv4 with `count` authentication headers of 8 bytes, then UDP from port 5 to port 6.
    fn authenticated(count: usize) -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 51, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        for left in (0..count).rev() {
            bytes.extend([if left == 0 { 17 } else { 51 }, 0, 0, 0, 0, 0, 0, 0]);
        }
        bytes.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        bytes
    }

    #[test]
    fn authentication_headers_are_stepped_over_and_bounded() {
        let packet = decoded(&authenticated(3));
        assert_eq!((packet.key.protocol, packet.key.low_port), (17, 5));
        // As long as a record may be: neither may the stack grow with it.
        assert_eq!(decoded(&authenticated(32_000)).outcome, Outcome::Malformed);
    }

    /// IPv6 with `count` destination options of 8 bytes, then UDP from port 5 to port 6.
    fn extended(count: usize) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, if count == 0 { 17 } else { 60 }, 64];
        bytes.extend([0; 32]);
        for left in (0..count).rev() {
            bytes.extend([if left == 0 { 17 } else { 60 }, 0, 1, 4, 0, 0, 0, 0]);
        }
        bytes.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        let payload = (bytes.len() - 40) as u16;
        bytes[4..6].copy_from_slice(&payload.to_be_bytes());
        bytes
    }

    #[test]
    fn extension_headers_are_stepped_over_and_bounded() {
        for count in [0, 1, MOST_HEADERS] {
            assert_eq!(decoded(&extended(count)).key.protocol, 17, "{count}");
        }
        let packet = decoded(&extended(MOST_HEADERS + 1));
        assert_eq!(packet.outcome, Outcome::Malformed);
    }

    #[test]
    fn the_version_of_the_packet_counts_where_the_link_says_ipv4() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        bytes.extend([0; 32]);
        bytes.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        let packet = whole(228, &bytes);
        assert_eq!((packet.key.v6, packet.key.protocol), (true, 17));
    }

    #[test]
    fn a_mobility_header_leads_on_where_it_says_so() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 16, 135, 64];
        bytes.extend([0; 32]);
        bytes.extend([17, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        assert_eq!(decoded(&bytes).key.protocol, 17);
        bytes[40] = 59;
        assert_eq!(decoded(&bytes).key.protocol, 135);
    }
    /// A part of a TCP segment with 12 bytes of options, cut at `from` and `to`.
    fn part(from: u8, to: u8) -> Packet {
        let mut segment = vec![0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x80, 0x10, 1, 2];
        segment.resize(132, 1);
        let mut bytes = vec![0x45, 0, 0, 0, 0, 9, 0x20, from / 8, 64, 6, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(&segment[usize::from(from)..usize::from(to)]);
        decoded(&bytes)
    }

    #[test]
    fn parts_of_a_tcp_header_in_later_fragments_are_no_payload() {
        for (from, payload) in [(8, 76), (16, 96), (32, 100)] {
            let later = part(from, from + 100);
            assert!(later.later_fragment);
            assert_eq!(later.payload, payload, "{from}");
        }
    }
}
