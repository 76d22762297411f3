//! The time of one TCP direction to what limited it: its application, its send buffer, the receiver's window,
//! or the network.
//!
//! Seen from the sender's host. The time between two sends is one wait; what the sender could have done when
//! the wait began, and what ended it, tell its cause. The classes follow RFC 4898 (`SndLimTime`) and the
//! chronographs of Linux (busy, `rwnd_limited`, `sndbuf_limited`), with the application's time apart.

use super::sender::Rtt;

/// A send this soon after an acknowledgement was released by it.
const RELEASE_NS: i64 = 200_000;
/// Windows that must be acknowledged at one flight size before that is taken for a limit of the sender: a
/// congestion window would have grown.
const PLATEAU_WINDOWS: u64 = 5;

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
    /// Recovery lasts until this octet is acknowledged.
    recovery_end: i64,
    plateau_flight: u32,
    plateau_acked: u32,
    begun: bool,
    recovering: bool,
    /// At the last send: no room for another segment.
    full_window: bool,
    /// At the last send: the segment was short, so nothing more was queued.
    short: bool,
}

/// What is known when a segment is sent.
#[allow(clippy::struct_excessive_bools)] // independent facts about one segment
pub(super) struct Sent {
    pub time: i64,
    /// It repeats octets.
    pub repeats: bool,
    /// Nothing was in flight before it.
    pub idle: bool,
    /// It is shorter than the MSS, and the window did not cut it.
    pub short: bool,
    /// No room for another segment is left behind it.
    pub full_window: bool,
    /// Octets in flight with it.
    pub flight: u32,
    pub mss: u32,
    /// Number behind it.
    pub end: i64,
}

impl Limits {
    /// There was room and no recovery since the last send.
    pub(super) fn free(&self) -> bool {
        !self.recovering && !self.full_window
    }

    /// An acknowledgement freed `octets` of this side or moved the window's end.
    #[inline]
    pub(super) fn released(&mut self, time: i64, una: i64, octets: u32) {
        self.last_release = self.last_release.max(time);
        self.plateau_acked = self.plateau_acked.saturating_add(octets);
        if self.recovering && una >= self.recovery_end {
            self.recovering = false;
        }
    }

    /// The third duplicate acknowledgement: something was lost.
    pub(super) fn lost(&mut self, end: i64) {
        if !self.recovering {
            self.recovering = true;
            self.recovery_end = end;
        }
        self.plateau_flight = 0;
    }

    /// Takes in a segment with payload.
    #[inline]
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
        self.full_window = sent.full_window;
        // Bursts of two segments and more are normal around one window.
        let margin = (2 * sent.mss).max(self.plateau_flight / 16);
        if sent.flight.abs_diff(self.plateau_flight) > margin {
            self.plateau_flight = sent.flight;
            self.plateau_acked = 0;
        }
    }

    fn waited(&mut self, sent: &Sent, rtt: &Rtt) {
        let wait = sent.time.saturating_sub(self.last_send).max(0);
        let since_release = sent.time.saturating_sub(self.last_release).max(0);
        let plateau = self.plateau(rtt);
        let shares = &mut self.shares;
        if self.recovering {
            shares.network_ns += wait;
        } else if self.full_window {
            // The window reopened at the release; later than that the application was not ready.
            let after = if since_release > RELEASE_NS {
                since_release.min(wait)
            } else {
                0
            };
            shares.receiver_ns += wait - after;
            shares.app_ns += after;
        } else if self.short || sent.idle && since_release > RELEASE_NS {
            shares.app_ns += wait;
        } else if since_release <= RELEASE_NS && self.last_release >= self.last_send {
            if plateau {
                shares.sender_ns += wait;
            } else {
                shares.network_ns += wait;
            }
        } else if wait <= i64::from(rtt.smoothed_ns) || rtt.samples == 0 {
            shares.network_ns += wait;
        } else {
            shares.app_ns += wait;
        }
    }

    /// The flight stays as it is although a congestion window would have grown, and no queue builds up.
    fn plateau(&self, rtt: &Rtt) -> bool {
        self.plateau_flight > 0
            && u64::from(self.plateau_acked) >= PLATEAU_WINDOWS * u64::from(self.plateau_flight)
            && i64::from(rtt.smoothed_ns) <= rtt.min_ns + rtt.min_ns / 5
    }

    /// The shares up to now; what is left after the last send counts to the last acknowledgement.
    pub(super) fn shares(&self) -> Shares {
        let mut shares = self.shares;
        let tail = self.last_release.saturating_sub(self.last_send);
        if self.begun && tail > 0 {
            if self.recovering {
                shares.network_ns += tail;
            } else if self.full_window {
                shares.receiver_ns += tail;
            } else {
                shares.app_ns += tail;
            }
        }
        shares
    }
}
