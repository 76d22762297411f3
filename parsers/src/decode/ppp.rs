//! PPP, Cisco's framing of it, and its sessions over Ethernet.

use super::{Layer, Stop, Walk};

impl Walk<'_> {
    /// Reads a session of PPP over Ethernet, RFC 2516.
    pub(super) fn pppoe(&mut self) -> Result<Layer, Stop> {
        if self.u8(0)? != 0x11 {
            return Err(Stop::Malformed);
        }
        // Padding of the Ethernet frame may follow, which some writers count as IP.
        let length = u32::from(self.u16(4)?);
        self.at += 6;
        self.limit = Some(self.at as u32 + length);
        Ok(Layer::Ppp)
    }

    /// Reads PPP, RFC 1661, with or without the address and control bytes of RFC 1662.
    pub(super) fn ppp(&mut self) -> Result<Layer, Stop> {
        if matches!(self.chunk::<2>(0), Ok([0xff, 0x03])) {
            self.at += 2;
        } else if matches!(self.chunk::<2>(0), Ok([0x0f | 0x8f, 0x00])) {
            // Cisco framing in a PPP capture.
            return self.cisco_hdlc();
        }
        // The protocol is one byte if it was compressed: then its lowest bit is set.
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
}
