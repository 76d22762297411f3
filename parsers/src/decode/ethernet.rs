//! Ethernet and the tags after its addresses, up to the network layer.

use super::{Layer, NO_VLAN, Stop, Walk};

impl Walk<'_> {
    pub(super) fn ethernet(&mut self) -> Result<Layer, Stop> {
        let kind = self.u16(12)?;
        self.at += 14;
        Ok(typed(kind))
    }

    pub(super) fn ether_type(&mut self, kind: u16) -> Result<Layer, Stop> {
        match kind {
            0x0800 => {
                self.name_ip();
                Ok(Layer::Ip4)
            }
            0x86dd => {
                self.name_ip();
                Ok(Layer::Ip6)
            }
            // 802.1Q, 802.1ad and the older numbers of stacked tags.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => self.vlan(),
            0x8847 | 0x8848 => Ok(Layer::Mpls),
            0x8864 => self.pppoe(),
            // Transparent Ethernet bridging: an Ethernet frame inside GRE or Geneve.
            0x6558 => Ok(Layer::Ethernet),
            // Jumbo LLC.
            0x8870 => Ok(Layer::Llc),
            0x894f => self.service_header(),
            // 802.1ah: four bytes of service tag, then the customer's frame.
            0x88e7 => Ok(self.skip(4, Layer::Ethernet)),
            // FabricPath: two bytes of tag, then the carried frame.
            0x8903 => Ok(self.skip(2, Layer::Ethernet)),
            // A tag, then an EtherType: 802.1BR, a tag of Marvell's switch chips after two reserved bytes, VN-Tag, HSR
            // (IEC 62439-3) and 802.1CB.
            0x893f | 0xdada => self.tag(6),
            0x8926 | 0x892f | 0xf1c1 => self.tag(4),
            // TRILL, RFC 6325 3: the first two bytes state the number of option words; then the carried frame.
            0x22f3 => {
                let options = usize::from(self.u16(0)? >> 6 & 0x1f);
                Ok(self.skip(6 + 4 * options, Layer::Ethernet))
            }
            0x4305 => self.mesh(),
            0xd28b => self.arista(),
            // Cisco's metadata: a version, the number of option words, the options, then an EtherType.
            0x8909 => self.tag(2 + 4 * usize::from(self.u8(1)?)),
            0x880b => Ok(Layer::Ppp),
            0x88e5 => self.integrity(),
            value if value < 0x600 => Ok(Layer::Llc),
            _ => Err(self.not_ip(Layer::EtherType(kind))),
        }
    }

    fn tag(&mut self, length: usize) -> Result<Layer, Stop> {
        let kind = self.u16(length)?;
        self.at += length + 2;
        Ok(Layer::EtherType(kind))
    }

    /// Reads an `EtherType` after `length` bytes that are not needed.
    pub(super) fn tagged(&mut self, length: usize) -> Result<Layer, Stop> {
        let kind = self.u16(length)?;
        self.at += length + 2;
        Ok(typed(kind))
    }

    /// Reads a mesh header of batman-adv, `batadv_packet.h` of Linux: type and version, a header whose length depends
    /// on the type, then a frame.
    fn mesh(&mut self) -> Result<Layer, Stop> {
        let length = match self.chunk(0)? {
            // Unicast; unicast with the sender's address; broadcast.
            [0x40, 15] => 10,
            [0x42, 15] => 18,
            [0x01, 15] => 14,
            _ => return Err(Stop::NotIp),
        };
        Ok(self.skip(length, Layer::Ethernet))
    }

    /// Reads the timestamp that Arista's switches insert into mirrored frames ("Overview of Arista Timestamps"): a
    /// kind, a version whose third digit determines the stamp's length, the stamp, and an `EtherType`.
    fn arista(&mut self) -> Result<Layer, Stop> {
        match (self.u16(0)?, self.u16(2)? >> 4 & 0xf) {
            (1, 1) => self.tag(4 + 8),
            (1, 2) => self.tag(4 + 6),
            _ => Err(Stop::NotIp),
        }
    }

    /// Reads an IEEE 802.1Q tag. The id 0 names no VLAN: such a tag carries only a priority (9.6).
    fn vlan(&mut self) -> Result<Layer, Stop> {
        let id = self.u16(0)? & 0xfff;
        let kind = self.u16(2)?;
        if id != 0 && self.packet.vlan == NO_VLAN {
            self.packet.vlan = id;
        }
        self.at += 4;
        Ok(typed(kind))
    }

    /// Reads IEEE 802.1AE (MAC security) that authenticates and does not encrypt: the frame continues after the tag.
    fn integrity(&mut self) -> Result<Layer, Stop> {
        let control = self.u8(0)?;
        // Version, encrypted, changed.
        if control & 0x8c != 0 {
            return Err(Stop::NotIp);
        }
        self.tagged(if control & 0x20 == 0 { 6 } else { 14 })
    }

    /// Reads LLC and SNAP, IEEE 802.2, RFC 1042.
    pub(super) fn llc(&mut self) -> Result<Layer, Stop> {
        match (self.u8(0)?, self.u8(1)?) {
            // Unnumbered information; other controls carry no SNAP header.
            (0xaa, 0xaa) if self.u8(2)? & 0xef == 3 => {
                let kind = self.u16(6)?;
                self.at += 8;
                Ok(Layer::EtherType(kind))
            }
            // IP's own service access point.
            (0x06, 0x06) => Ok(self.skip(3, Layer::Ip4)),
            _ => Err(self.not_ip(Layer::Llc)),
        }
    }
}

