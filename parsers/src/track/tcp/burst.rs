//! The shortest way, for bursts: full segments one behind the other, as a large write leaves a host. Only time and
//! number change from one to the next, so that the rest is looked at once. Counts as the short way does.

use super::sender::{Pending, Sender};
use super::sending::most_pending;
use super::{Tcp, UNKNOWN};
use crate::decode::segment::Segment;

impl Tcp {
    /// Takes in the first of the segments at `following` as long as they only go on what `before` began, which was
    /// taken in just now by the short way; how many.
    #[inline(never)] // so that the short way stays short
    pub(crate) fn take_burst(
        &mut self,
        peer: &mut Self,
        before: &Segment,
        segments: &[Segment],
        following: &[u32],
    ) -> usize {
        let Some(sender) = &mut self.sender else {
            return 0;
        };
        let Sender {
            pending,
            greatest_flight,
            message,
            limits,
            ..
        } = &mut **sender;
        let idle = self.una == UNKNOWN || self.una >= self.end;
        if idle || !message.is_full(before.payload, before.options_bytes().into()) {
            return 0;
        }
        let following = following
            .iter()
            .map(|&position| &segments[position as usize]);
        let payload = i64::from(before.payload);
        let begin = self.end;
        let mut end = begin;
        let mut count = 0;
        for segment in following.clone() {
            let time = segment.time;
            if !segment.goes_on(before, end as u32) || limits.waits(time) {
                break;
            }
            message.goes_on(time, before.payload);
            end += payload;
            let full_window = self.edge != UNKNOWN && self.edge.wrapping_sub(end) < payload;
            limits.goes_on(time, full_window);
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        self.covered.extend(begin, end);
        (self.end, self.payload_end) = (end, end);
        let una = if self.una == UNKNOWN {
            self.first
        } else {
            self.una
        };
        let flight = (end - una).clamp(0, i64::from(u32::MAX)) as u32;
        let room = (self.edge != UNKNOWN).then(|| self.edge.wrapping_sub(end));
        *greatest_flight = (*greatest_flight).max(flight);
        limits.went_on((end - begin) as u32, flight, room, end);
        message.went_on(count as u32, (end - begin) as u64);
        let burst = following.take(count);
        if peer.una == peer.end
            && let Some(other) = &mut peer.sender
        {
            // Each of them answers all that the other side sent.
            burst
                .clone()
                .for_each(|segment| other.limits.answered(segment.time));
        }
        let room = most_pending(self.una).saturating_sub(pending.len());
        let mut from = begin;
        let sent = burst.map(|segment| {
            let to = from + payload;
            Pending {
                from: std::mem::replace(&mut from, to),
                to,
                time: segment.time,
            }
        });
        pending.extend(sent.take(room));
        count
    }
}
