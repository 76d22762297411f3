//! Tunnel headers to the packet inside: IP in IP, GRE, VXLAN, Geneve, GTP-U, Teredo, L2TP, LISP, AYIYA,
//! NSH.

use super::{Key, Layer, Packet, Stop, Walk, rdma};

/// The outermost tunnel around a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Outer {
    pub kind: &'static str,
    /// Network identifier of VXLAN and Geneve, key of GRE, tunnel endpoint identifier of GTP-U, where there is one.
    pub id: Option<u32>,
    /// Its own flow, and whether it was sent by the higher endpoint of that.
    pub key: Key,
    pub from_high: bool,
}

impl Packet {
    /// Its flow lies inside a tunnel: not where what the tunnel carries is no IP.
    pub(crate) fn is_inside(&self) -> bool {
        self.tunnels > 0 && self.key != self.outer.key
    }
}

impl Walk<'_> {
    fn enter(&mut self, kind: &'static str, id: Option<u32>) {
        let packet = &mut *self.packet;
        if packet.tunnels == 0 {
            packet.outer = Outer {
                kind,
                id,
                key: packet.key,
                from_high: packet.from_high,
            };
        }
        packet.tunnels += 1;
    }

    /// Tunnels that IP carries without a transport header.
    pub(super) fn ip_tunnel(&mut self, protocol: u8) -> Result<Layer, Stop> {
        let (kind, id, next) = match protocol {
            4 | 41 if self.packet.segment_routed => ("srv6", None, Layer::Ip),
            // Ethernet, RFC 8986 4.9 and 10.1.
            143 if self.packet.key.v6 => ("srv6", None, Layer::Ethernet),
            143 => ("ethernet", None, Layer::Ethernet),
            4 if self.packet.key.v6 => ("4in6", None, Layer::Ip4),
            4 => ("4in4", None, Layer::Ip4),
            41 if self.packet.key.v6 => ("6in6", None, Layer::Ip6),
            41 => ("6in4", None, Layer::Ip6),
            47 => (self.gre_kind(), self.gre_key(), self.gre()?),
            // EtherIP, RFC 3378.
            97 => ("etherip", None, self.skip(2, Layer::Ethernet)),
            137 => ("mpls", None, Layer::Mpls),
            // A PIM register message carries a packet to the rendezvous point, RFC 7761 4.9.3.
            103 if self.u8(0) == Ok(0x21) => ("pim", None, self.skip(8, Layer::Ip)),
            _ => return Ok(Layer::Done),
        };
        self.enter(kind, id);
        Ok(next)
    }

    fn gre_kind(&self) -> &'static str {
        match self.u16(2) {
            Ok(0x88be | 0x22eb) => "erspan",
            _ => "gre",
        }
    }

    /// Key of GRE version 0, RFC 2890; behind a checksum or routing where those are.
    fn gre_key(&self) -> Option<u32> {
        let flags = self.u16(0).ok()?;
        let at = if flags & 0xc000 != 0 { 8 } else { 4 };
        (flags & 0x2007 == 0x2000)
            .then(|| self.u32(at).ok())
            .flatten()
    }

    /// Network identifier of VXLAN, RFC 7348, and Geneve, RFC 8926.
    fn network_id(&self) -> Option<u32> {
        Some(self.u32(4).ok()? >> 8)
    }

    /// GRE, RFC 2784 and 2890; version 1 as in PPTP, RFC 2637.
    fn gre(&mut self) -> Result<Layer, Stop> {
        let (flags, protocol) = (self.u16(0)?, self.u16(2)?);
        let mut length = 4;
        if flags & 7 == 1 && protocol == 0x6400 {
            // MikroTik's Ethernet over IP: a length and a tunnel number.
            return Ok(self.skip(8, Layer::Ethernet));
        }
        if flags & 7 == 1 {
            length += 4;
            length += if flags & 0x1000 != 0 { 4 } else { 0 };
            length += if flags & 0x0080 != 0 { 4 } else { 0 };
            return Ok(self.skip(length, Layer::Ppp));
        }
        // Checksum or routing, key, sequence number.
        length += if flags & 0xc000 != 0 { 4 } else { 0 };
        length += if flags & 0x2000 != 0 { 4 } else { 0 };
        length += if flags & 0x1000 != 0 { 4 } else { 0 };
        match protocol {
            // ERSPAN: type I has no header of its own and no sequence number, type II has 8 bytes.
            0x88be => {
                length += if flags & 0x1000 != 0 { 8 } else { 0 };
                Ok(self.skip(length, Layer::Ethernet))
            }
            // ERSPAN type III: 12 bytes, and 8 more where the last bit says so.
            0x22eb => {
                length += if self.u8(length + 11)? & 1 != 0 {
                    20
                } else {
                    12
                };
                Ok(self.skip(length, Layer::Ethernet))
            }
            // Aruba's access points send what they hear.
            0x8200..=0x83f0 => {
                self.at += length;
                self.wireless()
            }
            // WCCP: version 2 has four bytes in front of the packet.
            0x883e => {
                let header = if self.u8(length)? >> 4 == 4 { 0 } else { 4 };
                Ok(self.skip(length + header, Layer::Ip))
            }
            kind => Ok(self.skip(length, Layer::EtherType(kind))),
        }
    }

    /// Tunnels told by their UDP port.
    #[inline]
    pub(super) fn udp_tunnel(&mut self, source: u16, destination: u16) -> Result<Layer, Stop> {
        // Most ports are none of these. Both are looked at: answers go back from the tunnel's port.
        let (kind, id, next) = match (destination, source) {
            (4789 | 8472, _) | (_, 4789) => ("vxlan", self.network_id(), self.vxlan()?),
            (4790, _) | (_, 4790) => ("vxlan-gpe", self.network_id(), self.vxlan_gpe()?),
            (6081, _) | (_, 6081) => ("geneve", self.network_id(), self.geneve()?),
            (6635, _) => ("mpls", None, Layer::Mpls),
            (2152, _) | (_, 2152) => ("gtp-u", self.u32(4).ok(), self.gtp_u()?),
            (3544, _) | (_, 3544) => ("teredo", None, self.teredo()?),
            (1701, _) | (_, 1701) => ("l2tp", None, self.l2tp()?),
            // GRE in UDP, RFC 8086.
            (4754, _) => (self.gre_kind(), self.gre_key(), self.gre()?),
            // LISP, RFC 9300.
            (4341, _) => ("lisp", None, self.skip(8, Layer::Ip)),
            // Its control messages, RFC 9301: type 8 carries a packet.
            (4342, _) if matches!(self.u8(0), Ok(0x80..=0x8f)) => {
                ("lisp", None, self.skip(4, Layer::Ip))
            }
            (rdma::PORT, _) => {
                self.rdma();
                return Ok(Layer::Done);
            }
            (5072, _) | (_, 5072) => ("ayiya", None, self.ayiya()?),
            _ => return Ok(Layer::Done),
        };
        self.enter(kind, id);
        Ok(next)
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

    /// Network service header, RFC 8300.
    pub(super) fn service_header(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(self.u16(0)? & 0x3f) * 4;
        let next = self.u8(3)?;
        if length < 8 {
            return Err(Stop::Malformed);
        }
        match next {
            1 => Ok(self.skip(length, Layer::Ip4)),
            2 => Ok(self.skip(length, Layer::Ip6)),
            3 => Ok(self.skip(length, Layer::Ethernet)),
            5 => Ok(self.skip(length, Layer::Mpls)),
            _ => Err(Stop::NotIp),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::made::{IP, all_lead_to_the_packet, zeros_then};
    use crate::decode::whole;

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

    /// Ethernet over IP of `MikroTik`.
    #[test]
    fn the_other_version_of_gre_leads_to_ethernet() {
        let mut eoip = IP.to_vec();
        eoip[9] = 47;
        eoip.truncate(20);
        eoip.extend([0x20, 1, 0x64, 0, 0, 42, 7, 0]);
        eoip.extend(zeros_then(12, &[8, 0]));
        all_lead_to_the_packet([(101, eoip)]);
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
        let arp = [&[8, 0, 0, 0, 0, 1, 2, 0], &[0; 12][..], &[8, 6], &[0; 28]].concat();
        let packet = whole(101, &udp(4789, &arp));
        assert!(packet.tunnels == 1 && !packet.is_inside());
    }
}
