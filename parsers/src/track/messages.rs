//! New octets of one TCP direction to application messages, from headers alone.
//!
//! A message ends where its sender had no more to send: at a segment shorter than the MSS, at a turn of the
//! conversation, at a pause that neither the window nor a recovery explains, or at a full segment with PUSH
//! before a small pause. PUSH alone proves little: Linux also sets it inside long writes.

use super::ended::Ended;
use crate::segment::since;

/// Why a message is thought to end where it does; bits, so that all reasons are kept.
pub(crate) mod evidence {
    /// The other side answered all of it, and this side went on after the answer.
    pub(crate) const TURN: u8 = 1;
    /// Its last segment is shorter than the MSS, and the window did not cut it.
    pub(crate) const SHORT: u8 = 2;
    /// A pause follows during which there was room to send.
    pub(crate) const PAUSE: u8 = 4;
    /// Its last segment is full, carries PUSH, and a small pause follows.
    pub(crate) const PUSH: u8 = 8;
    /// FIN or RST.
    pub(crate) const CLOSE: u8 = 16;
    /// The capture ends.
    pub(crate) const OPEN: u8 = 32;
    /// All of them, strongest first.
    pub(crate) const NAMES: [(u8, &str); 6] = [
        (TURN, "turn"),
        (SHORT, "short"),
        (PAUSE, "pause"),
        (PUSH, "push"),
        (CLOSE, "close"),
        (OPEN, "open"),
    ];
}

/// A pause is at least this long, whatever the spacing inside messages.
const SHORTEST_PAUSE_NS: i64 = 200_000;
/// Below this a segment is taken for short while the MSS is not known: every host accepts as much, RFC 9293 3.7.1.
const SMALLEST_MSS: u32 = 536;

/// One application message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageRow {
    pub connection: u32,
    pub packets: u32,
    pub first_time: i64,
    pub last_time: i64,
    pub bytes: u64,
    /// [`NO_GAP`] for the first of a direction.
    pub gap_before_ns: i64,
    pub backward: bool,
    pub evidence: u8,
}

/// There was no message before.
pub(crate) const NO_GAP: i64 = -1;

/// The message that is being sent, and what was learnt from those before it. No two fields that are written with each
/// segment and go into a row lie side by side: they would be read together, and that waits until what was written apart
/// has left the processor.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Message {
    gap_before: i64,
    first_time: i64,
    packets: u32,
    /// Typical gap inside messages: moves towards every gap by an eighth.
    spacing_ns: u32,
    last_time: i64,
    /// Largest payload of a single segment without PUSH that came three times.
    mss: u16,
    candidate: u16,
    times: u8,
    /// What the last segment says about an end behind it.
    ending: u8,
    /// Any message was sent.
    begun: bool,
    /// The other side answered all octets so far.
    pub answered: bool,
    bytes: u64,
}

/// What is known when a segment with new octets is sent.
#[allow(clippy::struct_excessive_bools)] // independent facts about one segment
pub(super) struct Sending {
    pub time: i64,
    /// New octets.
    pub bytes: u64,
    pub payload: u32,
    /// Largest payload the other side accepts, where known.
    pub accepted: Option<u32>,
    pub push: bool,
    /// It fills a hole: it belongs to an earlier message, or the order was lost.
    pub late: bool,
    /// The sender had heard all that the other side sent.
    pub heard: bool,
    /// Before it there was room in the window and no recovery.
    pub free: bool,
    /// It ends where the window ends.
    pub cut: bool,
    pub smoothed_rtt_ns: u32,
}

impl Message {
    /// Takes in a segment; a message that ended before it goes to `ended`.
    #[allow(clippy::inline_always)] // as the caller, `Tcp::data`
    #[inline(always)]
    pub(super) fn send(&mut self, sending: &Sending, ended: &mut Ended<'_>) {
        let gap = since(sending.time, self.last_time).max(0);
        if self.packets > 0 && !sending.late {
            let why = self.ends(sending, gap);
            if why == 0 {
                self.learn(gap);
            } else {
                self.end(why, ended);
            }
        }
        if self.packets == 0 {
            self.first_time = sending.time;
            self.gap_before = if self.begun { gap } else { NO_GAP };
            self.begun = true;
        }
        self.packets = self.packets.saturating_add(1);
        self.bytes += sending.bytes;
        self.last_time = self.last_time.max(sending.time);
        self.answered = false;
        if !sending.late {
            let short = self.is_short(sending);
            self.ending = match (short && !sending.cut, sending.push) {
                (true, _) => evidence::SHORT,
                (false, true) => evidence::PUSH,
                (false, false) => 0,
            };
        }
    }

