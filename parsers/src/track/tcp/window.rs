//! Windows: what a side advertises, and how far it lets the other side send.

use super::{GREATEST, HAS_SHIFT, SYN, Tcp, UNKNOWN, WINDOW};
use crate::decode::flag;
use crate::decode::segment::Segment;

impl Tcp {
    /// Returns the shift of the windows that this side advertises: RFC 7323 2.2 scales them only where both SYNs carry
    /// the option. Unknown where a SYN was not captured.
    #[inline]
    fn window_shift(&self, peer: &Self) -> Option<u8> {
        let both = self.bits & peer.bits;
        let scaled = both & HAS_SHIFT != 0;
        (both & SYN != 0).then(|| if scaled { self.shift() } else { 0 })
    }

    /// Returns the window in bytes that `segment` of this side advertises, where its scale is known. RFC 7323 2.2: the
    /// window of a SYN is never scaled.
    #[inline]
    pub(crate) fn window_bytes(&self, segment: &Segment, peer: Option<&Self>) -> Option<i64> {
        let window = i64::from(segment.window);
        if segment.has(flag::SYN) || window == 0 {
            return Some(window);
        }
        Some(window << self.window_shift(peer?)?)
    }

    /// Returns the greatest window in bytes that this side advertised; unknown where a SYN was not captured.
    pub(crate) fn max_window_bytes(&self, peer: Option<&Self>) -> Option<i64> {
        if !self.has(SYN) {
            return None;
        }
        let unscaled = i64::from(self.syn_window);
        if !self.has(GREATEST) {
            return Some(unscaled);
        }
        let shift = self.window_shift(peer?)?;
        Some(unscaled.max(i64::from(self.greatest_window) << shift))
    }

    /// Takes in the window of `segment` of this side. `repeats`: it acknowledges nothing new with bytes outstanding.
    #[inline]
    pub(super) fn note_window(&mut self, segment: &Segment, repeats: bool) {
        let window = segment.window;
        // RFC 5681 2: a duplicate ACK fulfils five conditions, the last being that the window did not change.
        if repeats
            && segment.payload == 0
            && !segment.has(flag::SYN | flag::FIN)
            && self.has(WINDOW)
            && self.last_window == window
        {
            self.rarely().counts.duplicate_acks += 1;
        }
        self.last_window = window;
        self.bits |= WINDOW;
        if !segment.has(flag::SYN) {
            self.greatest_window = self.greatest_window.max(window);
            self.bits |= GREATEST;
        }
    }

    /// Takes in what an acknowledgement of the other side up to `ack` contains besides that number: the `window` it
    /// advertises after it, where that is known, and whether it answers `all` bytes of this side.
    #[inline]
    pub(super) fn heard(&mut self, segment: &Segment, ack: i64, window: Option<i64>, all: bool) {
        let opens = window.is_some_and(|window| ack + window > self.edge);
        if let Some(window) = window {
            // RFC 9293 3.8.6: a receiver should not move the end of its window back.
            self.edge = self.edge.max(ack + window);
        }
        if let Some(sender) = &mut self.sender {
            if opens {
                // Also for a mere window update.
                sender.limits.released(segment.time, ack, 0);
            }
            if segment.window == 0 {
                sender.limits.closed(segment.time);
            } else {
                sender.limits.opened(segment.time);
            }
            if segment.payload > 0 && all {
                sender.message.answered = true;
                sender.limits.answered(segment.time);
            }
        }
    }

    /// Returns the bytes that the window of the other side has room for after number `end`, where that is known.
    #[inline]
    pub(super) fn room(&self, end: i64) -> Option<i64> {
        (self.edge != UNKNOWN).then(|| self.edge.wrapping_sub(end))
    }
}
