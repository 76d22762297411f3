//! Reads addresses, lengths and the transport protocol from IPv6 and its extension headers.
//!
//! A packet's flow is that of its first sender and its last receiver, as in the transport checksum (RFC 8200 8.1): a
//! routing header names the receiver, a home address option the sender.

use super::network::{AUTHENTICATION, Ip, MOST_HEADERS};
use super::{Layer, Stop, Walk};

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// Options: the length of a jumbogram, RFC 2675 2, and the home address of a mobile host, RFC 6275 6.3.
const JUMBO: u8 = 0xc2;
const HOME_ADDRESS: u8 = 201;
/// Type of a routing header, RFC 8754 2.
const SEGMENT_ROUTING: u8 = 4;
/// The longest jumbogram that is accepted: BIG TCP of Linux makes packets of up to 512 KiB.
const LONGEST_JUMBOGRAM: u32 = 1 << 20;

impl Walk<'_> {
    /// Reads an IPv6 header and its extensions, RFC 8200.
    pub(super) fn ip6(&mut self) -> Result<Layer, Stop> {
        let header = *self.chunk::<40>(0)?;
        if header[0] >> 4 != 6 {
            return Err(Stop::Malformed);
        }
        self.settle_ip6(&header)?;
        let stated = u32::from(u16::from_be_bytes([header[4], header[5]]));
        let jumbogram = if stated == 0 && header[6] == HOP_BY_HOP {
            self.jumbogram()
        } else {
            None
        };
        let payload = match (stated, jumbogram) {
            (0, Some(length)) => length,
            (0, None) => self.wire_left().saturating_sub(40),
            (stated, _) => stated,
        };
        let mut ip = Ip {
            source: wide(&header[8..24]),
            destination: wide(&header[24..40]),
            v6: true,
            ident: 0,
            ttl: header[7],
            ecn: header[1] >> 4 & 3,
            bytes: payload + 40,
            payload: self.bounded(payload + 40).saturating_sub(40),
            offloaded: stated == 0 && payload > 0 && jumbogram.is_none(),
            elsewhere: false,
        };
        self.fit(ip.bytes);
        self.at += 40;
        let mut next = header[6];
        // Extension headers, each of which names the next one. Their number is limited: a packet may consist of headers
        // only.
        for _ in 0..=MOST_HEADERS {
            let length = match next {
                // HIP, shim6.
                HOP_BY_HOP | ROUTING | DESTINATION | 139 | 140 => {
                    (usize::from(self.u8(1)?) + 1) * 8
                }
                // A message of its own, except a header that names what follows (RFC 6275 6.1.1).
                MOBILITY if self.u8(0)? != NO_NEXT_HEADER => (usize::from(self.u8(1)?) + 1) * 8,
                // In units of 4 bytes, less 2.
                AUTHENTICATION => (usize::from(self.u8(1)?) + 2) * 4,
                FRAGMENT => 8,
                _ => return self.protocol(next, &ip),
            };
            let following = self.u8(0)?;
            if next == FRAGMENT {
                let place = self.u16(2)?;
                let (offset, more) = (usize::from(place & 0xfff8), place & 1 != 0);
                ip.payload = ip.payload.saturating_sub(8);
                // An "atomic" fragment is a complete packet (RFC 6946).
                if offset > 0 || more {
                    let identification = self.u32(4)?;
                    self.fragment(&ip, identification, following, (offset, more));
                }
                self.at += 8;
                if offset > 0 {
                    return Ok(self.later_fragment(&ip, offset));
                }
            } else {
                ip.payload = ip
                    .payload
                    .checked_sub(length as u32)
                    .ok_or(Stop::Malformed)?;
                let header = self.bytes.get(self.at..self.at + length);
                ip.extend(next, header.unwrap_or_default());
                self.packet.segment_routed |= next == ROUTING && self.u8(2)? == SEGMENT_ROUTING;
                self.at += length;
            }
            next = following;
        }
        Err(Stop::Malformed)
    }

    /// Returns the length after the IPv6 header that begins here, from the jumbogram option of the next header, RFC
    /// 2675 2.
    #[cold]
    fn jumbogram(&self) -> Option<u32> {
        let length = (usize::from(self.u8(41).ok()?) + 1) * 8;
        let header = self.bytes.get(self.at + 40..)?;
        let options = header.get(2..length).or_else(|| header.get(2..))?;
        let length = options_of(options).find_map(|(kind, value)| match (kind, value) {
            (JUMBO, &[a, b, c, d]) => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        })?;
        (length <= LONGEST_JUMBOGRAM).then_some(length)
    }
}

impl Ip {
    /// Reads what an extension header of `kind` states about the packet's endpoints.
    #[inline]
    fn extend(&mut self, kind: u8, header: &[u8]) {
        match kind {
            ROUTING => self.route(header),
            DESTINATION => self.come_from_home(header),
            _ => {}
        }
    }