/// Interprets a type field: below 0x600 it is a length, and LLC follows (IEEE 802.3 3.2.6).
fn typed(kind: u16) -> Layer {
    if kind < 0x600 {
        Layer::Llc
    } else {
        Layer::EtherType(kind)
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::made::{IP, all_lead_to_the_packet, decoded, zeros_then};
    use crate::decode::{Outcome, whole};

    #[test]
    fn tags_lead_to_the_packet() {
        all_lead_to_the_packet([
            // MACsec without encryption: with a channel identifier and without.
            (
                1,
                zeros_then(
                    12,
                    &[&[0x88, 0xe5, 0x20, 0][..], &[0; 12], &[8, 0]].concat(),
                ),
            ),
            (1, zeros_then(12, &[0x88, 0xe5, 0, 0, 0, 0, 0, 1, 8, 0])),
            // A tag of Marvell's switch chips.
            (1, zeros_then(12, &[0xda, 0xda, 0, 0, 0x40, 1, 0, 0, 8, 0])),
            // Cisco's VN-Tag; seamless redundancy (IEC 62439-3); RFC 6325 with a word of options; FabricPath; 802.1ah.
            (1, zeros_then(12, &[0x89, 0x26, 0, 1, 0, 2, 8, 0])),
            (1, zeros_then(12, &[0x89, 0x2f, 0, 60, 0, 1, 8, 0])),
            (
                1,
                zeros_then(
                    12,
                    &[&[0x22, 0xf3, 0, 0x41, 0, 1, 0, 2][..], &[0; 16], &[8, 0]].concat(),
                ),
            ),
            (
                1,
                zeros_then(12, &[&[0x89, 3, 0, 1][..], &[0; 12], &[8, 0]].concat()),
            ),
            (
                1,
                zeros_then(
                    12,
                    &[&[0x88, 0xe7, 0, 0, 0, 1][..], &[0; 12], &[8, 0]].concat(),
                ),
            ),
            // A mesh of batman-adv: unicast, unicast with the sender's address, broadcast.
            (
                1,
                zeros_then(
                    12,
                    &[&[0x43, 5, 0x40, 15, 50][..], &[0; 7 + 12], &[8, 0]].concat(),
                ),
            ),
            (
                1,
                zeros_then(
                    12,
                    &[&[0x43, 5, 0x42, 15, 50][..], &[0; 15 + 12], &[8, 0]].concat(),
                ),
            ),
            (
                1,
                zeros_then(
                    12,
                    &[&[0x43, 5, 0x01, 15, 50][..], &[0; 11 + 12], &[8, 0]].concat(),
                ),
            ),
            // Cisco's metadata with a security group.
            (1, zeros_then(12, &[0x89, 9, 1, 1, 0, 1, 0, 2, 8, 0])),
        ]);
    }

    /// Integrity data follow a frame: the check value of `MACsec`, the trailer of parallel redundancy.
    #[test]
    fn what_stands_behind_a_frame_is_no_payload() {
        let protected = zeros_then(12, &[0x88, 0xe5, 0, 0, 0, 0, 0, 1, 8, 0]);
        let plain = zeros_then(12, &[8, 0]);
        for (header, trailer) in [
            (protected, vec![7; 16]),
            (plain, vec![0, 1, 0xa0, 34, 0x88, 0xfb]),
        ] {
            let packet = whole(1, &[&header[..], &IP, &trailer].concat());
            assert_eq!((packet.payload, packet.ip_bytes), (0, 28));
            assert!(!packet.length_conflict);
        }
    }

    #[test]
    fn what_macsec_encrypts_is_not_ip() {
        let encrypted = zeros_then(12, &[0x88, 0xe5, 0x0c, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(decoded(1, &encrypted).outcome, Outcome::NotIp);
    }
}
