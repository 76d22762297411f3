//! Reads ports, payload length and TCP fields from transport headers; continues with the packet inside a tunnel.

use super::network::Ip;
use super::protocols::{ICMP, ICMP6, TCP, UDP};
use super::{Layer, Stop, Walk};

/// Bytes of a TCP header up to the window: the bytes between it and the options are not needed.
const UP_TO_WINDOW: usize = 16;

impl Walk<'_> {
    /// Reads the header of `protocol` that begins here.
    #[inline]
    pub(super) fn protocol(&mut self, protocol: u8, ip: &Ip) -> Result<Layer, Stop> {
        if self.verifies() {
            self.verify(protocol, ip);
        }
        match protocol {
            TCP => self.tcp(ip),
            UDP => self.udp(ip),
            _ => self.other(protocol, ip),
        }
    }

    /// Reads TCP, RFC 9293.
    fn tcp(&mut self, ip: &Ip) -> Result<Layer, Stop> {
        let Ok(&header) = self.chunk::<UP_TO_WINDOW>(0) else {
            return self.ports_alone(TCP, ip);
        };
        let header_length = usize::from(header[12] >> 4) * 4;
        if header_length < 20 || ip.payload < 20 {
            return self.ports_alone(TCP, ip);
        }
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        self.flow(ip, TCP, half(0), half(2));
        let options = self
            .bytes
            .get(self.at + 20..)
            .map(|rest| rest.get(..header_length - 20).unwrap_or(rest))
            .unwrap_or_default();
        let checksum = self.u16(UP_TO_WINDOW).unwrap_or_default();
        let packet = &mut *self.packet;
        packet.tcp = true;
        packet.checksum_field = checksum;
        packet.payload = ip.payload.saturating_sub(header_length as u32);
        packet.length_conflict |= header_length as u32 > ip.payload && !packet.fragment;
        packet.seq = word(4);
        packet.ack = word(8);
        packet.tcp_flags = half(12) & 0xfff;
        packet.window = half(14);
        packet.options.begin((header_length - 20) as u8);
        if header_length > 20 {
            packet.options.read(options);
        }
        let payload = packet.payload;
        let repeated = self.repeated(payload);
        if repeated > 0 {
            self.packet.payload += repeated;
            self.packet.ip_bytes += repeated;
            self.packet.offloaded = true;
        }
        Ok(Layer::Done)
    }

    /// Reads UDP, RFC 768.
    fn udp(&mut self, ip: &Ip) -> Result<Layer, Stop> {
        let Ok(&header) = self.chunk::<8>(0) else {
            return self.ports_alone(UDP, ip);
        };
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (source, destination, length) = (half(0), half(2), u32::from(half(4)));
        self.flow(ip, UDP, source, destination);
        self.packet.checksum_field = half(6);
        self.packet.payload = self.fit_datagram(length, ip);
        self.at += 8;
        self.udp_tunnel(source, destination)
    }

    /// Reads only the ports of a header that is cut after them or contradicts itself: the flow is known, the payload of
    /// TCP is not.
    #[cold]
    fn ports_alone(&mut self, protocol: u8, ip: &Ip) -> Result<Layer, Stop> {
        let (source, destination) = (self.u16(0)?, self.u16(2)?);
        self.flow(ip, protocol, source, destination);
        if protocol == UDP {
            self.packet.payload = ip.payload.saturating_sub(8);
        }
        Ok(Layer::Done)
    }

    fn other(&mut self, protocol: u8, ip: &Ip) -> Result<Layer, Stop> {
        let (source, destination) = match protocol {
            // DCCP, SCTP and UDP-Lite begin with two ports.
            33 | 132 | 136 => match self.chunk::<4>(0) {
                Ok(&[a, b, c, d]) => (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
                Err(_) => (0, 0),
            },
            _ => (0, 0),
        };
        let checksum = match protocol {
            ICMP | ICMP6 => self.u16(2),
            // DCCP, UDP-Lite.
            33 | 136 => self.u16(6),
            _ => Err(Stop::Cut),
        };
        self.flow(ip, protocol, source, destination);
        if self.packet.key.protocol == protocol {
            self.packet.checksum_field = checksum.unwrap_or_default();
        }
        self.ip_tunnel(protocol)
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::whole;

    #[test]
    fn a_tcp_header_is_read_as_soon_as_its_window_is_there() {
        let mut bytes = vec![
            0x45, 0, 0, 140, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        bytes.extend([0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x50, 0x10, 1, 2]);
        let packet = whole(101, &bytes);
        assert_eq!(
            (packet.tcp, packet.payload, packet.window),
            (true, 100, 258)
        );
        assert_eq!((packet.seq, packet.ack, packet.tcp_flags), (7, 8, 0x10));
        bytes.pop();
        let packet = whole(101, &bytes);
        assert_eq!(
            (packet.tcp, packet.payload, packet.key.low_port),
            (false, 0, 5)
        );
        assert!(packet.has_unread_tcp());
    }

    #[test]
    fn the_innermost_headers_tell_identification_ttl_and_checksum() {
        let ip4 = |protocol, ident, ttl| {
            let mut header = vec![0x45, 0, 0, 0, 0, ident, 0, 0, ttl, protocol, 0, 0];
            header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            header
        };
        let mut ip6 = vec![0x60, 0, 0, 0, 0, 0, 17, 61];
        ip6.extend([1; 32]);
        let mut tcp = vec![0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0x50, 0x10, 1, 2];
        tcp.extend([3, 4, 0, 0]);
        let udp = [0, 5, 0, 6, 0, 8, 1, 9];
        for (bytes, expected) in [
            ([ip4(6, 7, 63), tcp.clone()].concat(), (7, 63, 0x0304)),
            // The checksum field was not captured.
            ([ip4(6, 7, 63), tcp[..16].to_vec()].concat(), (7, 63, 0)),
            ([ip4(17, 7, 63), udp.to_vec()].concat(), (7, 63, 0x0109)),
            ([ip4(1, 7, 63), vec![8, 0, 5, 6]].concat(), (7, 63, 0x0506)),
            ([ip6.clone(), udp.to_vec()].concat(), (0, 61, 0x0109)),
            (
                [ip4(4, 7, 63), ip4(17, 8, 62), udp.to_vec()].concat(),
                (8, 62, 0x0109),
            ),
        ] {
            let packet = whole(101, &bytes);
            let found = (packet.ident, packet.ttl, packet.checksum_field);
            assert_eq!(found, expected, "{bytes:?}");
        }
    }
}
