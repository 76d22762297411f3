//! Reads addresses, lengths and the transport protocol from IPv4 headers.

use super::protocols::has_ports;
use super::{Key, Layer, Outcome, Stop, Walk, source_route};

pub(super) const AUTHENTICATION: u8 = 51;
/// Most headers between those of IP and of the transport.
pub(super) const MOST_HEADERS: usize = 1024;

/// The header fields of one IP packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ip {
    pub source: u128,
    pub destination: u128,
    pub v6: bool,
    /// Identification; 0 for IPv6.
    pub ident: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Congestion marks: [`ecn`](super::ecn).
    pub ecn: u8,
    /// Length of the whole packet.
    pub bytes: u32,
    /// Bytes after the headers read so far.
    pub payload: u32,
    pub offloaded: bool,
    /// The checksum covers other addresses.
    pub elsewhere: bool,
}

impl Walk<'_> {
    /// Reads an IPv4 header, RFC 791.
    pub(super) fn ip4(&mut self) -> Result<Layer, Stop> {
        let header = *self.chunk::<20>(0)?;
        let header_length = usize::from(header[0] & 15) * 4;
        if header[0] >> 4 == 6 {
            // The previous header names IPv4 for both versions: the packet's own version is right.
            return Ok(Layer::Ip6);
        }
        if header[0] >> 4 != 4 || header_length < 20 {
            return Err(Stop::Malformed);
        }
        self.settle_ip4(&header)?;
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
            ecn: header[1] & 3,
            bytes,
            payload: self
                .bounded(bytes)
                .checked_sub(header_length as u32)
                .ok_or(Stop::Malformed)?,
            offloaded: stated == 0,
            elsewhere: false,
        };
        self.fit(bytes);
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
        let offset = usize::from(fragment & 0x1fff) * 8;
        // More fragments follow, or this is not the first.
        if fragment & 0x3fff != 0 {
            let more = fragment & 0x2000 != 0;
            self.fragment(&ip, ip.ident.into(), header[9], (offset, more));
        }
        if offset > 0 {
            return Ok(self.later_fragment(&ip, offset));
        }
        if header[9] == AUTHENTICATION {
            return self.authenticated(ip);
        }
        self.protocol(header[9], &ip)
    }

    /// Skips authentication headers after IPv4, RFC 4302, up to the packet they protect. Their number is limited: a
    /// packet may consist of such headers only.
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

    /// Makes this IP packet the packet's flow instead of an outer one. Inside a tunnel over UDP a packet without ports,
    /// such as ICMP, leaves the flow unchanged: the innermost TCP or UDP header is the flow.
    #[inline]
    pub(super) fn flow(&mut self, ip: &Ip, protocol: u8, source_port: u16, destination_port: u16) {
        if self.packet.tunnels > 0 && has_ports(self.packet.key.protocol) && !has_ports(protocol) {
            return;
        }
        let source = (ip.source, source_port);
        let destination = (ip.destination, destination_port);
        let (key, from_high) = Key::new(source, destination, protocol, ip.v6);
        let packet = &mut *self.packet;
        packet.outcome = Outcome::Flow;
        packet.key = key;
        packet.from_high = from_high;
        packet.transport_at = self.at as u32;
        packet.ip_bytes = ip.bytes;
        packet.offloaded = ip.offloaded;
        packet.payload = 0;
        (packet.ident, packet.ttl, packet.checksum_field) = (ip.ident, ip.ttl, 0);
        packet.ecn = ip.ecn;
        packet.tcp = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Outcome, Packet, whole};

    fn decoded(bytes: &[u8]) -> Packet {
        whole(101, bytes)
    }

    /// Returns IPv4 with `count` authentication headers of 8 bytes, then UDP from port 5 to port 6.
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
        // The stack must not grow even for the longest possible record.
        assert_eq!(decoded(&authenticated(32_000)).outcome, Outcome::Malformed);
    }
}
