//! Tunnels that only a UDP port announces.

use super::{Layer, Stop, Walk, links, rdma};

impl Walk<'_> {
    /// Enters a tunnel that the UDP port announces; its content must prove it.
    #[inline]
    pub(super) fn udp_tunnel(&mut self, source: u16, destination: u16) -> Result<Layer, Stop> {
        let end = self.at as u32 + self.packet.payload;
        // Both ports are checked, because answers come from the port of the tunnel.
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

    /// Reads the network identifier of VXLAN, RFC 7348, and Geneve, RFC 8926.
    fn network_id(&self) -> Option<u32> {
        Some(self.u32(4).ok()? >> 8)
    }

    /// Reads VXLAN, RFC 7348.
    fn vxlan(&mut self) -> Result<Layer, Stop> {
        if self.u8(0)? & 0x08 == 0 {
            return Err(Stop::Malformed);
        }
        self.u8(7)?;
        Ok(self.skip(8, Layer::Ethernet))
    }

    /// Reads VXLAN with a protocol field, draft-ietf-nvo3-vxlan-gpe.
    fn vxlan_gpe(&mut self) -> Result<Layer, Stop> {
        let next = self.u8(3)?;
        self.u8(7)?;
        // The flag that announces the field is not always set if the field is present.
        match next {
            0 | 3 => Ok(self.skip(8, Layer::Ethernet)),
            1 => Ok(self.skip(8, Layer::Ip4)),
            2 => Ok(self.skip(8, Layer::Ip6)),
            4 => Ok(self.skip(8, Layer::EtherType(0x894f))),
            5 => Ok(self.skip(8, Layer::Mpls)),
            _ => Err(Stop::NotIp),
        }
    }

    /// Reads Geneve, RFC 8926.
    fn geneve(&mut self) -> Result<Layer, Stop> {
        let first = self.u8(0)?;
        let kind = self.u16(2)?;
        if first >> 6 != 0 {
            return Err(Stop::Malformed);
        }
        Ok(self.skip(8 + usize::from(first & 0x3f) * 4, Layer::EtherType(kind)))
    }

    /// Reads LISP, RFC 9300; a flag states that the fourth byte names the protocol inside, RFC 9305.
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

    /// Reads generic UDP encapsulation, draft-ietf-intarea-gue: variant 0 has a header with its own length and an IP
    /// protocol number, variant 1 has none.
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

    /// Reads unencrypted CAPWAP data, RFC 5415 4.3: a header that states its length in words, then a frame of Ethernet
    /// or, if a flag says that it is native, of IEEE 802.11.
    fn capwap(&mut self) -> Result<Layer, Stop> {
        let bits = self.u32(0)?;
        // Version and type; keep-alive; a later fragment.
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

    /// Reads TZSP, by which access points and routers forward received frames: version 1, the kind of packet, the link
    /// type; then fields of type, length and value up to one of type 1.
    fn tzsp(&mut self) -> Result<Layer, Stop> {
        let (kind, link) = (self.u16(0)?, self.u16(2)?);
        // Received, or to be transmitted.
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

    /// Reads GTP-U, 3GPP TS 29.281.
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

    /// Reads Teredo, RFC 4380: an IPv6 packet after optional headers.
    fn teredo(&mut self) -> Result<Layer, Stop> {
        for _ in 0..2 {
            match self.u16(0)? {
                // Authentication: lengths of the client id and of the value, then 9 bytes.
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

    /// Reads data messages of L2TP version 2, RFC 2661.
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

    /// Reads AYIYA, draft-massar-v6ops-ayiya: an identity and a signature, whose lengths are in the first bytes.
    fn ayiya(&mut self) -> Result<Layer, Stop> {
        let identity = 1_usize << (self.u8(0)? >> 4);
        let signature = usize::from(self.u8(1)? >> 4) * 4;
        let length = 8 + identity + signature;
        match (self.u8(2)? & 15, self.u8(3)?) {
            // Only forwarded packets.
            (1, 4) => Ok(self.skip(length, Layer::Ip4)),
            (1, 41) => Ok(self.skip(length, Layer::Ip6)),
            _ => Err(Stop::NotIp),
        }
    }
}

#[cfg(test)]
#[path = "udp_tunnel_tests.rs"]
mod tests;
