//! The time of one TCP direction to what limited it: its application, its send buffer, the receiver's window,
//! or the network.
//!
//! Seen from the sender's host. The time between two sends is one wait; what the sender could have done when
//! the wait began, and what ended it, tell its cause. The classes follow RFC 4898 (`SndLimTime`) and the
//! chronographs of Linux (busy, `rwnd_limited`, `sndbuf_limited`), with the application's time apart.

use super::sender::Rtt;
use crate::segment::since;

/// A send this soon after an acknowledgement was released by it; a writer that was asleep may need the 64th part
/// of the RTT more.
const RELEASE_NS: i64 = 200_000;
/// Windows that must be acknowledged at one flight size before that is taken for a limit of the sender: a
/// congestion window would have grown, by half a segment per window at least (RFC 9438 4.3).
const PLATEAU_WINDOWS: u64 = 10;

/// Linux hands at most 64 KiB to the card at once; it holds them back while the window has no room for them, unless
/// the room is a third of the window (`tcp_tso_should_defer`), and counts that as `rwnd_limited`.
const LARGEST_BUFFER: i64 = 65_536;

/// Sums in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names)] // the names of the columns
pub(crate) struct Shares {
    pub app_ns: i64,
    pub sender_ns: i64,
    pub receiver_ns: i64,
    pub network_ns: i64,
}

/// State between two sends.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // packed: one for every sender
pub(super) struct Limits {
    shares: Shares,
    last_send: i64,
    /// When an acknowledgement last freed octets or room; before `last_send` where none came since.
    last_release: i64,
    /// When data were last acknowledged; a FIN behind them is none.
    last_acknowledged: i64,
    /// Number behind the last data.
    end: i64,
    /// When the other side last answered all that was sent before.
    last_answer: i64,
    /// Recovery lasts until this octet is acknowledged.
    recovery_end: i64,
    /// Octets in flight behind the last send.
    flight: u32,
    /// Most octets in flight that filled the window since something was lost: the congestion window allows them.
    full_flight: u32,
    /// Most octets in flight when sending stopped; octets acknowledged since that grew, and
    /// waits for acknowledgements, by what they count for unless this proves a plateau.
    plateau_flight: u32,
    plateau_acked: u32,
    trial_app_ns: i64,
    trial_network_ns: i64,
    begun: bool,
    /// Something was lost: a congestion window may stay flat now (RFC 9438 4.4), and proves nothing.
    lossy: bool,
    /// Data are not acknowledged.
    waiting: bool,
    recovering: bool,
    /// At the last send: no room for another segment.
    full_window: bool,
    /// At the last send: there was less room than a sender keeps back that hands several segments to its card at
    /// once, and the congestion window is larger.
    little_room: bool,
    /// At the last send: the segment was short, so nothing more was queued.
    short: bool,
}

/// What is known when a segment is sent.
#[allow(clippy::struct_excessive_bools)] // independent facts about one segment
pub(super) struct Sent {
    pub time: i64,
    /// An acknowledgement that was no answer let it go.
    pub released: bool,
    /// It repeats octets.
    pub repeats: bool,
    /// Nothing was in flight before it.
    pub idle: bool,
    /// It is shorter than the MSS, and the window did not cut it.
    pub short: bool,
    /// Octets that the window has room for behind it, where that is known.
    pub room: Option<i64>,
    /// Octets in flight with it.
    pub flight: u32,
    pub mss: u32,
    /// Number behind it.
    pub end: i64,
}

/// Times of one capture may be centuries apart, again and again.
fn add(sum: &mut i64, more: i64) {
    *sum = sum.saturating_add(more);
}

impl Limits {
    /// There was room and no recovery since the last send, and what is sent now waited for no acknowledgement:
    /// `released` tells that.
    #[inline]
    pub(super) fn free(&self, released: bool) -> bool {
        !(self.recovering | self.full_window | released)
    }

