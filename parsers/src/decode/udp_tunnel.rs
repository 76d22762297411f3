//! Tunnels that nothing but a UDP port announces, to the packet inside.

use super::{Layer, Stop, Walk, links, rdma};

impl Walk<'_> {
    /// Steps into a tunnel that the UDP port announces; what follows has to prove it.
    #[inline]
    pub(super) fn udp_tunnel(&mut self, source: u16, destination: u16) -> Result<Layer, Stop> {
        let end = self.at as u32 + self.packet.payload;
        // Both ports count, because answers come from the port of the tunnel.
        let (kind, id, next) = match (destination, source) {
            (4789 | 8472, _) | (_, 4789 | 8472) => ("vxlan", self.network_id(), self.vxlan()?),
            (4790, _) | (_, 4790) => ("vxlan-gpe", self.network_id(), self.vxlan_gpe()?),
            (6081, _) | (_, 6081) => ("geneve", self.network_id(), self.geneve()?),
            (6635, _) => ("mpls", None, Layer::Mpls),
            (2152, _) | (_, 2152) => ("gtp-u", self.u32(4).ok(), self.gtp_u()?),
            (3544, _) | (_, 3544) => ("teredo", None, self.teredo()?),
            (1701, _) | (_, 1701) => ("l2tp", None, self.l2tp()?),
            // GRE in UDP, RFC 8086.
            (4754, _) => (self.gre_kind(), self.gre_key(), self.gre()?),
            (4341, _) => ("lisp", None, self.lisp()?),
            // Its control messages, RFC 9301: type 8 carries a packet.
            (4342, _) if matches!(self.u8(0), Ok(0x80..=0x8f)) => {
                ("lisp", None, self.skip(4, Layer::Ip))
            }
            (rdma::PORT, _) => {
                self.rdma();
                return Ok(Layer::Done);
            }
            (5072, _) | (_, 5072) => ("ayiya", None, self.ayiya()?),
            (6080, _) | (_, 6080) => ("gue", None, self.gue()?),
            (5247, _) | (_, 5247) => ("capwap", None, self.capwap()?),
            (37_008, _) => ("tzsp", None, self.tzsp()?),
            _ => return Ok(Layer::Done),
        };
        self.begin_doubt(end);
        self.enter(kind, id);
        Ok(next)
    }

    /// Network identifier of VXLAN, RFC 7348, and Geneve, RFC 8926.
    fn network_id(&self) -> Option<u32> {
        Some(self.u32(4).ok()? >> 8)
    }

    /// VXLAN, RFC 7348.
    fn vxlan(&mut self) -> Result<Layer, Stop> {
        if self.u8(0)? & 0x08 == 0 {
            return Err(Stop::Malformed);
        }
        self.u8(7)?;
        Ok(self.skip(8, Layer::Ethernet))
    }

    /// VXLAN with a protocol field, draft-ietf-nvo3-vxlan-gpe.
    fn vxlan_gpe(&mut self) -> Result<Layer, Stop> {
        let next = self.u8(3)?;
        self.u8(7)?;
        // The flag that announces the field is not always set where the field is.
        match next {
            0 | 3 => Ok(self.skip(8, Layer::Ethernet)),
            1 => Ok(self.skip(8, Layer::Ip4)),
            2 => Ok(self.skip(8, Layer::Ip6)),
            4 => Ok(self.skip(8, Layer::EtherType(0x894f))),
            5 => Ok(self.skip(8, Layer::Mpls)),
            _ => Err(Stop::NotIp),
        }
    }

    /// Geneve, RFC 8926.
    fn geneve(&mut self) -> Result<Layer, Stop> {
        let first = self.u8(0)?;
        let kind = self.u16(2)?;
        if first >> 6 != 0 {
            return Err(Stop::Malformed);
        }
        Ok(self.skip(8 + usize::from(first & 0x3f) * 4, Layer::EtherType(kind)))
    }

    /// LISP, RFC 9300; a flag says that the fourth byte names the protocol inside, RFC 9305.
    fn lisp(&mut self) -> Result<Layer, Stop> {
        if self.u8(0)? & 0x04 == 0 {
            return Ok(self.skip(8, Layer::Ip));
        }
        match self.u8(3)? {
            1 => Ok(self.skip(8, Layer::Ip4)),
            2 => Ok(self.skip(8, Layer::Ip6)),
            3 => Ok(self.skip(8, Layer::Ethernet)),
            4 => Ok(self.skip(8, Layer::EtherType(0x894f))),
            _ => Err(Stop::NotIp),
        }
    }

    /// Generic UDP encapsulation, draft-ietf-intarea-gue: in variant 0 a header with a length of its own and an IP protocol
    /// number, in variant 1 nothing.
    fn gue(&mut self) -> Result<Layer, Stop> {
        let first = self.u8(0)?;
        if first >> 6 == 1 {
            return Ok(Layer::Ip);
        }
        // Another variant, or a control message.
        if first & 0xe0 != 0 {
            return Err(Stop::NotIp);
        }
        let protocol = self.u8(1)?;
        self.at += 4 + 4 * usize::from(first & 0x1f);
        match protocol {
            4 => Ok(Layer::Ip4),
            41 => Ok(Layer::Ip6),
            47 => self.gre(),
            97 => Ok(self.skip(2, Layer::Ethernet)),
            137 => Ok(Layer::Mpls),
            143 => Ok(Layer::Ethernet),
            _ => Err(Stop::NotIp),
        }
    }

    /// CAPWAP data that are not encrypted, RFC 5415 4.3: a header whose length it states in words, then a frame of
    /// Ethernet or, where a flag says that it is native, of IEEE 802.11.
    fn capwap(&mut self) -> Result<Layer, Stop> {
        let bits = self.u32(0)?;
        // Version and type; keep-alive; a fragment behind the first.
        let is_later = self.u16(6)? >> 3 != 0;
        if bits >> 24 != 0 || bits & 0x08 != 0 || is_later {
            return Err(Stop::NotIp);
        }
        let (length, binding) = ((bits >> 19 & 0x1f) as usize * 4, bits >> 9 & 0x1f);
        if length < 8 {
            return Err(Stop::Malformed);
        }
        self.at += length;
        match (bits & 0x100 != 0, binding) {
            (false, _) => Ok(Layer::Ethernet),
            (true, 1) => self.tunnelled_wireless(),
            (true, _) => Err(Stop::NotIp),
        }
    }

    /// TZSP, by which access points and routers send what they hear: version 1, what kind of packet, of which link; then
    /// fields of type, length and value up to the one of type 1.
    fn tzsp(&mut self) -> Result<Layer, Stop> {
        let (kind, link) = (self.u16(0)?, self.u16(2)?);
        // Received, or to be sent.
        if !matches!(kind, 0x0100 | 0x0101) {
            return Err(Stop::NotIp);
        }
        self.at += 4;
        for _ in 0..64 {
            match self.u8(0)? {
                0 => self.at += 1,
                1 => {
                    self.at += 1;
                    return match link {
                        1 => Ok(Layer::Ethernet),
                        18 => self.wireless(),
                        119 => self.inner_link(links::PRISM),
                        127 => self.inner_link(links::AVS),
                        _ => Err(Stop::NotIp),
                    };
                }
                _ => self.at += 2 + usize::from(self.u8(1)?),
            }
        }
        Err(Stop::Malformed)
    }

    /// GTP-U, 3GPP TS 29.281.
    fn gtp_u(&mut self) -> Result<Layer, Stop> {
        let (flags, message) = (self.u8(0)?, self.u8(1)?);
        // Version 1, protocol type GTP, and a user packet.
        if flags & 0xf0 != 0x30 || message != 0xff {
            return Err(Stop::NotIp);
        }
        self.at += 8;
        if flags & 0x07 != 0 {
            let mut next = self.u8(3)?;
            self.at += 4;
            for _ in 0..16 {
                if flags & 0x04 == 0 || next == 0 {
                    break;
                }
                let length = usize::from(self.u8(0)?) * 4;
                if length == 0 {
                    return Err(Stop::Malformed);
                }
                next = self.u8(length - 1)?;
                self.at += length;
            }
        }
        Ok(Layer::Ip)
    }

    /// Teredo, RFC 4380: an IPv6 packet behind optional headers.
    fn teredo(&mut self) -> Result<Layer, Stop> {
        for _ in 0..2 {
            match self.u16(0)? {
                // Authentication: lengths of client id and of the value, then 9 bytes.
                1 => self.at += 13 + usize::from(self.u8(2)?) + usize::from(self.u8(3)?),
                0 => self.at += 8,
                _ => break,
            }
        }
        if self.u8(0)? >> 4 == 6 {
            Ok(Layer::Ip6)
        } else {
            Err(Stop::Malformed)
        }
    }

    /// L2TP version 2 data messages, RFC 2661.
    fn l2tp(&mut self) -> Result<Layer, Stop> {
        let flags = self.u16(0)?;
        if flags & 0x000f != 2 || flags & 0x8000 != 0 {
            return Err(Stop::NotIp);
        }
        let mut length = 6;
        length += if flags & 0x4000 != 0 { 2 } else { 0 };
        length += if flags & 0x0800 != 0 { 4 } else { 0 };
        if flags & 0x0200 != 0 {
            length += 2 + usize::from(self.u16(length)?);
        }
        Ok(self.skip(length, Layer::Ppp))
    }

    /// AYIYA, draft-massar-v6ops-ayiya: an identity and a signature, whose lengths the first bytes tell.
    fn ayiya(&mut self) -> Result<Layer, Stop> {
        let identity = 1_usize << (self.u8(0)? >> 4);
        let signature = usize::from(self.u8(1)? >> 4) * 4;
        let length = 8 + identity + signature;
        match (self.u8(2)? & 15, self.u8(3)?) {
            // Forwarded packets alone.
            (1, 4) => Ok(self.skip(length, Layer::Ip4)),
            (1, 41) => Ok(self.skip(length, Layer::Ip6)),
            _ => Err(Stop::NotIp),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::decode::links::Link;
    use crate::decode::made::record;
    use crate::decode::{NO_VLAN, Outcome, Packet, decode, whole};
    use crate::records::Record;

    /// IP protocol 17 from port 5 to `port`, with `payload`.
    fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
        let length = 28 + payload.len() as u16;
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes.extend([0, 5]);
        bytes.extend(port.to_be_bytes());
        bytes.extend((length - 20).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn tunnels_over_udp_lead_to_the_packet_inside_or_are_the_flow() {
        let inside = udp(6, &[]);
        let mut ayiya = vec![0x22, 0x52, 0x11, 4];
        ayiya.resize(8 + 4 + 20, 0);
        for (port, header) in [
            (4341, vec![0x80, 0, 0, 0, 0, 0, 0, 0]),
            (4342, vec![0x80, 0, 0, 0]),
            (4754, vec![0, 0, 8, 0]),
            (5072, ayiya),
        ] {
            let packet = whole(101, &udp(port, &[&header[..], &inside].concat()));
            assert_eq!((packet.key.high_port, packet.tunnels), (6, 1), "{port}");
        }
        for (port, payload) in [(4342, [0x10, 0, 0, 0]), (5072, [0x22, 0x52, 0x10, 59])] {
            let packet = whole(101, &udp(port, &payload));
            assert_eq!((packet.key.high_port, packet.payload), (port, 4), "{port}");
        }
    }

    #[test]
    fn the_outermost_tunnel_is_noted_with_its_identifier() {
        let inside = udp(6, &[]);
        let flags = |first: u8| vec![first, 0, 8, 0];
        let ethernet = [&[0; 12][..], &[8, 0], &inside].concat();
        let nested = udp(4789, &[&[8, 0, 0, 0, 0, 0, 9, 0], &ethernet[..]].concat());
        for (port, payload, kind, id) in [
            (
                4789,
                [&[8, 0, 0, 0, 0, 1, 2, 0], &ethernet[..]].concat(),
                "vxlan",
                Some(258),
            ),
            (
                6081,
                [&[0, 0, 8, 0, 1, 0, 0, 0], &inside[..]].concat(),
                "geneve",
                Some(65_536),
            ),
            (
                2152,
                [&[0x30, 0xff, 0, 28, 0, 0, 1, 1], &inside[..]].concat(),
                "gtp-u",
                Some(257),
            ),
            (4754, [&flags(0)[..], &inside].concat(), "gre", None),
            (
                4754,
                [&flags(0x20)[..], &[0, 0, 3, 0], &inside].concat(),
                "gre",
                Some(768),
            ),
            (
                4754,
                [&flags(0xa0)[..], &[1, 2, 0, 0, 0, 0, 0, 7], &inside].concat(),
                "gre",
                Some(7),
            ),
            (4754, [&flags(0)[..], &nested].concat(), "gre", None),
        ] {
            let packet = whole(101, &udp(port, &payload));
            assert_eq!((packet.outer.kind, packet.outer.id), (kind, id));
            assert_eq!(packet.outer.key.high_port, port);
            assert!(
                packet.is_inside() && packet.key.high_port == 6,
                "{kind} {id:?}"
            );
        }
        // Nothing in it has ports: the tunnel is the flow.
        let header = [&[8, 0, 0, 0, 0, 1, 2, 0], &[0; 12][..]].concat();
        let request = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &[0; 20]].concat();
        let arp = [&header[..], &[8, 6], &request].concat();
        let tree = [&header[..], &[0, 38, 0x42, 0x42, 3], &[0; 35]].concat();
        for frame in [arp, tree] {
            let packet = whole(101, &udp(4789, &frame));
            assert!(packet.tunnels == 1 && !packet.is_inside());
        }
    }

    /// Variants of generic UDP encapsulation, LISP that names a protocol, CAPWAP data of Ethernet and of IEEE 802.11, TZSP of
    /// the same, GRE with a checksum and a service header.
    #[test]
    fn what_few_tunnels_have_leads_to_the_packet_inside() {
        let inside = udp(6, &[]);
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let ethernet = [&[0; 12][..], &[8, 0]].concat();
        let wireless = [&[8, 0][..], &[0; 22], &snap].concat();
        let swapped = [&[0, 8][..], &[0; 22], &snap].concat();
        let behind = |head: &[u8], next: &[u8]| [head, next].concat();
        for (port, header, kind) in [
            (6080, vec![0, 4, 0, 0], "gue"),
            (6080, vec![2, 4, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "gue"),
            (6080, vec![0, 47, 0, 0, 0, 0, 8, 0], "gue"),
            (6080, vec![], "gue"),
            (4341, vec![0x0c, 0, 0, 1, 0, 0, 7, 0], "lisp"),
            (
                4341,
                behind(&[0x0c, 0, 0, 3, 0, 0, 7, 0], &ethernet),
                "lisp",
            ),
            (
                5247,
                behind(&[0, 0x10, 2, 0, 0, 0, 0, 0], &ethernet),
                "capwap",
            ),
            // Three words and an address of a radio; native.
            (
                5247,
                behind(
                    &[0, 0x20, 3, 0x10, 0, 0, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0],
                    &wireless,
                ),
                "capwap",
            ),
            (
                5247,
                behind(&[0, 0x10, 3, 0, 0, 0, 0, 0], &swapped),
                "capwap",
            ),
            // The tag of a signal's strength, padding, the end.
            (
                37_008,
                behind(&[1, 0, 0, 1, 10, 1, 0xd0, 0, 1], &ethernet),
                "tzsp",
            ),
            (37_008, behind(&[1, 1, 0, 18, 1], &wireless), "tzsp"),
            (
                4754,
                vec![
                    0x80, 0, 0x89, 0x4f, 0, 0, 0, 0, 0x0f, 0xc6, 1, 1, 0, 0, 1, 255, 0, 0, 0, 0, 0,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                ],
                "gre",
            ),
        ] {
            let packet = whole(101, &udp(port, &[&header[..], &inside].concat()));
            let found = (packet.key.high_port, packet.tunnels, packet.outer.kind);
            assert_eq!(found, (6, 1, kind), "{port} {header:?}");
        }
        // Control messages, keep-alive, the second of several fragments, an encrypted frame.
        for (port, header) in [
            (6080, vec![0x20, 1, 0, 0]),
            (5247, behind(&[0, 0x10, 2, 8, 0, 0, 0, 0], &ethernet)),
            (5247, behind(&[0, 0x10, 2, 0x80, 0, 1, 0, 8], &ethernet)),
            (5247, vec![1, 0, 0, 0]),
        ] {
            let payload = [&header[..], &inside].concat();
            let packet = whole(101, &udp(port, &payload));
            let found = (packet.key.high_port, packet.payload, packet.tunnels);
            assert_eq!(found, (port, payload.len() as u32, 0), "{port} {header:?}");
        }
    }

    /// Ports of tunnels, each with what a header for it may begin with.
    const PORTS: [(u16, &[u8]); 17] = [
        (4789, &[8, 0, 0, 0, 0, 0, 1, 0]),
        (8472, &[8, 0, 0, 0, 0, 0, 1, 0]),
        (4790, &[0x0c, 0, 0, 1, 0, 0, 1, 0]),
        (6081, &[0, 0, 0x65, 0x58, 0, 0, 1, 0]),
        (6635, &[0, 1, 1, 64]),
        (2152, &[0x30, 0xff, 1, 0, 0, 0, 0, 1]),
        (3544, &[0, 1, 0, 0]),
        (1701, &[0, 2, 0, 1, 0, 1, 0x21]),
        (4754, &[0, 0, 0x65, 0x58]),
        (4341, &[0x80, 0, 0, 0, 0, 0, 0, 0]),
        (4342, &[0x80, 0, 0, 0]),
        (5072, &[0x22, 0x52, 0x11, 41]),
        (6080, &[0, 4, 0, 0]),
        (6080, &[]),
        (5247, &[0, 0x10, 2, 0, 0, 0, 0, 0]),
        (37_008, &[1, 0, 0, 1, 1]),
        (37_008, &[1, 0, 0, 18, 1, 8, 0]),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Whatever stands in it, with a right header of a tunnel or without, and whichever way it goes.
        #[test]
        fn a_datagram_is_no_tunnel_by_its_port_alone(
            (port, header) in proptest::sample::select(&PORTS[..]),
            has_header in any::<bool>(),
            answers in any::<bool>(),
            content in proptest::collection::vec(any::<u8>(), 0..300),
            cut in proptest::option::of(28_usize..100),
        ) {
            let header = if has_header { header } else { &[] };
            let payload = [header, &content].concat();
            let mut bytes = udp(port, &payload);
            if answers {
                let (source, destination) = (port.to_be_bytes(), 5_u16.to_be_bytes());
                bytes[20..24].copy_from_slice(&[source, destination].concat());
            }
            bytes.truncate(cut.unwrap_or(bytes.len()).min(bytes.len()));
            let captured = bytes.len();
            let mut record = Record { wire: 28 + payload.len() as u32, ..record(&bytes) };
            record.captured = captured as u32;
            let mut packet = Packet::default();
            decode(&record, Link::find(101), &bytes, true, &mut packet);
            prop_assert_eq!(packet.outcome, Outcome::Flow);
            prop_assert_eq!((packet.key.low_port.min(packet.key.high_port), packet.key.protocol), (5, 17));
            prop_assert_eq!(packet.key.low_port.max(packet.key.high_port), port);
            prop_assert_eq!((packet.payload, packet.tunnels), (payload.len() as u32, 0));
            prop_assert_eq!((packet.vlan, packet.length_conflict, packet.others), (NO_VLAN, false, 0));
        }
    }
}
