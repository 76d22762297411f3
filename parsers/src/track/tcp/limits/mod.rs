//! Assigns the time of one TCP direction to what limited it: its application, its send buffer, the receiver's window,
//! or the network; or to nothing where headers do not show it.
//!
//! All is seen from the sender's host. The time between two sends is one wait. What the sender could have done when it
//! began, and what ended it, show its cause, or its [`WaitKind`], which the waits around it explain. The classes follow
//! RFC 4898 (`SndLimTime`) and the chronographs of Linux (busy, `rwnd_limited`, `sndbuf_limited`), with the
//! application's time separate.

mod closed;
mod shares;
mod signs;
mod thresholds;
mod verdicts;

use crate::decode::segment::since;
use crate::track::rtt::Rtt;
use closed::Closed;
use thresholds::THRESHOLDS;
use verdicts::While;

/// Sums in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names)] // the names of the columns
pub(crate) struct LimitTimes {
    pub app_ns: i64,
    pub sender_ns: i64,
    pub receiver_ns: i64,
    pub network_ns: i64,
    pub unknown_ns: i64,
    /// Part of `app_ns`: waits for data of the other side that answer what was sent.
    pub peer_wait_ns: i64,
    /// Number of waits for such an answer.
    pub peer_waits: u32,
}

impl LimitTimes {
    /// Counts one more answer, which came `ns` after the last data that it answers.
    fn wait_for_peer(&mut self, ns: i64) {
        lengthen(&mut self.peer_wait_ns, ns.max(0));
        self.peer_waits = self.peer_waits.saturating_add(1);
    }

    /// Returns the same time, all of it of unknown causes.
    pub(crate) fn as_unknown(self) -> Self {
        let causes = [
            self.app_ns,
            self.sender_ns,
            self.receiver_ns,
            self.network_ns,
        ];
        Self {
            unknown_ns: causes
                .into_iter()
                .fold(self.unknown_ns, i64::saturating_add),
            ..Self::default()
        }
    }
}

/// State between two sends.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // packed: one for every sender
pub(crate) struct Limits {
    times: LimitTimes,
    /// Waits that are not assigned yet.
    recent: While,
    /// All time before this is in `times` or `recent`.
    accounted: i64,
    last_send: i64,
    /// When an acknowledgement last freed bytes or room; before `last_send` where none came since.
    last_release: i64,
    /// When data were last acknowledged; a FIN after them is no data.
    last_acknowledged: i64,
    /// Number after the last data, and after the last short segment.
    end: i64,
    short_end: i64,
    /// When the other side last answered all that was sent before.
    last_answer: i64,
    /// Recovery lasts until this byte is acknowledged.
    recovery_end: i64,
    /// The receiver's window, where it was ever closed.
    closed: Option<Box<Closed>>,
    /// Bytes in flight after the last send.
    flight: u32,
    /// Most bytes in flight that filled the window since something was lost: the congestion window allows them.
    full_flight: u32,
    /// Bytes sent since the last wait.
    bytes: u32,
    begun: bool,
    /// Data are not acknowledged.
    waiting: bool,
    recovering: bool,
    /// Time of waits for a full window, minus that of waits with little room; halved after each while.
    full_less_little_ns: f32,
    /// At the last send.
    room: Room,
    /// At the last send: the segment was short, so nothing more was queued.
    short: bool,
    /// At the last send: it had PUSH, ...
    push: bool,
    /// ... and was not the end of a larger buffer, which always has it.
    alone: bool,
    /// At the last send: a short segment was not acknowledged.
    held: bool,
}

/// What the receiver's window leaves to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Room {
    #[default]
    Enough,
    /// So little that a sender waits to hand several segments to its card at once, and the congestion window is larger.
    Little,
    /// Less than another segment.
    Full,
    /// Less than was sent: the capture lacks the acknowledgement that made room.
    Unknown,
}

/// A window probe may lie this far beyond the window, RFC 9293 3.8.6.1; more is sent only where the window was larger.
const PROBE: i64 = 1;

/// What is known when a segment is sent.
#[allow(clippy::struct_excessive_bools)] // independent facts about one segment
pub(crate) struct Sent {
    pub time: i64,
    /// It repeats bytes.
    pub repeats: bool,
    /// Nothing was in flight before it.
    pub idle: bool,
    /// It is shorter than the MSS, and the window did not cut it.
    pub short: bool,
    pub push: bool,
    /// Bytes that the window has room for after it, where that is known.
    pub room: Option<i64>,
    /// Bytes in flight with it.
    pub flight: u32,
    pub payload: u32,
    pub mss: u32,
    /// Number after it, and of the first byte that is not acknowledged.
    pub end: i64,
    pub una: i64,
}

/// Adds without overflow: times of one capture may be centuries apart, again and again.
fn lengthen(sum: &mut i64, more: i64) {
    *sum = sum.saturating_add(more);
}

impl Limits {
    /// Returns whether there was room and no recovery since the last send, and no acknowledgement `released` what is
    /// sent now.
    #[inline]
    pub(crate) fn free(&self, released: bool) -> bool {
        !(self.recovering || matches!(self.room, Room::Full | Room::Unknown) || released)
    }

    /// Returns the nanoseconds from the last acknowledgement that freed bytes or room to `time`.
    #[inline]
    pub(crate) fn since_release(&self, time: i64) -> i64 {
        since(time, self.last_release)
    }

