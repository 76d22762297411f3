//! Link headers, other than Ethernet, of captures on various systems and interfaces.

use super::{Layer, Stop, Walk, links};

/// The type of packets that the capturing host sent, in Linux' cooked headers: `PACKET_OUTGOING`.
const OUTGOING: u16 = 4;

impl Walk<'_> {
    /// Reads BSD loopback: the address family in the byte order of the capturing machine.
    pub(super) fn null(&mut self) -> Result<Layer, Stop> {
        let raw = *self.chunk::<4>(0)?;
        self.at += 4;
        let (little, big) = (u32::from_le_bytes(raw), u32::from_be_bytes(raw));
        family(little.min(big))
    }

    /// Reads OpenBSD loopback: the address family in network order; some writers use host order.
    pub(super) fn loopback(&mut self) -> Result<Layer, Stop> {
        self.null()
    }

    /// Reads Frame Relay, RFC 2427 or Cisco's own form, after two to four address bytes, the last of which is odd.
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

    /// Reads Linux "cooked" capture, version 1.
    pub(super) fn cooked(&mut self) -> Result<Layer, Stop> {
        let (hardware, kind) = (self.u16(2)?, self.u16(14)?);
        self.packet.is_outgoing |= self.u16(0)? == OUTGOING;
        self.at += 16;
        cooked_protocol(hardware, kind)
    }

    /// Reads Linux "cooked" capture, version 2.
    pub(super) fn cooked_2(&mut self) -> Result<Layer, Stop> {
        let (kind, hardware) = (self.u16(0)?, self.u16(8)?);
        self.packet.is_outgoing |= u16::from(self.u8(10)?) == OUTGOING;
        self.at += 20;
        cooked_protocol(hardware, kind)
    }

    /// Reads PPI: its own header, which names the link type after it.
    pub(super) fn per_packet_information(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(u16::from_le_bytes(*self.chunk(2)?));
        let link_type = u32::from_le_bytes(*self.chunk(4)?);
        if length < 8 || link_type == links::PPI {
            return Err(Stop::Malformed);
        }
        self.at += length;
        self.inner_link(link_type)
    }

    /// Reads a Linux netfilter log: fields of type and length, one of which is the packet.
    pub(super) fn netfilter_log(&mut self) -> Result<Layer, Stop> {
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
                    // A bridge: the EtherType is a separate field before the packet.
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

    /// Reads ARCNET, RFC 1051 and RFC 1201; Linux has two more bytes before the type.
    pub(super) fn arcnet(&mut self, kind: usize) -> Result<Layer, Stop> {
        match self.u8(kind)? {
            0xf0 => Ok(self.skip(kind + 1, Layer::Ip4)),
            // A flag byte and a sequence number; a flag other than 0 marks a part of a packet.
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
        // Some writers put an EtherType here.
        0x0600..=0xffff => Ok(Layer::EtherType(value as u16)),
        _ => Err(Stop::NotIp),
    }
}

/// Returns the layer after a "cooked" header.
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

#[cfg(test)]
mod tests {
    use crate::decode::made::all_lead_to_the_packet;

    #[test]
    fn link_headers_lead_to_the_packet() {
        all_lead_to_the_packet([
            // Frame Relay: Cisco's form, RFC 2427 after four address bytes, the same with SNAP.
            (107, vec![0x18, 0x41, 8, 0]),
            (107, vec![0x18, 0x40, 0x40, 0x41, 3, 0xcc]),
            (107, vec![0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0]),
            // The netfilter log of a bridge: the EtherType is a field before the packet.
            (239, vec![7, 0, 0, 0, 8, 0, 1, 0, 8, 0, 0, 0, 32, 0, 9, 0]),
            // An EtherType instead of an address family.
            (0, vec![0, 8, 0, 0]),
        ]);
    }
}
