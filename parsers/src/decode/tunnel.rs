//! Tunnel headers with an IP protocol number or an Ethernet type: IP in IP and others, GRE, NSH.

use super::{Layer, Outer, Stop, Walk};

impl Walk<'_> {
    pub(super) fn enter(&mut self, kind: &'static str, id: Option<u32>) {
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

    /// Enters tunnels that IP carries without a transport header.
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

    pub(super) fn gre_kind(&self) -> &'static str {
        match self.u16(2) {
            Ok(0x88be | 0x22eb) => "erspan",
            _ => "gre",
        }
    }

    /// Returns the key of GRE version 0, RFC 2890; a checksum or routing may precede it.
    pub(super) fn gre_key(&self) -> Option<u32> {
        let flags = self.u16(0).ok()?;
        let at = if flags & 0xc000 != 0 { 8 } else { 4 };
        (flags & 0x2007 == 0x2000)
            .then(|| self.u32(at).ok())
            .flatten()
    }

    /// Reads GRE, RFC 2784 and 2890; version 1 as in PPTP, RFC 2637.
    pub(super) fn gre(&mut self) -> Result<Layer, Stop> {
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
            // ERSPAN: type I has neither a header of its own nor a sequence number, type II has 8 bytes.
            0x88be => {
                length += if flags & 0x1000 != 0 { 8 } else { 0 };
                Ok(self.skip(length, Layer::Ethernet))
            }
            // ERSPAN type III: 12 bytes, and 8 more if the last bit is set; an IP packet if the frame type is 2,
            // draft-foschiano-erspan-03 4.3.
            0x22eb => {
                let word = self.u16(length + 10)?;
                length += if word & 1 != 0 { 20 } else { 12 };
                let is_ip = word >> 10 & 0x1f == 2;
                Ok(self.skip(length, if is_ip { Layer::Ip } else { Layer::Ethernet }))
            }
            // Aruba's access points send the frames that they receive.
            0x8200..=0x83f0 => {
                self.at += length;
                self.wireless()
            }
            // WCCP: version 2 has four bytes before the packet.
            0x883e => {
                let header = if self.u8(length)? >> 4 == 4 { 0 } else { 4 };
                Ok(self.skip(length + header, Layer::Ip))
            }
            kind => Ok(self.skip(length, Layer::EtherType(kind))),
        }
    }

    /// Reads a network service header, RFC 8300.
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

    /// ERSPAN type III, with and without the platform-specific subheader.
    #[test]
    fn a_mirrored_packet_may_lack_its_ethernet_header() {
        let mirrored = |last: u8, subheader: usize| {
            let mut bytes = IP.to_vec();
            bytes[9] = 47;
            bytes.truncate(20);
            bytes.extend([0x10, 0, 0x22, 0xeb, 0, 0, 0, 1]);
            bytes.extend(zeros_then(10, &[0x08, last]));
            bytes.extend(vec![0; subheader]);
            bytes
        };
        all_lead_to_the_packet([(101, mirrored(0, 0)), (101, mirrored(1, 8))]);
    }
}