    /// A segment of `payload` octets is full, and the one before ended nothing.
    #[inline]
    pub(super) fn is_full(&self, payload: u32) -> bool {
        payload == u32::from(self.mss) && self.ending == 0 && !self.answered
    }

    /// Takes in the time of another full segment of a burst, unless the message ended before it.
    #[inline]
    pub(super) fn goes_on(&mut self, time: i64, smoothed_rtt_ns: u32) -> bool {
        let gap = since(time, self.last_time).max(0);
        if gap > self.pause(smoothed_rtt_ns) {
            return false;
        }
        self.learn(gap);
        self.last_time = self.last_time.max(time);
        true
    }

    /// Takes in how many segments, and octets, the burst had.
    #[inline]
    pub(super) fn went_on(&mut self, packets: u32, bytes: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.bytes += bytes;
    }

    /// Takes in a gap inside a message.
    #[inline]
    fn learn(&mut self, gap: i64) {
        let change = self.spacing_ns / 8 + 1;
        self.spacing_ns = if gap > i64::from(self.spacing_ns) {
            self.spacing_ns.saturating_add(change)
        } else {
            self.spacing_ns - change.min(self.spacing_ns)
        };
    }

    /// Gaps longer than this end a message.
    #[inline]
    fn pause(&self, smoothed_rtt_ns: u32) -> i64 {
        (3 * i64::from(self.spacing_ns))
            .max(i64::from(smoothed_rtt_ns / 4))
            .max(SHORTEST_PAUSE_NS)
    }

    #[inline]
    fn ends(&self, sending: &Sending, gap: i64) -> u8 {
        let mut why = self.ending & evidence::SHORT;
        if self.answered && sending.heard {
            why |= evidence::TURN;
        }
        if sending.free {
            let pause = self.pause(sending.smoothed_rtt_ns);
            if gap > pause {
                why |= evidence::PAUSE;
            }
            if gap > pause / 4 {
                why |= self.ending & evidence::PUSH;
            }
        }
        why
    }

    #[inline]
    fn is_short(&mut self, sending: &Sending) -> bool {
        let payload = sending.payload;
        // The usual full segment, without a division.
        if payload == u32::from(self.mss) {
            return false;
        }
        let most = sending.accepted.unwrap_or(9216).min(u32::from(u16::MAX));
        // Small messages of one size are no MSS: every host takes longer segments. A segment with PUSH may be
        // a whole write, of whatever size; without, more was queued behind it.
        if !sending.push
            && (SMALLEST_MSS..=most).contains(&payload)
            && payload > u32::from(self.mss)
        {
            if payload == u32::from(self.candidate) {
                self.times += 1;
                if self.times >= 3 {
                    self.mss = self.candidate;
                }
            } else if payload > u32::from(self.candidate) || self.times < 2 {
                self.candidate = payload as u16;
                self.times = 1;
            }
        }
        if sending
            .accepted
            .is_some_and(|most| most > 0 && payload.is_multiple_of(most))
        {
            return false;
        }
        if self.mss == 0 {
            return sending.accepted.is_some() || payload < SMALLEST_MSS;
        }
        !payload.is_multiple_of(u32::from(self.mss))
    }

    /// The last segment was short.
    pub(super) fn last_is_short(&self) -> bool {
        self.ending & evidence::SHORT != 0
    }

    /// Largest payload seen often, where there is one.
    pub(super) fn mss(&self) -> Option<u32> {
        (self.mss > 0).then_some(u32::from(self.mss))
    }

    /// Ends the message that is being sent, if there is one.
    #[inline(never)] // most segments end none
    pub(super) fn end(&mut self, why: u8, ended: &mut Ended<'_>) {
        self.unfinished(why, ended);
        (self.packets, self.bytes, self.ending) = (0, 0, 0);
    }

    /// Tells the message that is being sent, if there is one.
    #[inline]
    pub(super) fn unfinished(&self, why: u8, ended: &mut Ended<'_>) {
        if self.packets > 0
            && let Some(rows) = &mut ended.rows
        {
            let row = MessageRow {
                connection: ended.connection,
                backward: ended.backward,
                first_time: self.first_time,
                last_time: self.last_time,
                bytes: self.bytes,
                packets: self.packets,
                gap_before_ns: self.gap_before,
                evidence: why | self.ending & evidence::SHORT,
            };
            rows.add(ended.position, &row);
        }
    }
}
