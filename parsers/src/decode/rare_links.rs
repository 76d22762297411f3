//! Rare link headers: of other systems, of switch chips, of old links.

use super::{Layer, Stop, Walk, links};

impl Walk<'_> {
    /// Reads SLIP after a header of 16 bytes from libpcap: the direction, and the header in compressed form.
    pub(super) fn slip(&mut self) -> Result<Layer, Stop> {
        self.at += 16;
        match self.u8(0)? >> 4 {
            4 => Ok(Layer::Ip4),
            6 => Ok(Layer::Ip6),
            // RFC 1144: the rest of the header is in an earlier packet.
            _ => Err(Stop::NotIp),
        }
    }

    /// Reads IEEE 802.5: if the source's address says so, a route follows the addresses; its first byte states its
    /// length.
    pub(super) fn token_ring(&mut self) -> Result<Layer, Stop> {
        let routed = self.u8(8)? & 0x80 != 0;
        let route = if routed {
            usize::from(self.u8(14)? & 0x1f)
        } else {
            0
        };
        Ok(self.skip(14 + route, Layer::Llc))
    }

    /// Reads DOCSIS MAC frames: if a bit of the first byte is set, the second byte is the length of an extended header;
    /// after it and a checksum follows an Ethernet frame.
    pub(super) fn docsis(&mut self) -> Result<Layer, Stop> {
        let control = self.u8(0)?;
        // User packets: type 0, no parameter. Others are management, requests, and several packets in one frame.
        if control & 0xfe != 0 {
            return Err(Stop::NotIp);
        }
        let extended = match control & 1 {
            1 => usize::from(self.u8(1)?),
            _ => 0,
        };
        Ok(self.skip(6 + extended, Layer::Ethernet))
    }

    /// Reads Endace's extensible record format (ERF): a header of 16 bytes. Its ninth byte is the type, with a flag for
    /// an extension header of 8 bytes; the first byte of each extension header has the same flag for the next one.
    pub(super) fn extensible_record(&mut self) -> Result<Layer, Stop> {
        let kind = self.u8(8)?;
        self.at += 16;
        let mut more = kind & 0x80 != 0;
        for _ in 0..16 {
            if !more {
                break;
            }
            more = self.u8(0)? & 0x80 != 0;
            self.at += 8;
        }
        match kind & 0x7f {
            // HDLC with PPP's or Cisco's framing; for multi-channel links, after four bytes that name the channel.
            1 | 10 | 15 | 19 => Ok(Layer::Ppp),
            5 | 17 => Ok(self.skip(4, Layer::Ppp)),
            // Ethernet, after an offset and a byte of padding.
            2 | 11 | 16 | 20 => Ok(self.skip(2, Layer::Ethernet)),
            22 => Ok(Layer::Ip4),
            23 => Ok(Layer::Ip6),
            _ => Err(Stop::NotIp),
        }
    }

    /// Reads an InfiniBand frame (InfiniBand Architecture Specification, volume 1, 5.2) that carries IP, RFC 4391:
    /// local and global routing header, base and datagram header, an `EtherType`, two reserved bytes.
    pub(super) fn infiniband(&mut self) -> Result<Layer, Stop> {
        let next = self.u8(1)? & 3;
        self.at += 8;
        match next {
            2 => {}
            3 => self.at += 40,
            _ => return Err(Stop::NotIp),
        }
        // Unreliable datagrams in one packet, without and with four bytes of immediate data.
        let immediate = match self.u8(0)? {
            0x64 => 0,
            0x65 => 4,
            _ => return Err(Stop::NotIp),
        };
        self.at += 12 + 8 + immediate;
        let (kind, reserved) = (self.u16(0)?, self.u16(2)?);
        if reserved != 0 {
            return Err(Stop::NotIp);
        }
        Ok(self.skip(4, Layer::EtherType(kind)))
    }

    /// Reads OpenBSD's pf log: the first byte is the length of its header.
    pub(super) fn packet_filter_log(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(self.u8(0)?);
        if length < 4 {
            return Err(Stop::Malformed);
        }
        Ok(self.skip(length.next_multiple_of(4), Layer::Ip))
    }

    /// Reads macOS' PKTAP: the length of its header, a type and the link type after it, all in little-endian order. Any
    /// other header is `otherwise`.
    pub(super) fn packet_tap(&mut self, otherwise: Stop) -> Result<Layer, Stop> {
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let (length, kind) = (word(self.chunk(0)?), word(self.chunk(4)?));
        let link_type = word(self.chunk(8)?);
        if !(12..=1024).contains(&length) || kind != 1 || links::PKTAPS.contains(&link_type) {
            return Err(otherwise);
        }
        // One of the flags states that the host sent the packet.
        if length >= 40 {
            self.packet.is_outgoing |= word(self.chunk(36)?) & 2 != 0;
        }
        self.at += length as usize;
        self.inner_link(link_type)
    }

    /// Reads Juniper's Ethernet: a magic number, flags, the fields that they announce, then the frame.
    pub(super) fn juniper_ethernet(&mut self) -> Result<Layer, Stop> {
        let &[0x4d, 0x47, 0x43, flags] = self.chunk(0)? else {
            return Err(Stop::Malformed);
        };
        self.at += 4;
        if flags & 0x80 != 0 {
            self.at += 2 + usize::from(self.u16(0)?);
        }
        // Without a link header an address family follows.
        Ok(if flags & 0x02 != 0 {
            self.skip(4, Layer::Ip)
        } else {
            Layer::Ethernet
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::Outcome;
    use crate::decode::made::{all_lead_to_the_packet, decoded, zeros_then};

    #[test]
    fn rare_link_headers_lead_to_the_packet() {
        let ethernet = zeros_then(12, &[8, 0]);
        let with_ethernet = |header: &[u8]| [header, &ethernet].concat();
        let tap = |length: u8, kind: u8| {
            let mut header = vec![0; usize::from(length)];
            (header[0], header[4], header[8]) = (length, 1, kind);
            header
        };
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
            (122, zeros_then(16, &snap)),
            (123, [&[0x82, 0, 0, 32][..], &snap].concat()),
            // Without an extended header and with one of three bytes.
            (143, with_ethernet(&[0, 0, 0, 60, 1, 2])),
            (143, with_ethernet(&[1, 3, 0, 60, 1, 2, 7, 8, 9])),
            // Ethernet, with two extension headers; HDLC with Cisco's framing, also on multi-channel links; IPv4.
            (
                197,
                with_ethernet(&zeros_then(8, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            ),
            (
                197,
                with_ethernet(
                    &[
                        &zeros_then(8, &[0x82, 0, 0, 0, 0, 0, 0, 0, 0x80])[..],
                        &[0; 7],
                        &[3],
                        &[0; 9],
                    ]
                    .concat(),
                ),
            ),
            (197, zeros_then(8, &[1, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0, 8, 0])),
            (
                197,
                zeros_then(8, &[10, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0, 8, 0]),
            ),
            (
                197,
                zeros_then(8, &[5, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0x0f, 0, 8, 0]),
            ),
            (197, zeros_then(8, &[22, 0, 0, 0, 0, 0, 0, 0])),
            // Local routing header, base and datagram header; with a global routing header and immediate data.
            (
                247,
                [&[0, 2][..], &[0; 6], &[0x64], &[0; 19], &[8, 0, 0, 0]].concat(),
            ),
            (
                247,
                [&[0, 3][..], &[0; 46], &[0x65], &[0; 23], &[8, 0, 0, 0]].concat(),
            ),
            (
                274,
                with_ethernet(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5]),
            ),
            (281, zeros_then(16, &[8, 0])),
            (282, with_ethernet(&[0; 4])),
            (284, zeros_then(16, &[8, 0])),
            (285, zeros_then(20, &[8, 0])),
        ];
        all_lead_to_the_packet(cases);
    }

    #[test]
    fn what_is_none_of_them_is_counted_as_such() {
        let outcome = |link_type, header: &[u8]| decoded(link_type, header).outcome;
        assert_eq!(outcome(149, &[0xff; 20]), Outcome::UnknownLink);
        assert_eq!(outcome(258, &[0xff; 20]), Outcome::Malformed);
        assert_eq!(outcome(178, &[0; 8]), Outcome::Malformed);
        // Management, several packets in one frame, a reliable write, a part of a frame.
        assert_eq!(outcome(143, &[0xc2; 6]), Outcome::NotIp);
        assert_eq!(
            outcome(247, &[0, 2, 0, 0, 0, 0, 0, 0, 0x0a]),
            Outcome::NotIp
        );
        assert_eq!(
            outcome(274, &[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xe6]),
            Outcome::NotIp
        );
        // Compressed by RFC 1144.
        assert_eq!(outcome(8, &zeros_then(16, &[0x80])), Outcome::NotIp);
        assert_eq!(outcome(777, &[]), Outcome::UnknownLink);
    }
}