    /// Nanoseconds to `time` since an acknowledgement last freed octets or room.
    #[inline]
    pub(super) fn since_release(&self, time: i64) -> i64 {
        since(time, self.last_release)
    }

    /// An acknowledgement came just before `time`.
    fn released_soon(&self, time: i64, rtt: &Rtt) -> bool {
        let after = since(time, self.last_release);
        after <= RELEASE_NS + i64::from(rtt.smoothed_ns / 64)
    }

    /// An acknowledgement that was no answer let go what is sent at `time`.
    #[inline]
    pub(super) fn was_released(&self, time: i64, rtt: &Rtt) -> bool {
        self.last_release >= self.last_send
            && self.last_answer < self.last_send
            && self.released_soon(time, rtt)
    }

    /// An acknowledgement freed `octets` of this side or moved the window's end.
    #[inline]
    pub(super) fn released(&mut self, time: i64, una: i64, octets: u32) {
        self.last_release = self.last_release.max(time);
        if self.waiting && octets > 0 {
            self.last_acknowledged = self.last_acknowledged.max(time);
            self.waiting = una < self.end;
        }
        self.plateau_acked = self.plateau_acked.saturating_add(octets);
        if self.recovering && una >= self.recovery_end {
            self.recovering = false;
        }
    }

    /// The other side sent data and had all of this side's: what follows may depend on it.
    pub(super) fn answered(&mut self, time: i64) {
        self.last_answer = self.last_answer.max(time);
    }

    /// The third duplicate acknowledgement: something was lost.
    pub(super) fn lost(&mut self, end: i64) {
        if !self.recovering {
            self.recovering = true;
            self.recovery_end = end;
        }
        self.lossy = true;
        self.full_flight = 0;
    }

    /// Takes in a segment with payload.
    #[allow(clippy::inline_always)] // as the caller, `Tcp::data`
    #[inline(always)]
    pub(super) fn sent(&mut self, sent: &Sent, rtt: &Rtt) {
        if sent.repeats {
            self.lost(sent.end);
        }
        if self.begun {
            self.waited(sent, rtt);
        }
        self.begun = true;
        self.last_send = self.last_send.max(sent.time);
        self.short = sent.short;
        self.full_window = sent.room.is_some_and(|room| room < i64::from(sent.mss));
        self.left(sent.room, sent.flight);
        self.end = self.end.max(sent.end);
        self.waiting = true;
    }

    #[inline]
    fn waited(&mut self, sent: &Sent, rtt: &Rtt) {
        let wait = since(sent.time, self.last_send).max(0);
        if !self.free(sent.released) {
            return self.waited_for_room(wait, sent, rtt);
        }
        self.waited_for_nothing(wait, self.short || sent.idle, rtt);
    }

    /// `idle`: nothing was to be sent.
    #[inline]
    fn waited_for_nothing(&mut self, wait: i64, idle: bool, rtt: &Rtt) {
        let long = wait > i64::from(rtt.smoothed_ns) && rtt.samples > 0;
        if idle || long {
            add(&mut self.shares.app_ns, wait);
        } else {
            add(&mut self.shares.network_ns, wait);
        }
    }

    /// A segment sent at `time` waited for room or for an acknowledgement.
    #[inline]
    pub(super) fn waits(&self, time: i64, rtt: &Rtt) -> bool {
        !self.free(self.was_released(time, rtt))
    }

    /// Takes in the time of another full segment of a burst, which waited for nothing.
    #[inline]
    pub(super) fn goes_on(&mut self, time: i64, full_window: bool, rtt: &Rtt) {
        let wait = since(time, self.last_send).max(0);
        self.waited_for_nothing(wait, false, rtt);
        self.last_send = self.last_send.max(time);
        self.full_window = full_window;
    }

    /// The burst left so many octets in `flight`, and `room` as in [`Sent`]; `end` is the number behind it.
    #[inline]
    pub(super) fn went_on(&mut self, flight: u32, room: Option<i64>, end: i64) {
        self.left(room, flight);
        self.end = self.end.max(end);
    }

