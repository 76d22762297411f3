//! Assigns the waits of a sender, each to what it waited for.

use super::signs::WaitKind;
use super::thresholds::THRESHOLDS;
use super::verdicts::Wait;
use super::{LimitTimes, Limits, PROBE, Room, Sent, lengthen};
use crate::decode::segment::since;
use crate::track::rtt::Rtt;

impl Limits {
    /// Returns whether the receiver's window explains a wait with little room: it does if the sender also fills the
    /// window. A flight that stays below the window is limited by something else.
    fn is_held_by_little_room(&mut self, span_ns: i64) -> bool {
        self.full_less_little_ns -= span_ns as f32;
        self.full_less_little_ns >= 0.0
    }

    /// Assigns a wait of `gap` nanoseconds that ended. The burst before it was sent for the same reason.
    #[inline(never)] // the segments of a burst do not wait
    pub(super) fn waited(&mut self, gap: i64, sent: &Sent, rtt: &Rtt) {
        let mut span = since(sent.time, self.accounted).max(0);
        self.accounted = sent.time;
        let soon = self.closed.is_some() && self.released_soon(sent.time, rtt);
        if let Some(closed) = &mut self.closed {
            let closed = closed.take(sent.time, soon).min(span);
            lengthen(&mut self.times.receiver_ns, closed);
            span -= closed;
        }
        let age =
            (self.last_release >= self.last_send).then(|| since(sent.time, self.last_release));
        let answered = self.last_answer >= self.last_send;
        let wait = Wait {
            span_ns: span,
            age_ns: age.filter(|_| !answered),
            bytes: std::mem::take(&mut self.bytes),
            flight: self.flight,
        };
        if self.recovering {
            lengthen(&mut self.times.network_ns, span);
        } else if self.room == Room::Unknown
            || self.room == Room::Full && sent.room.is_some_and(|room| room < -PROBE)
        {
            // The acknowledgement that made room for what is sent now was not captured.
            lengthen(&mut self.times.unknown_ns, span);
        } else if self.room == Room::Full {
            self.waited_for_room(span, age, gap, sent, rtt);
        } else if self.room == Room::Little
            && !self.short
            && self.was_released(sent.time, rtt)
            && self.is_held_by_little_room(span)
        {
            lengthen(&mut self.times.receiver_ns, span);
        } else {
            self.waited_for_data(&wait, answered, sent, rtt);
        }
        if self.recent.is_over(sent.time, rtt) {
            self.recent.end(sent.time, rtt, &mut self.times);
            self.full_less_little_ns /= 2.0;
        }
    }

    /// Assigns a wait of `gap` nanoseconds for a full window; an acknowledgement may have come `age` before the send.
    fn waited_for_room(&mut self, span: i64, age: Option<i64>, gap: i64, sent: &Sent, rtt: &Rtt) {
        // The window reopened at the release; after that, an application with nothing queued was not ready.
        let is_late = self.short && !self.released_soon(sent.time, rtt);
        let after = age.filter(|_| is_late).map_or(0, |age| age.min(gap));
        lengthen(&mut self.times.receiver_ns, span - after);
        self.full_less_little_ns += THRESHOLDS.little_room * span as f32;
        lengthen(&mut self.times.app_ns, after);
    }

    /// Assigns a wait that the receiver did not cause.
    fn waited_for_data(&mut self, wait: &Wait, answered: bool, sent: &Sent, rtt: &Rtt) {
        self.recent.waited(wait, rtt);
        let idle_ns = since(sent.time, self.last_acknowledged);
        // A writer that slept until an acknowledgement freed its buffer may wake up late: on a long path that is still
        // soon, and the other waits show whether acknowledgements set its pace.
        let drained = sent.idle && idle_ns <= THRESHOLDS.idle_ns + i64::from(rtt.smoothed_ns / 64);
        if sent.idle && (answered || idle_ns > THRESHOLDS.idle_ns && !drained) {
            if answered {
                let until_answer = since(self.last_answer, self.last_send);
                self.times.wait_for_peer(until_answer.min(wait.span_ns));
            }
            return lengthen(&mut self.times.app_ns, wait.span_ns);
        }
        // Without PUSH more was queued, unless Nagle's algorithm held the short end of a write back.
        let is_backlog = !self.short && !self.push;
        if is_backlog && !self.held {
            return lengthen(&mut self.times.network_ns, wait.span_ns);
        }
        let Some(kind) = self.kind_of(wait, drained, is_backlog, rtt) else {
            if self.short || wait.age_ns.is_some() {
                self.recent.owned(wait.span_ns);
            }
            return lengthen(&mut self.times.app_ns, wait.span_ns);
        };
        if !self.recent.add(kind, wait) {
            // Only an application pauses for seconds.
            lengthen(&mut self.times.app_ns, wait.span_ns);
        }
    }

    /// Returns the kind of a wait that those around it explain; none where only the application was waited for.
    fn kind_of(&self, wait: &Wait, drained: bool, is_backlog: bool, rtt: &Rtt) -> Option<WaitKind> {
        let waking = THRESHOLDS.waking_ns + i64::from(rtt.smoothed_ns / 512);
        let at_once = wait.age_ns.is_some_and(|age| age <= THRESHOLDS.kernel_ns);
        let is_soon = wait.age_ns.is_some_and(|age| age <= waking);
        let woken = !at_once && (is_soon || wait.is_round(rtt));
        let by_none = !at_once && !woken;
        let empty = self.short || self.push && self.alone;
        Some(if drained && self.held {
            WaitKind::HeldDrained
        } else if drained && !at_once && !empty {
            WaitKind::Drained
        } else if by_none && (self.short || is_backlog) {
            return None;
        } else if self.short {
            WaitKind::Empty
        } else if empty && woken {
            WaitKind::Alone
        } else {
            match (self.held, at_once, woken) {
                (false, true, _) => WaitKind::Clocked,
                (false, _, true) => WaitKind::Woken,
                (false, ..) if wait.age_ns.is_none() => WaitKind::Bare,
                (false, ..) => WaitKind::Paced,
                (true, true, _) => WaitKind::HeldClocked,
                (true, _, true) => WaitKind::HeldWoken,
                (true, ..) if wait.age_ns.is_none() => WaitKind::HeldClocked,
                (true, ..) => WaitKind::HeldPaced,
            }
        })
    }

    /// Returns the shares up to now; the rest after the last wait ends at the last acknowledgement. `closed`: a FIN
    /// followed the data, so nothing waited for room then.
    pub(crate) fn limit_times(&self, closed: bool, rtt: &Rtt) -> LimitTimes {
        let mut times = self.times;
        self.recent.share_out(rtt, &mut times);
        let last = self.last_send.max(self.last_acknowledged);
        if self.begun {
            let tail = last.saturating_sub(self.accounted).max(0);
            if self.recovering {
                lengthen(&mut times.network_ns, tail);
            } else if self.room == Room::Full && !closed {
                lengthen(&mut times.receiver_ns, tail);
            } else if self.room == Room::Unknown {
                lengthen(&mut times.unknown_ns, tail);
            } else {
                if self.last_answer >= self.last_send {
                    let until_end = since(last, self.last_send);
                    times.wait_for_peer(until_end.clamp(0, tail));
                }
                lengthen(&mut times.app_ns, tail);
            }
        }
        times
    }
}
