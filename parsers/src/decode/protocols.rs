//! IP protocol numbers (IANA) that the decoder uses.

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const DCCP: u8 = 33;
pub(super) const ESP: u8 = 50;
pub(crate) const ICMP6: u8 = 58;
pub(super) const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
/// Later fragments, which have no ports; IANA reserves the number.
pub(crate) const FRAGMENT: u8 = 255;

/// Returns whether the header of an IP protocol begins with two ports.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
}
