//! Link headers to the network layer: Ethernet and its tags, PPP, Linux "cooked", loopback, raw IP, ...

use super::{Layer, NO_VLAN, Stop, Walk};

impl Walk<'_> {
    /// Steps over the link header of a LINKTYPE_ of the tcpdump registry.
    pub(super) fn link(&mut self, link_type: u32) -> Result<Layer, Stop> {
        match link_type {
            1 => Ok(Layer::Ethernet),
            0 => self.null(),
            108 => self.loopback(),
            // PPP with or without HDLC framing; the walk looks for the framing itself.
            9 | 50 => Ok(Layer::Ppp),
            51 => self.pppoe(),
            10 => Ok(self.skip(13, Layer::Llc)),
            // RAW, in the numbers of BSD and Linux as well.
            101 | 12 | 14 => Ok(Layer::Ip),
            228 => Ok(Layer::Ip4),
            229 => Ok(Layer::Ip6),
            104 => self.cisco_hdlc(),
            107 => self.frame_relay(),
            113 => self.cooked(),
            276 => self.cooked_2(),
            105 => self.wireless(),
            127 => self.radiotap(),
            192 => self.per_packet_information(),
            239 => self.netfilter_log(),
            7 => self.arcnet(2),
            129 => self.arcnet(4),
            _ => self.seldom(link_type),
        }
    }

    pub(super) fn ethernet(&mut self) -> Result<Layer, Stop> {
        let kind = self.u16(12)?;
        self.at += 14;
        Ok(if kind < 0x600 {
            Layer::Llc
        } else {
            Layer::EtherType(kind)
        })
    }

    pub(super) fn ether_type(&mut self, kind: u16) -> Result<Layer, Stop> {
        match kind {
            0x0800 => Ok(Layer::Ip4),
            0x86dd => Ok(Layer::Ip6),
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
            // 802.1BR, VN-Tag, HSR (IEC 62439-3) and 802.1CB: a tag, then an EtherType.
            0x893f => self.tag(6),
            0x8926 | 0x892f | 0xf1c1 => self.tag(4),
            // TRILL, RFC 6325 3: how many words of options the first two bytes say; then the carried frame.
            0x22f3 => {
                let options = usize::from(self.u16(0)? >> 6 & 0x1f);
                Ok(self.skip(6 + 4 * options, Layer::Ethernet))
            }
            0xd28b => self.arista(),
            // Cisco's metadata: a version, how many words of options, these, then an EtherType.
            0x8909 => self.tag(2 + 4 * usize::from(self.u8(1)?)),
            0x880b => Ok(Layer::Ppp),
            0x88e5 => self.integrity(),
            value if value < 0x600 => Ok(Layer::Llc),
            _ => Err(Stop::NotIp),
        }
    }

    pub(super) fn skip(&mut self, length: usize, next: Layer) -> Layer {
        self.at += length;
        next
    }

    fn tag(&mut self, length: usize) -> Result<Layer, Stop> {
        let kind = self.u16(length)?;
        self.at += length + 2;
        Ok(Layer::EtherType(kind))
    }

    /// The time stamp that Arista's switches put into mirrored frames ("Overview of Arista Timestamps"): a kind, a
    /// version whose third digit tells the stamp's length, then the stamp and an `EtherType`.
    fn arista(&mut self) -> Result<Layer, Stop> {
        match (self.u16(0)?, self.u16(2)? >> 4 & 0xf) {
            (1, 1) => self.tag(4 + 8),
            (1, 2) => self.tag(4 + 6),
            _ => Err(Stop::NotIp),
        }
    }

    fn vlan(&mut self) -> Result<Layer, Stop> {
        let id = self.u16(0)? & 0xfff;
        let kind = self.u16(2)?;
        if self.packet.vlan == NO_VLAN {
            self.packet.vlan = id;
        }
        self.at += 4;
        Ok(if kind < 0x600 {
            Layer::Llc
        } else {
            Layer::EtherType(kind)
        })
    }

    /// LLC and SNAP, IEEE 802.2, RFC 1042.
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
            _ => Err(Stop::NotIp),
        }
    }

    /// MPLS, RFC 3032, and what lies under the last label, which nothing names.
    pub(super) fn mpls(&mut self) -> Result<Layer, Stop> {
        loop {
            let label = self.u32(0)?;
            self.at += 4;
            if label & 0x100 != 0 {
                break;
            }
        }
        match self.u8(0)? >> 4 {
            4 => Ok(Layer::Ip4),
            6 => Ok(Layer::Ip6),
            // The control word of a pseudowire, RFC 4385, then Ethernet.
            0 => Ok(self.skip(4, Layer::Ethernet)),
            _ => Ok(Layer::Ethernet),
        }
    }

    /// A session of PPP over Ethernet, RFC 2516.
    fn pppoe(&mut self) -> Result<Layer, Stop> {
        if self.u8(0)? != 0x11 {
            return Err(Stop::Malformed);
        }
        // Behind it may lie padding of the Ethernet frame, which some writers count as IP.
        let length = u32::from(self.u16(4)?);
        self.at += 6;
        self.limit = Some(self.at as u32 + length);
        Ok(Layer::Ppp)
    }

    /// PPP, RFC 1661, with or without the address and control bytes of RFC 1662.
    pub(super) fn ppp(&mut self) -> Result<Layer, Stop> {
        if matches!(self.chunk::<2>(0), Ok([0xff, 0x03])) {
            self.at += 2;
        } else if matches!(self.chunk::<2>(0), Ok([0x0f | 0x8f, 0x00])) {
            // Cisco framing in a PPP capture.
            return self.cisco_hdlc();
        }
        // One byte if the protocol field was compressed: then its lowest bit is set.
        let first = self.u8(0)?;
        let protocol = if first & 1 == 1 {
            self.at += 1;
            u16::from(first)
        } else {
            let both = self.u16(0)?;
            self.at += 2;
            both
        };
        match protocol {
            0x0021 => Ok(Layer::Ip4),
            0x0057 => Ok(Layer::Ip6),
            0x0281 | 0x0283 => Ok(Layer::Mpls),
            _ => Err(Stop::NotIp),
        }
    }

    pub(super) fn cisco_hdlc(&mut self) -> Result<Layer, Stop> {
        let kind = self.u16(2)?;
        self.at += 4;
        Ok(Layer::EtherType(kind))
    }

    /// BSD loopback: the address family in the byte order of the machine that captured.
    fn null(&mut self) -> Result<Layer, Stop> {
        let raw = *self.chunk::<4>(0)?;
        self.at += 4;
        let (little, big) = (u32::from_le_bytes(raw), u32::from_be_bytes(raw));
        family(little.min(big))
    }

    /// OpenBSD loopback: the address family in network order; written in host order by some.
    fn loopback(&mut self) -> Result<Layer, Stop> {
        self.null()
    }

    /// Frame Relay, RFC 2427 or Cisco's own form, behind two to four bytes of address, the last of which is odd.
    pub(super) fn frame_relay(&mut self) -> Result<Layer, Stop> {
        let mut length = 2;
        while length < 4 && self.u8(length - 1)? & 1 == 0 {
            length += 1;
        }
        self.at += length;
        match (self.u8(0)?, self.u8(1)?) {
            (0x03, 0xcc) => Ok(self.skip(2, Layer::Ip4)),
            (0x03, 0x8e) => Ok(self.skip(2, Layer::Ip6)),
            (0x03, 0x00) if self.u8(2)? == 0x80 => {
                let kind = self.u16(6)?;
                Ok(self.skip(8, Layer::EtherType(kind)))
            }
            _ => {
                let kind = self.u16(0)?;
                Ok(self.skip(2, Layer::EtherType(kind)))
            }
        }
    }

    /// Linux "cooked" capture, version 1.
    fn cooked(&mut self) -> Result<Layer, Stop> {
        let (hardware, kind) = (self.u16(2)?, self.u16(14)?);
        self.at += 16;
        cooked_protocol(hardware, kind)
    }

    /// Linux "cooked" capture, version 2.
    fn cooked_2(&mut self) -> Result<Layer, Stop> {
        let (kind, hardware) = (self.u16(0)?, self.u16(8)?);
        self.at += 20;
        cooked_protocol(hardware, kind)
    }

    /// IEEE 802.11 data frames that are not encrypted; of several in one, the first.
    pub(super) fn wireless(&mut self) -> Result<Layer, Stop> {
        let control = *self.chunk::<2>(0)?;
        // Version 0, type data, a subtype that carries data, not protected.
        if control[0] & 0x4f != 0x08 || control[1] & 0x40 != 0 {
            return Err(Stop::NotIp);
        }
        let mut length = 24;
        // To and from a distribution system: a fourth address.
        length += if control[1] & 3 == 3 { 6 } else { 0 };
        if control[0] & 0x80 != 0 {
            let aggregated = self.u8(length)? & 0x80 != 0;
            let mesh = control[1] & 3 == 3 && self.u8(length + 1)? & 1 != 0;
            length += if control[1] & 0x80 != 0 { 6 } else { 2 };
            // Flags, of which two count further addresses, hops that are left, a number.
            length += if mesh {
                6 * (1 + usize::from(self.u8(length)? & 3))
            } else {
                0
            };
            // Addresses and length of the first.
            length += if aggregated { 14 } else { 0 };
        }
        Ok(self.skip(length, Layer::Llc))
    }

    fn radiotap(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(u16::from_le_bytes(*self.chunk(2)?));
        self.at += length;
        self.wireless()
    }

    /// PPI: a header of its own, which names the link type behind it.
    fn per_packet_information(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(u16::from_le_bytes(*self.chunk(2)?));
        let link_type = u32::from_le_bytes(*self.chunk(4)?);
        if length < 8 || link_type == 192 {
            return Err(Stop::Malformed);
        }
        self.at += length;
        self.link(link_type)
    }

    /// Linux netfilter log: fields of type and length, of which one is the packet.
    fn netfilter_log(&mut self) -> Result<Layer, Stop> {
        let family = self.u8(0)?;
        let mut ether_type = 0;
        self.at += 4;
        for _ in 0..64 {
            let length = usize::from(u16::from_le_bytes(*self.chunk(0)?));
            let kind = u16::from_le_bytes(*self.chunk(2)?);
            if kind == 9 {
                return match family {
                    2 => Ok(self.skip(4, Layer::Ip4)),
                    10 => Ok(self.skip(4, Layer::Ip6)),
                    // A bridge: the header before the packet is a field of its own.
                    7 => Ok(self.skip(4, Layer::EtherType(ether_type))),
                    _ => Err(Stop::NotIp),
                };
            }
            if kind == 1 {
                ether_type = self.u16(4)?;
            }
            if length < 4 {
                return Err(Stop::Malformed);
            }
            self.at += length.next_multiple_of(4);
        }
        Err(Stop::Malformed)
    }

    /// ARCNET, RFC 1051 and RFC 1201; Linux has two more bytes before the type.
    fn arcnet(&mut self, kind: usize) -> Result<Layer, Stop> {
        match self.u8(kind)? {
            0xf0 => Ok(self.skip(kind + 1, Layer::Ip4)),
            // A flag byte and a sequence number; a flag other than 0 is a part of a packet.
            0xd4 if self.u8(kind + 1)? == 0 => Ok(self.skip(kind + 4, Layer::Ip4)),
            _ => Err(Stop::NotIp),
        }
    }
}

fn family(value: u32) -> Result<Layer, Stop> {
    match value {
        2 => Ok(Layer::Ip4),
        // NetBSD and OpenBSD, FreeBSD, macOS, Linux.
        24 | 28 | 30 | 10 => Ok(Layer::Ip6),
        // Some writers put an EtherType in its place.
        0x0600..=0xffff => Ok(Layer::EtherType(value as u16)),
        _ => Err(Stop::NotIp),
    }
}

/// What follows a "cooked" header.
fn cooked_protocol(hardware: u16, kind: u16) -> Result<Layer, Stop> {
    match (hardware, kind) {
        // Netlink carries no packets of a network.
        (824, _) => Err(Stop::NotIp),
        // 802.2.
        (_, 0x0004) => Ok(Layer::Llc),
        (_, 0x0600..) => Ok(Layer::EtherType(kind)),
        _ => Err(Stop::NotIp),
    }
}
