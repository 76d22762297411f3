//! Segments that a receiver would not accept: counted by reason, with no other effect.
//!
//! Sifting decides which segments they are. The quick reading of a capture only knows that one may be refused.

use super::{STARTED, SYN, Tcp, UNKNOWN};
use crate::decode::flag;
use crate::decode::segment::Segment;
use crate::sift::held::{NEAR, Refusal};

impl Tcp {
    /// Counts a segment of this side that the other one would not accept.
    #[cold]
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        let counts = &mut self.rarely().counts;
        let count = match refusal {
            Refusal::OutsideWindow => &mut counts.outside_window_packets,
            Refusal::StraySyn => &mut counts.stray_syn_packets,
            Refusal::StraySynAck => &mut counts.stray_syn_ack_packets,
            Refusal::StrayRst => &mut counts.stray_rst_packets,
        };
        *count += 1;
    }

    /// Returns whether the receiver might refuse `segment`, or it might be of another connection between the same
    /// ports: true of all segments that sifting may refuse, and of some that it does not.
    pub(crate) fn may_be_refused(&self, peer: Option<&Self>, segment: &Segment) -> bool {
        let from = self.unwrap(segment.seq);
        let syn = segment.has(flag::SYN);
        let resets = self.rst_packets + peer.map_or(0, |peer| peer.rst_packets);
        if syn && resets > 0 {
            return true;
        }
        if self.has(STARTED) {
            if syn && (self.una > self.first || self.fin_packets > 0 || from + 1 != self.first) {
                return true;
            }
            if segment.has(flag::RST) && from != self.end {
                return true;
            }
            let ahead = from - self.end;
            let beyond = if self.edge == UNKNOWN {
                ahead > NEAR
            } else {
                ahead > 0 && from > self.edge
            };
            if beyond || -ahead > NEAR {
                return true;
            }
        } else if self.una != UNKNOWN && ((from - self.una).abs() > NEAR || syn && from >= self.una)
        {
            return true;
        }
        let (Some(peer), Some(ack)) = (peer, segment.acknowledgement()) else {
            return false;
        };
        if syn && peer.has(SYN) && peer.unwrap(ack) != peer.first {
            return true;
        }
        let only_syn = peer.has(SYN) && peer.end == peer.first;
        if only_syn && peer.unwrap(ack) > peer.end {
            return true;
        }
        let known = if peer.has(STARTED) {
            peer.end
        } else {
            peer.una
        };
        known != UNKNOWN && (peer.unwrap(ack) - known).abs() > NEAR
    }
}