    /// Sets the destination of a packet with segments left to the last segment, because the answers come from there:
    /// with the routing headers for mobile hosts, RFC 6275 6.4, and for segment routing, RFC 8754 2. In both the last
    /// segment comes first. Other types are ignored: RFC 5095 deprecated that of RFC 2460.
    #[cold]
    fn route(&mut self, header: &[u8]) {
        let (kind, left) = match header {
            [_, _, kind, left, ..] => (*kind, *left),
            _ => (0, 1),
        };
        let last = header.get(8..24).map(wide);
        match (kind, last) {
            (_, _) if left == 0 => {}
            (2 | SEGMENT_ROUTING, Some(last)) => self.destination = last,
            // The checksum covers other addresses.
            _ => self.elsewhere = true,
        }
    }

    /// Sets the source to the home address of a mobile host, RFC 6275 6.3.
    #[cold]
    fn come_from_home(&mut self, header: &[u8]) {
        let options = options_of(header.get(2..).unwrap_or_default());
        for (_, value) in options.filter(|&(kind, _)| kind == HOME_ADDRESS) {
            match value.len() {
                16 => self.source = wide(value),
                _ => self.elsewhere = true,
            }
        }
    }
}

/// Returns the options in an extension header, RFC 8200 4.2, as kind and value, up to the first that does not fit.
fn options_of(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        while let [0, rest @ ..] = bytes {
            bytes = rest;
        }
        let (&kind, &length) = (bytes.first()?, bytes.get(1)?);
        let end = 2 + usize::from(length);
        let value = bytes.get(2..end)?;
        bytes = bytes.get(end..)?;
        Some((kind, value))
    })
}

fn wide(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Outcome, Packet, whole};

    /// Returns IPv6 with `headers`, the first of which is numbered `first`, then UDP from port 5 to port 6.
    fn with_headers(first: u8, headers: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, first, 64];
        bytes.extend([1; 16]);
        bytes.extend([2; 16]);
        bytes.extend(headers);
        bytes.extend([0, 5, 0, 6, 0, 8, 0, 0]);
        let payload = (bytes.len() - 40) as u16;
        bytes[4..6].copy_from_slice(&payload.to_be_bytes());
        bytes
    }

    /// Returns `count` destination option headers of 8 bytes.
    fn extended(count: usize) -> Vec<u8> {
        let next = |left| if left == 0 { 17 } else { 60 };
        let headers = (0..count).rev();
        let headers: Vec<u8> = headers
            .flat_map(|left| [next(left), 0, 1, 4, 0, 0, 0, 0])
            .collect();
        with_headers(next(count), &headers)
    }

    fn decoded(bytes: &[u8]) -> Packet {
        whole(101, bytes)
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
        let packet = whole(228, &with_headers(17, &[]));
        assert_eq!((packet.key.v6, packet.key.protocol), (true, 17));
    }

    #[test]
    fn a_mobility_header_leads_on_where_it_says_so() {
        let mut bytes = with_headers(135, &[17, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decoded(&bytes).key.protocol, 17);
        bytes[40] = 59;
        assert_eq!(decoded(&bytes).key.protocol, 135);
    }

    /// Returns the endpoints of the flow, source first.
    fn ends(packet: &Packet) -> (u128, u128) {
        let key = &packet.key;
        if packet.from_high {
            (key.high, key.low)
        } else {
            (key.low, key.high)
        }
    }

    #[test]
    fn routes_lead_to_the_last_address_and_a_home_address_is_the_source() {
        let [source, destination, other] = [1_u8, 2, 9].map(|byte| wide(&[byte; 16]));
        let route = |kind, left: u8, segments: u8| {
            let mut header = vec![17, 2 * segments, kind, left, segments.max(1) - 1, 0, 0, 0];
            for segment in 0..segments {
                header.extend([if segment == 0 { 9 } else { 7 }; 16]);
            }
            header
        };
        for (header, expected) in [
            (route(4, 2, 3), (source, other)),
            (route(4, 1, 1), (source, other)),
            // No segments are left.
            (route(4, 0, 3), (source, destination)),
            (route(2, 1, 1), (source, other)),
            // A deprecated type.
            (route(0, 1, 2), (source, destination)),
            // No segment is listed.
            (route(4, 1, 0), (source, destination)),
        ] {
            let packet = decoded(&with_headers(43, &header));
            assert_eq!(ends(&packet), expected, "{header:?}");
            assert_eq!(packet.key.high_port.max(packet.key.low_port), 6);
        }
        let mut home = vec![17, 2, 1, 2, 0, 0, 0xc9, 16];
        home.extend([9; 16]);
        let packet = decoded(&with_headers(60, &home));
        assert_eq!(ends(&packet), (other, destination));
    }

    #[test]
    fn a_jumbogram_tells_its_length_in_an_option() {
        let mut bytes = with_headers(0, &[17, 0, 0xc2, 4, 0, 1, 0, 16]);
        bytes[4..6].fill(0);
        bytes.resize(40 + 0x1_0010, 0);
        let packet = decoded(&bytes);
        assert_eq!(packet.ip_bytes, 40 + 0x1_0010);
        assert!(!packet.offloaded && !packet.length_conflict);
        // 4 GiB: the length of the frame is used instead.
        bytes[44..48].fill(0xff);
        assert_eq!(decoded(&bytes).ip_bytes, 40 + 0x1_0010);
    }
}
