//! A packet that waits to be judged.

use super::identity::{Captured, Identity};
use crate::decode::rdma::Rdma;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Outer, TCP, TcpOptions, flag};
use crate::records::RecordPlace;

/// Numbers this near to those seen are valid whatever windows allow: a capture may have lost packets.
pub(crate) const NEAR: i64 = 1 << 20;

/// One packet with all that later stages need.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub owner: Owner,
    pub segment: Segment,
    pub place: RecordPlace,
    pub identity: Identity,
    /// TCP options, where they are listed.
    pub options: Option<Box<TcpOptions>>,
    /// The tunnel around it, and whether the higher endpoint of the tunnel's key sent that.
    pub tunnel: Option<Box<(bool, Outer)>>,
    /// Headers of RDMA.
    pub rdma: Option<Box<Rdma>>,
    /// Number in the order of the files, from 1.
    pub number: u64,
}

impl Held {
    /// Returns its sender's place in pairs: the key's higher endpoint is second.
    pub(crate) fn side(&self) -> usize {
        usize::from(self.segment.is_from_high())
    }

    /// Returns whether it is a TCP segment between the endpoints of `other`.
    pub(crate) fn shares_ends(&self, other: &Self) -> bool {
        self.owner.hash == other.owner.hash
            && self.owner.key == other.owner.key
            && self.segment.tcp()
    }

    /// Returns the number after its last byte, SYN and FIN included.
    pub(crate) fn end(&self) -> u32 {
        let syn = u32::from(self.segment.has(flag::SYN));
        let fin = u32::from(self.segment.has(flag::FIN));
        self.segment
            .seq
            .wrapping_add(self.segment.payload + syn + fin)
    }

    /// Returns whether it is a TCP segment that takes sequence numbers: a host resends it only if no answer came.
    pub(crate) fn takes_numbers(&self) -> bool {
        self.is_tcp() && self.end() != self.segment.seq
    }

    pub(crate) fn is_tcp(&self) -> bool {
        self.owner.key.protocol == TCP && self.segment.tcp()
    }

    /// Returns whether only an application would send the same again: not an acknowledgement, which hosts repeat.
    pub(crate) fn is_no_acknowledgement(&self) -> bool {
        let is_identified = self.owner.kind != OwnerKind::None && !self.is_cut_to_ports();
        is_identified && (!self.is_tcp() || self.takes_numbers())
    }

    /// Returns whether it looks like other segments of its sender because it is cut before its acknowledgement number.
    pub(crate) fn is_cut_to_ports(&self) -> bool {
        self.identity.captured == Captured::Ports
    }
}

/// Why a receiver would refuse a segment, RFC 9293 3.10.7.4: it then changes no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its numbers lie outside the window, or it acknowledges data that was never sent (RFC 5961 5).
    OutsideWindow,
    /// A SYN in a live connection that no SYN-ACK answers, RFC 5961 4.
    StraySyn,
    /// A SYN-ACK with other numbers in a live connection.
    StraySynAck,
    /// A RST outside the window, RFC 5961 3.
    StrayRst,
}