    /// Returns whether an acknowledgement came just before `time`.
    fn released_soon(&self, time: i64, rtt: &Rtt) -> bool {
        let after = since(time, self.last_release);
        after <= THRESHOLDS.release_ns + i64::from(rtt.smoothed_ns / 64)
    }

    /// Returns whether an acknowledgement that was no answer released what is sent at `time`.
    #[inline]
    pub(crate) fn was_released(&self, time: i64, rtt: &Rtt) -> bool {
        self.last_release >= self.last_send
            && self.last_answer < self.last_send
            && self.released_soon(time, rtt)
    }

    /// Notes that an acknowledgement freed `bytes` of this side or moved the window's end.
    #[inline]
    pub(crate) fn released(&mut self, time: i64, una: i64, bytes: u32) {
        self.last_release = self.last_release.max(time);
        if bytes > 0 {
            self.recent.acknowledged(time, bytes);
            if self.waiting {
                self.last_acknowledged = self.last_acknowledged.max(time);
                self.waiting = una < self.end;
            }
        }
        if self.recovering && una >= self.recovery_end {
            self.recovering = false;
        }
    }

    /// Notes that the receiver advertised a zero window.
    #[cold]
    pub(crate) fn closed(&mut self, time: i64) {
        self.closed.get_or_insert_default().close(time);
    }

    /// Notes that the window is open at `time`.
    #[inline]
    pub(crate) fn opened(&mut self, time: i64) {
        if let Some(closed) = &mut self.closed
            && closed.open(time)
        {
            self.last_release = self.last_release.max(time);
        }
    }

    /// Notes that the sender probed the window.
    #[cold]
    pub(crate) fn probed(&mut self) {
        if let Some(closed) = &mut self.closed {
            closed.probe();
        }
    }

    /// Takes in an RTT sample.
    #[inline]
    pub(crate) fn measured(&mut self, ns: i64) {
        self.recent.measured(ns);
    }

    /// Notes that the other side sent data and had all of this side's: later data may depend on it.
    pub(crate) fn answered(&mut self, time: i64) {
        self.last_answer = self.last_answer.max(time);
    }

    /// Notes that something was lost, as SACK or a repeated byte shows.
    pub(crate) fn lost(&mut self, end: i64) {
        if !self.recovering {
            self.recovering = true;
            self.recovery_end = end;
        }
        self.recent.lost();
        self.full_flight = 0;
    }

    /// Takes in a segment with payload.
    #[allow(clippy::inline_always)] // as the caller, `Tcp::data`
    #[inline(always)]
    pub(crate) fn sent(&mut self, sent: &Sent, rtt: &Rtt) {
        if sent.repeats {
            self.lost(sent.end);
        }
        let gap = since(sent.time, self.last_send);
        if !self.begun {
            self.begin(sent.time);
        } else if self.waits(sent.time) {
            self.waited(gap, sent, rtt);
        }
        self.send(sent.time, sent.room, sent.mss);
        (self.short, self.push) = (sent.short, sent.push);
        if sent.short {
            self.short_end = sent.end;
        }
        self.held = self.short_end > sent.una;
        self.add(sent.payload, sent.flight, sent.room, sent.end);
        self.waiting = true;
    }

    #[cold]
    fn begin(&mut self, time: i64) {
        self.begun = true;
        self.accounted = time;
        self.last_send = time;
        self.recent.begin(time);
    }

    /// Returns whether the sender waited before `time`, so that the segment continues no burst.
    #[inline]
    pub(crate) fn waits(&self, time: i64) -> bool {
        since(time, self.last_send) >= THRESHOLDS.burst_gap_ns
    }

    /// Takes in the time of a segment, and the `room` that the window has after it for another one of `mss` bytes.
    #[inline]
    pub(crate) fn send(&mut self, time: i64, room: Option<i64>, mss: u32) {
        self.alone = self.push || since(time, self.last_send) > THRESHOLDS.buffer_gap_ns;
        self.last_send = self.last_send.max(time);
        self.room = match room {
            Some(room) if room < -PROBE => Room::Unknown,
            Some(room) if room < i64::from(mss) => Room::Full,
            _ => Room::Enough,
        };
    }

    /// Takes in the `bytes` of one or more segments, which left `flight` bytes in flight, and `room` as in [`Sent`];
    /// `end` is the number after them.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32, flight: u32, room: Option<i64>, end: i64) {
        self.note_room(room, flight);
        self.bytes = self.bytes.saturating_add(bytes);
        self.end = self.end.max(end);
    }

    /// Notes what a send leaves: bytes in `flight`, and `room` for more. The congestion window is known to be larger if
    /// a larger flight filled the window since something was lost.
    #[inline]
    fn note_room(&mut self, room: Option<i64>, flight: u32) {
        self.flight = flight;
        match self.room {
            Room::Full if !self.recovering => self.full_flight = self.full_flight.max(flight),
            _ => {}
        }
        if matches!(self.room, Room::Full | Room::Unknown) {
            return;
        }
        let is_little = flight < self.full_flight
            && room.is_some_and(|room| {
                room < THRESHOLDS.largest_buffer && 2 * room < i64::from(flight)
            });
        self.room = if is_little {
            Room::Little
        } else {
            Room::Enough
        };
    }
}
