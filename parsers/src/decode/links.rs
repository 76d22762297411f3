//! The supported link types: their numbers and names in the tcpdump registry
//! (<https://www.tcpdump.org/linktypes.html>), and the function that skips the header of each.

use std::borrow::Cow;

use super::{Layer, Stop, Walk};
use crate::records::NO_LINK;

/// Skips the link header at the walk's position.
type StepOver = fn(&mut Walk<'_>) -> Result<Layer, Stop>;

/// One link type.
pub(crate) struct Link {
    number: u32,
    /// Name in the registry without `LINKTYPE_`; empty if the tables show the number instead.
    name: &'static str,
    step_over: StepOver,
}

pub(crate) const ETHERNET: u32 = 1;
pub(crate) const LINUX_SLL2: u32 = 276;
/// IEEE 802.11 after the headers of two families of drivers.
pub(super) const PRISM: u32 = 119;
pub(super) const AVS: u32 = 163;
/// A header that names the link type after it.
pub(super) const PPI: u32 = 192;
/// The same of macOS, which first used a number reserved for private use.
pub(super) const PKTAPS: [u32; 2] = [149, 258];

const fn link(number: u32, name: &'static str, step_over: StepOver) -> Link {
    Link {
        number,
        name,
        step_over,
    }
}

/// All link types, frequent ones first.
#[allow(clippy::redundant_closure_for_method_calls)] // method paths are not generic over the lifetime
static LINKS: &[Link] = &[
    link(ETHERNET, "ETHERNET", |_| Ok(Layer::Ethernet)),
    link(113, "LINUX_SLL", |walk| walk.cooked()),
    link(LINUX_SLL2, "LINUX_SLL2", |walk| walk.cooked_2()),
    // Also under the numbers of BSD and Linux.
    link(101, "RAW", |_| Ok(Layer::Ip)),
    link(12, "RAW", |_| Ok(Layer::Ip)),
    link(14, "RAW", |_| Ok(Layer::Ip)),
    link(228, "IPV4", |_| Ok(Layer::Ip4)),
    link(229, "IPV6", |_| Ok(Layer::Ip6)),
    link(0, "NULL", |walk| walk.null()),
    link(108, "LOOP", |walk| walk.loopback()),
    // With or without HDLC framing: PPP itself detects the framing.
    link(9, "PPP", |_| Ok(Layer::Ppp)),
    link(50, "PPP_HDLC", |_| Ok(Layer::Ppp)),
    link(51, "PPP_ETHER", |walk| walk.pppoe()),
    link(10, "FDDI", |walk| Ok(walk.skip(13, Layer::Llc))),
    link(104, "C_HDLC", |walk| walk.cisco_hdlc()),
    link(107, "FRELAY", |walk| walk.frame_relay()),
    link(105, "IEEE802_11", |walk| walk.wireless()),
    link(127, "IEEE802_11_RADIOTAP", |walk| walk.radiotap()),
    link(PRISM, "IEEE802_11_PRISM", |walk| walk.prism()),
    link(AVS, "IEEE802_11_AVS", |walk| walk.avs()),
    link(PPI, "PPI", |walk| walk.per_packet_information()),
    link(239, "NFLOG", |walk| walk.netfilter_log()),
    link(7, "ARCNET_BSD", |walk| walk.arcnet(2)),
    link(129, "ARCNET_LINUX", |walk| walk.arcnet(4)),
    link(6, "IEEE802_5", |walk| walk.token_ring()),
    link(8, "SLIP", |walk| walk.slip()),
    // ATM, RFC 2684 with LLC.
    link(11, "", |_| Ok(Layer::Llc)),
    link(100, "", |_| Ok(Layer::Llc)),
    // Classical IP over ATM: with LLC or without.
    link(106, "", |walk| match walk.chunk(0) {
        Ok([0xaa, 0xaa, 0x03]) => Ok(Layer::Llc),
        _ => Ok(Layer::Ip),
    }),
    // IP over Fibre Channel, RFC 2625: two addresses of 8 bytes.
    link(122, "", |walk| Ok(walk.skip(16, Layer::Llc))),
    // ATM of SunOS: the lower half of the first byte states whether LLC follows.
    link(123, "", |walk| match walk.u8(0)? & 15 {
        2 => Ok(walk.skip(4, Layer::Llc)),
        _ => Err(Stop::NotIp),
    }),
    // OpenBSD's IPsec interface: family, key, flags.
    link(109, "", |walk| Ok(walk.skip(12, Layer::Ip))),
    link(117, "", |walk| walk.packet_filter_log()),
    // IP over IEEE 1394 as written by macOS: two addresses of 8 bytes.
    link(138, "", |walk| walk.tagged(16)),
    // Tags of Broadcom's and Marvell's switch chips after the addresses; Marvell's other tag has its own EtherType.
    link(281, "", |walk| walk.tagged(16)),
    link(284, "", |walk| walk.tagged(16)),
    link(285, "", |walk| walk.tagged(20)),
    link(PKTAPS[0], "", |walk| walk.packet_tap(Stop::UnknownLink)),
    link(PKTAPS[1], "", |walk| walk.packet_tap(Stop::Malformed)),
    // PPP with a direction instead of the address byte, ...
    link(166, "", |walk| Ok(walk.skip(2, Layer::Ppp))),
    // ... and with a direction before it, as in the next two.
    link(204, "", |walk| Ok(walk.skip(1, Layer::Ppp))),
    link(205, "", |walk| {
        walk.at += 1;
        walk.cisco_hdlc()
    }),
    link(206, "", |walk| {
        walk.at += 1;
        walk.frame_relay()
    }),
    link(178, "", |walk| walk.juniper_ethernet()),
    // Solaris between zones: interfaces and zones.
    link(226, "", |walk| Ok(walk.skip(24, Layer::Ip))),
    // Hilscher's tap, Broadcom's tag before the frame: four bytes about the port.
    link(240, "", |walk| Ok(walk.skip(4, Layer::Ethernet))),
    link(282, "", |walk| Ok(walk.skip(4, Layer::Ethernet))),
    link(143, "", |walk| walk.docsis()),
    link(197, "", |walk| walk.extensible_record()),
    link(247, "INFINIBAND", |walk| walk.infiniband()),
    // Ethernet with its preamble, IEEE 802.3br, whose last byte states that a whole frame follows.
    link(274, "", |walk| match walk.u8(7)? {
        0xd5 => Ok(walk.skip(8, Layer::Ethernet)),
        _ => Err(Stop::NotIp),
    }),
    // IP over InfiniBand: a global routing header, an EtherType, two reserved bytes.
    link(242, "", |walk| {
        let kind = walk.u16(40)?;
        Ok(walk.skip(44, Layer::EtherType(kind)))
    }),
];

impl Link {
    /// Returns the link type with a number of the registry, if it is supported.
    pub(crate) fn find(number: u32) -> Option<&'static Self> {
        LINKS.iter().find(|link| link.number == number)
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(crate) fn is_ethernet(&self) -> bool {
        self.number == ETHERNET
    }

    #[inline]
    pub(super) fn step_over(&self, walk: &mut Walk<'_>) -> Result<Layer, Stop> {
        (self.step_over)(walk)
    }
}

/// Returns the name of a link type in the registry, without `LINKTYPE_`; based on its number if it has no name here.
pub(crate) fn name(number: u32) -> Cow<'static, str> {
    match Link::find(number) {
        Some(link) if !link.name.is_empty() => Cow::Borrowed(link.name),
        _ if number == NO_LINK => Cow::Borrowed("NONE"),
        _ => Cow::Owned(format!("LINKTYPE_{number}")),
    }
}

impl Walk<'_> {
    /// Skips a header that another link header names.
    pub(super) fn inner_link(&mut self, number: u32) -> Result<Layer, Stop> {
        Link::find(number).ok_or(Stop::UnknownLink)?.step_over(self)
    }
}
