//! How the decoding of a packet ended.

/// The decoder assigns a packet to a flow, or states why it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Outcome {
    /// It belongs to a flow.
    Flow,
    /// Its link header names a protocol other than IP: ARP, LLDP, spanning tree.
    #[default]
    NotIp,
    /// Its link type is unknown.
    UnknownLink,
    /// The captured bytes end inside a header that is needed.
    Cut,
    /// A header contradicts itself.
    Malformed,
    /// A checksum is wrong, or the capture marks the frame as damaged: its receiver discards it.
    BadChecksum,
}