    /// What a send left: octets in `flight`, and `room` for more. The congestion window is known to be larger where
    /// more filled the window since something was lost.
    #[inline]
    fn left(&mut self, room: Option<i64>, flight: u32) {
        self.flight = flight;
        if self.full_window && !self.recovering {
            self.full_flight = self.full_flight.max(flight);
        }
        self.little_room = flight < self.full_flight
            && room.is_some_and(|room| room < LARGEST_BUFFER && 2 * room < i64::from(flight));
    }

    #[inline(never)] // the segments of a burst do not wait
    fn waited_for_room(&mut self, wait: i64, sent: &Sent, rtt: &Rtt) {
        if self.recovering {
            add(&mut self.shares.network_ns, wait);
        } else if self.full_window {
            // The window reopened at the release; later than that the application was not ready.
            let since_release = since(sent.time, self.last_release).max(0);
            let after = if self.released_soon(sent.time, rtt) {
                0
            } else {
                since_release.min(wait)
            };
            add(&mut self.shares.receiver_ns, wait - after);
            add(&mut self.shares.app_ns, after);
            // The window, not the sender's buffer, kept the flight from growing.
            self.new_plateau(self.flight);
        } else if self.little_room && !self.short {
            add(&mut self.shares.receiver_ns, wait);
        } else {
            self.waited_for_acknowledgement(wait, sent.mss, rtt);
        }
    }

    /// An acknowledgement ended the wait: of a congestion window, a send buffer, or data that Nagle held back.
    fn waited_for_acknowledgement(&mut self, wait: i64, mss: u32, rtt: &Rtt) {
        // Bursts of two segments are normal around one window.
        if self.flight > self.plateau_flight.saturating_add(2 * mss) {
            self.new_plateau(self.flight);
        }
        // Acknowledgements may arrive inside a burst, too.
        let high = self.flight >= self.plateau_flight / 2;
        if high && self.plateau(mss, rtt) {
            // What was counted before the plateau was certain belongs to it, too.
            self.shares.app_ns -= self.trial_app_ns;
            self.shares.network_ns -= self.trial_network_ns;
            for more in [self.trial_app_ns, self.trial_network_ns, wait] {
                add(&mut self.shares.sender_ns, more);
            }
            (self.trial_app_ns, self.trial_network_ns) = (0, 0);
            return;
        }
        let trial = if high { wait } else { 0 };
        if self.short {
            add(&mut self.shares.app_ns, wait);
            add(&mut self.trial_app_ns, trial);
        } else {
            add(&mut self.shares.network_ns, wait);
            add(&mut self.trial_network_ns, trial);
        }
    }

    fn new_plateau(&mut self, flight: u32) {
        (self.plateau_flight, self.plateau_acked) = (flight, 0);
        (self.trial_app_ns, self.trial_network_ns) = (0, 0);
    }

    /// The flight stays as it is although a congestion window would have grown, and no queue builds up.
    fn plateau(&self, mss: u32, rtt: &Rtt) -> bool {
        !self.lossy
            && self.plateau_flight > 2 * mss
            && u64::from(self.plateau_acked) >= PLATEAU_WINDOWS * u64::from(self.plateau_flight)
            && i64::from(rtt.smoothed_ns) <= rtt.min_ns.saturating_add(rtt.min_ns / 5)
    }

    /// The shares up to now; what is left after the last send counts to the last acknowledgement. `closed`: a
    /// FIN came behind the data, so nothing waited for room then.
    pub(super) fn shares(&self, closed: bool) -> Shares {
        let mut shares = self.shares;
        let tail = self.last_acknowledged.saturating_sub(self.last_send);
        if self.begun && tail > 0 {
            if self.recovering {
                add(&mut shares.network_ns, tail);
            } else if self.full_window && !closed {
                add(&mut shares.receiver_ns, tail);
            } else {
                add(&mut shares.app_ns, tail);
            }
        }
        shares
    }
}
