//! Link headers that few captures have: of other systems, of switch chips, of old links.

use super::{Layer, Stop, Walk};

impl Walk<'_> {
    /// Steps over the link header of a rare LINKTYPE_ of the tcpdump registry.
    #[cold]
    pub(super) fn seldom(&mut self, link_type: u32) -> Result<Layer, Stop> {
        match link_type {
            8 => self.slip(),
            // ATM, RFC 2684 with LLC.
            11 | 100 => Ok(Layer::Llc),
            // Classical IP over ATM: with LLC or without.
            106 if matches!(self.chunk(0), Ok([0xaa, 0xaa, 0x03])) => Ok(Layer::Llc),
            106 => Ok(Layer::Ip),
            // OpenBSD's view into IPsec: family, key, flags.
            109 => Ok(self.skip(12, Layer::Ip)),
            6 => self.token_ring(),
            117 => self.packet_filter_log(),
            // IP over IEEE 1394 as macOS writes it: two addresses of 8 bytes. Tags of switch chips behind the
            // addresses, Broadcom's and Marvell's; the other one of Marvell's has an EtherType of its own.
            138 | 281 | 284 => self.tagged(16),
            285 => self.tagged(20),
            // Number 149 is everybody's; macOS wrote its PKTAP under it.
            149 | 258 => self.packet_tap(link_type),
            // PPP with a direction in place of the address byte, ...
            166 => Ok(self.skip(2, Layer::Ppp)),
            // ... and with a direction in front, as the two that follow.
            204 => Ok(self.skip(1, Layer::Ppp)),
            205 => {
                self.at += 1;
                self.cisco_hdlc()
            }
            206 => {
                self.at += 1;
                self.frame_relay()
            }
            178 => self.juniper_ethernet(),
            // Solaris between zones: interfaces and zones.
            226 => Ok(self.skip(24, Layer::Ip)),
            // Hilscher's tap, Broadcom's tag in front: four bytes about the port.
            240 | 282 => Ok(self.skip(4, Layer::Ethernet)),
            // IP over InfiniBand: a global routing header, an EtherType, two bytes reserved.
            242 => {
                let kind = self.u16(40)?;
                Ok(self.skip(44, Layer::EtherType(kind)))
            }
            _ => Err(Stop::UnknownLink),
        }
    }

    /// An `EtherType` behind `length` bytes that say nothing about it.
    fn tagged(&mut self, length: usize) -> Result<Layer, Stop> {
        let kind = self.u16(length)?;
        self.at += length + 2;
        Ok(if kind < 0x600 {
            Layer::Llc
        } else {
            Layer::EtherType(kind)
        })
    }

    /// SLIP behind 16 bytes of libpcap's: direction, and the header as it was compressed.
    fn slip(&mut self) -> Result<Layer, Stop> {
        self.at += 16;
        match self.u8(0)? >> 4 {
            4 => Ok(Layer::Ip4),
            6 => Ok(Layer::Ip6),
            // RFC 1144: the rest is in an earlier packet.
            _ => Err(Stop::NotIp),
        }
    }

    /// IEEE 802.5: where the source says so, a route of the length in its first byte follows the addresses.
    fn token_ring(&mut self) -> Result<Layer, Stop> {
        let routed = self.u8(8)? & 0x80 != 0;
        let route = if routed {
            usize::from(self.u8(14)? & 0x1f)
        } else {
            0
        };
        Ok(self.skip(14 + route, Layer::Llc))
    }

    /// OpenBSD's pf: its header's length is the first byte.
    fn packet_filter_log(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(self.u8(0)?);
        if length < 4 {
            return Err(Stop::Malformed);
        }
        Ok(self.skip(length.next_multiple_of(4), Layer::Ip))
    }

    /// macOS' PKTAP: its header's length, a type, the link type behind it, all in little-endian.
    fn packet_tap(&mut self, own: u32) -> Result<Layer, Stop> {
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let (length, kind) = (word(self.chunk(0)?), word(self.chunk(4)?));
        let link_type = word(self.chunk(8)?);
        if !(12..=1024).contains(&length) || kind != 1 || matches!(link_type, 149 | 258) {
            return Err(if own == 258 {
                Stop::Malformed
            } else {
                Stop::UnknownLink
            });
        }
        self.at += length as usize;
        self.link(link_type)
    }

    /// Juniper's Ethernet: a magic number, flags, what they announce, then the frame.
    fn juniper_ethernet(&mut self) -> Result<Layer, Stop> {
        let &[0x4d, 0x47, 0x43, flags] = self.chunk(0)? else {
            return Err(Stop::Malformed);
        };
        self.at += 4;
        if flags & 0x80 != 0 {
            self.at += 2 + usize::from(self.u16(0)?);
        }
        // Without a link header: a family.
        Ok(if flags & 0x02 != 0 {
            self.skip(4, Layer::Ip)
        } else {
            Layer::Ethernet
        })
    }

    /// IEEE 802.1AE (MAC security) that authenticates and does not encrypt: the frame goes on behind the tag.
    pub(super) fn integrity(&mut self) -> Result<Layer, Stop> {
        let control = self.u8(0)?;
        // A version, encrypted, changed.
        if control & 0x8c != 0 {
            return Err(Stop::NotIp);
        }
        self.tagged(if control & 0x20 == 0 { 6 } else { 14 })
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Outcome, Packet, whole};

    /// IPv4 with UDP from port 5 to port 6.
    const IP: [u8; 28] = [
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8, 0, 0,
    ];

    /// What becomes of `header` and [`IP`] under a link type.
    fn decoded(link_type: u32, header: &[u8]) -> Packet {
        whole(link_type, &[header, &IP].concat())
    }

    fn zeros_then(length: usize, rest: &[u8]) -> Vec<u8> {
        [&vec![0; length], rest].concat()
    }

    #[test]
    fn rare_link_headers_lead_to_the_packet() {
        let ethernet = zeros_then(12, &[8, 0]);
        let with_ethernet = |header: &[u8]| [header, &ethernet].concat();
        let tap = |length: u8, kind: u8| {
            let mut header = vec![0; usize::from(length)];
            (header[0], header[4], header[8]) = (length, 1, kind);
            header
        };
        let mut eoip = IP.to_vec();
        eoip[9] = 47;
        eoip.truncate(20);
        eoip.extend([0x20, 1, 0x64, 0, 0, 42, 7, 0]);
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let cases = [
            (6, zeros_then(14, &snap)),
            (
                6,
                [&[0; 8][..], &[0x80], &[0; 5], &[4, 0, 0, 0], &snap].concat(),
            ),
            (8, zeros_then(16, &[])),
            (11, snap.to_vec()),
            (100, snap.to_vec()),
            (106, snap.to_vec()),
            (106, Vec::new()),
            (109, zeros_then(12, &[])),
            (117, [&[61_u8][..], &[0; 63]].concat()),
            (138, zeros_then(16, &[8, 0])),
            (149, with_ethernet(&tap(108, 1))),
            (258, with_ethernet(&tap(156, 1))),
            (258, tap(108, 12)),
            (166, vec![1, 3, 0, 0x21]),
            (204, vec![1, 0xff, 3, 0, 0x21]),
            (205, vec![1, 0x0f, 0, 8, 0]),
            (206, vec![1, 0x18, 0x41, 3, 0xcc]),
            (178, with_ethernet(b"MGC\x01")),
            (178, with_ethernet(b"MGC\x81\x00\x03abc")),
            (178, b"MGC\x02\0\0\0\x02".to_vec()),
            (226, zeros_then(24, &[])),
            (240, with_ethernet(&[0; 4])),
            (242, zeros_then(40, &[8, 0, 0, 0])),
            (281, zeros_then(16, &[8, 0])),
            (282, with_ethernet(&[0; 4])),
            (284, zeros_then(16, &[8, 0])),
            (285, zeros_then(20, &[8, 0])),
            // Frame Relay: Cisco's form, RFC 2427 behind four bytes of address, the same with SNAP.
            (107, vec![0x18, 0x41, 8, 0]),
            (107, vec![0x18, 0x40, 0x40, 0x41, 3, 0xcc]),
            (107, vec![0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0]),
            // The netfilter log of a bridge: the EtherType is a field before the packet.
            (239, vec![7, 0, 0, 0, 8, 0, 1, 0, 8, 0, 0, 0, 32, 0, 9, 0]),
            // Ethernet over IP of MikroTik.
            (101, with_ethernet(&eoip)),
            // An EtherType in the place of an address family.
            (0, vec![0, 8, 0, 0]),
            // MACsec without encryption: with a channel identifier and without.
            (
                1,
                zeros_then(
                    12,
                    &[&[0x88, 0xe5, 0x20, 0][..], &[0; 12], &[8, 0]].concat(),
                ),
            ),
            (1, zeros_then(12, &[0x88, 0xe5, 0, 0, 0, 0, 0, 1, 8, 0])),
            // Cisco's metadata with a security group.
            (1, zeros_then(12, &[0x89, 9, 1, 1, 0, 1, 0, 2, 8, 0])),
            // 802.11 in a mesh, with a fifth and a sixth address; and between two bridges, without.
            (
                105,
                [&[0x88, 3][..], &[0; 29], &[1, 2], &[0; 17], &snap].concat(),
            ),
            (105, [&[0x88, 3][..], &[0; 30], &snap].concat()),
        ];
        for (link_type, header) in cases {
            let packet = decoded(link_type, &header);
            assert_eq!(packet.outcome, Outcome::Flow, "link type {link_type}");
            let key = packet.key;
            assert_eq!(
                (key.protocol, key.low_port, key.high_port),
                (17, 5, 6),
                "{link_type}"
            );
        }
    }

    #[test]
    fn what_is_none_of_them_is_counted_as_such() {
        let outcome = |link_type, header: &[u8]| decoded(link_type, header).outcome;
        assert_eq!(outcome(149, &[0xff; 20]), Outcome::UnknownLink);
        assert_eq!(outcome(258, &[0xff; 20]), Outcome::Malformed);
        assert_eq!(outcome(178, &[0; 8]), Outcome::Malformed);
        // Compressed by RFC 1144.
        assert_eq!(outcome(8, &zeros_then(16, &[0x80])), Outcome::NotIp);
        let encrypted = zeros_then(12, &[0x88, 0xe5, 0x0c, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(outcome(1, &encrypted), Outcome::NotIp);
        assert_eq!(outcome(777, &[]), Outcome::UnknownLink);
    }
}
