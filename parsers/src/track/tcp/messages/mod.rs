//! Groups new bytes of one TCP direction into application messages, from headers alone.
//!
//! A message ends where its sender had no more to send: at a segment shorter than the MSS, at a turn of the
//! conversation, or after a full segment at a stop that only an empty queue explains. A stop alone is not enough: a
//! congestion window, the receiver's window, a recovery and pacing stop a sender within a write, too. The PUSH flag
//! shows what was queued then. Hosts set it where a write ends; Linux, since 5.5, also on whatever it hands to the card
//! as several segments. So a segment without it has bytes queued after it; one that was handed over alone and has it
//! ends a write; the last of several that has it proves nothing.

pub(crate) mod ended;
pub(crate) mod mss;
pub(crate) mod pace;
pub(crate) mod vantage;

use crate::decode::segment::since;
use ended::Ended;
use mss::{Length, Mss};
use pace::{Pace, Path};
use vantage::Vantage;

/// Why a message is thought to end where it does; bits, so that all reasons are kept.
pub(crate) mod evidence {
    /// The other side answered all of it, and this side went on after the answer.
    pub(crate) const TURN: u8 = 1;
    /// Its last segment is shorter than the MSS, and the window did not cut it.
    pub(crate) const SHORT: u8 = 2;
    /// A stop follows that neither window, recovery, acknowledgement nor pacing explains.
    pub(crate) const PAUSE: u8 = 4;
    /// Its last segment is full, was handed over alone, carries PUSH, and a stop follows.
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

/// Segments that are handed over together leave the sender's host within this time of each other.
const STOP_NS: i64 = 50_000;
/// A pause is at least this long, whatever the pace.
const SHORTEST_PAUSE_NS: i64 = 200_000;
/// This long after the last acknowledgement nothing waits any more, whatever the flags say: the shortest retransmission
/// timeout of Linux, and a clock tick.
const SILENCE_NS: i64 = 250_000_000;
/// Used while the round trip time is not known.
const UNKNOWN_RTT_NS: i64 = 100_000_000;
/// The flight time of segments from a far sender varies by this much.
const FLIGHT_SLACK_NS: i64 = 1_000_000;

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
    pub vantage: Vantage,
    /// Bytes were queued while it was sent: later writes may have joined it. Only known at the sender.
    pub held: bool,
    pub evidence: u8,
}

/// The gap of the first message of a direction, which has none before it.
pub(crate) const NO_GAP: i64 = -1;

/// The message that is being sent, and what was learnt from earlier ones. No two fields that are written with each
/// segment and go into a row lie side by side: one load would read both, and would wait until the separate stores have
/// left the processor.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Message {
    last_time: i64,
    gap_before: i64,
    first_time: i64,
    packets: u32,
    pace: Pace,
    mss: Mss,
    /// SHORT or PUSH, if the last segment shows that a message ends after it.
    ending: u8,
    /// [`BEGUN`], [`PUSHED`], [`PUSHES`], [`HELD`].
    bits: u8,
    vantage: Vantage,
    /// The other side answered all bytes so far.
    pub answered: bool,
    bytes: u64,
}

/// Any message was sent.
const BEGUN: u8 = 1;
/// The last segment carried PUSH.
const PUSHED: u8 = 2;
/// A segment of this direction carried PUSH.
const PUSHES: u8 = 4;
/// Bytes were queued while the message was sent.
const HELD: u8 = 8;

/// State of the sender when it sends a segment with new bytes.
#[allow(clippy::struct_excessive_bools)] // independent facts about one segment
pub(crate) struct Sending {
    pub time: i64,
    /// New bytes.
    pub bytes: u64,
    pub length: Length,
    /// It fills a hole: it belongs to an earlier message, or the order was lost.
    pub late: bool,
    /// The sender had received all that the other side sent.
    pub heard: bool,
    /// All before it was acknowledged, or no acknowledgement was captured.
    pub idle: bool,
    /// Before it there was room in the window and no recovery.
    pub room: bool,
    /// An acknowledgement that was no answer came just before it.
    pub released: bool,
    /// Time since the last acknowledgement.
    pub waited_ns: i64,
    /// Whether the segment ends where the window ends.
    pub cut: bool,
    /// Round trip time from the capture to the receiver, where known.
    pub ahead_ns: Option<i64>,
    /// The same to the sender.
    pub behind_ns: Option<i64>,
}

impl Message {
    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// Takes in a segment; a message that ended before it goes to `ended`.
    #[allow(clippy::inline_always)] // as the caller, `Tcp::data`
    #[inline(always)]
    pub(crate) fn send(&mut self, sending: &Sending, ended: &mut Ended<'_>) {
        let gap = since(sending.time, self.last_time).max(0);
        let mut alone = self.has(PUSHED);
        if self.packets > 0 && !sending.late {
            let why = self.ends(sending, gap);
            if why == 0 {
                alone |= self.went_on_after(gap, sending.room && !sending.released);
            } else {
                if why == evidence::PAUSE && self.ending == 0 {
                    self.pace.doubt(self.path(sending), gap);
                }
                self.end(why, ended);
            }
        }
        if self.packets == 0 {
            alone = true;
            self.begin(sending, gap);
        }
        self.add(1, sending.bytes);
        self.note(sending.time, sending.length.payload);
        self.answered = false;
        if !sending.late {
            self.ending = self.says(sending, alone);
            self.bits = if sending.length.push {
                self.bits | PUSHED | PUSHES
            } else {
                self.bits & !PUSHED
            };
        }
    }

    #[inline(never)] // with `end`
    fn begin(&mut self, sending: &Sending, gap: i64) {
        // Data that waited was queued, unless it is an answer.
        let answers = self.answered && sending.heard;
        let free = sending.room && !sending.released;
        self.vantage = Vantage::between(sending.ahead_ns, sending.behind_ns);
        self.first_time = sending.time;
        self.gap_before = if self.has(BEGUN) { gap } else { NO_GAP };
        let paced = self.has(BEGUN) && self.pace.may_delay(self.path(sending), gap);
        let held = !free || !answers && paced;
        self.bits = self.bits & !HELD | BEGUN | if held { HELD } else { 0 };
        if gap > STOP_NS {
            self.pace.stopped();
        }
    }

    /// Returns whether a segment with `payload` bytes besides `options` is full, and no message ends after it in a
    /// burst.
    #[inline]
    pub(crate) fn is_full(&self, payload: u32, options: u32) -> bool {
        self.mss.is_usual(payload, options)
            && self.ending == 0
            && !self.has(PUSHED)
            && !self.answered
    }

    /// Takes in the time of another full segment of a burst, without PUSH: whatever stops such a burst, the queue is
    /// not empty.
    #[inline]
    pub(crate) fn go_on(&mut self, time: i64, payload: u32) {
        let gap = since(time, self.last_time).max(0);
        self.went_on_after(gap, true);
        self.note(time, payload);
    }

    /// Takes in the time of a segment with `payload` bytes.
    #[inline]
    fn note(&mut self, time: i64, payload: u32) {
        self.pace.sent(payload);
        self.last_time = self.last_time.max(time);
    }

    /// Adds segments, and their new bytes, to the message.
    #[inline]
    pub(crate) fn add(&mut self, packets: u32, bytes: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.bytes += bytes;
    }

    /// Takes in a gap inside a message; returns whether the data after it was handed over separately. `free`: neither
    /// window, recovery nor acknowledgement explains the gap; far from the sender that is unknown.
    #[inline]
    fn went_on_after(&mut self, gap: i64, free: bool) -> bool {
        if gap <= STOP_NS {
            return false;
        }
        self.bits |= HELD;
        let beside = self.vantage == Vantage::AtSender;
        if free || !beside {
            self.pace.learn(gap);
        }
        self.pace.stopped();
        beside
    }

    #[inline]
    fn ends(&self, sending: &Sending, gap: i64) -> u8 {
        let mut why = self.ending & evidence::SHORT;
        if self.answered && sending.heard {
            why |= evidence::TURN;
        }
        if gap > SHORTEST_PAUSE_NS && sending.room && !self.pace.explains(gap) {
            why |= self.pauses(sending, gap);
        }
        why
    }

    /// Returns what a stop of `gap` shows, which neither window, recovery nor the pace so far explains.
    #[inline(never)] // few segments follow such a stop
    fn pauses(&self, sending: &Sending, gap: i64) -> u8 {
        let beside = self.vantage == Vantage::AtSender;
        let released = beside && sending.released;
        if self.ending != 0 {
            // The queue was empty.
            return if released {
                0
            } else {
                evidence::PAUSE | self.ending & evidence::PUSH
            };
        }
        let behind = self.behind(sending);
        // Data that the last acknowledgement released arrives here after a flight there and back.
        let due = match self.vantage {
            Vantage::AtSender => SHORTEST_PAUSE_NS,
            Vantage::Far | Vantage::Unknown => (behind / 4)
                .saturating_add(behind)
                .saturating_add(FLIGHT_SLACK_NS),
        };
        let overdue = sending.idle && !released && sending.waited_ns > due;
        let ended = if self.has(PUSHED) {
            let in_flight = beside && !sending.idle && !released;
            (overdue || in_flight) && !self.pace.may_stop(self.path(sending), gap)
        } else {
            overdue && sending.waited_ns.min(gap) > SILENCE_NS.max(behind.saturating_mul(2))
        };
        if ended { evidence::PAUSE } else { 0 }
    }

    fn path(&self, sending: &Sending) -> Path {
        let rtt = sending.ahead_ns.unwrap_or(0).max(self.behind(sending));
        let full = self.mss(sending.length.options).unwrap_or(1460);
        Path {
            rtt_ns: if rtt > 0 { rtt } else { UNKNOWN_RTT_NS },
            full: full.max(1).into(),
        }
    }

    /// Returns the round trip time from the capture to the sender: 0 beside it.
    fn behind(&self, sending: &Sending) -> i64 {
        match self.vantage {
            Vantage::AtSender => 0,
            Vantage::Far | Vantage::Unknown => sending.behind_ns.unwrap_or(UNKNOWN_RTT_NS),
        }
    }

    /// Returns what a segment shows about an end after it. `alone`: it was not handed over with those before it.
    #[inline]
    fn says(&mut self, sending: &Sending, alone: bool) -> u8 {
        let length = sending.length;
        let short = self.mss.is_short(length) && !sending.cut;
        // A host that sets PUSH at all sets it where its queue is empty.
        if short && (length.push || !self.has(PUSHES)) {
            evidence::SHORT
        } else if length.push && alone && !self.mss.is_several(length) {
            evidence::PUSH
        } else {
            0
        }
    }

    /// Returns whether the last segment was short.
    pub(crate) fn last_is_short(&self) -> bool {
        self.ending & evidence::SHORT != 0
    }

    /// Returns the largest payload seen often besides `options`, where there is one.
    pub(crate) fn mss(&self, options: u32) -> Option<u32> {
        self.mss.payload(options)
    }

    /// Ends the message that is being sent, if there is one.
    #[inline(never)] // most segments end none
    pub(crate) fn end(&mut self, why: u8, ended: &mut Ended<'_>) {
        self.unfinished(why, ended);
        (self.packets, self.bytes, self.ending) = (0, 0, 0);
        self.bits &= !PUSHED;
    }

    /// Reports the message that is being sent, if there is one.
    #[inline]
    pub(crate) fn unfinished(&self, why: u8, ended: &mut Ended<'_>) {
        if self.packets > 0
            && let Some(rows) = &mut ended.rows
        {
            let row = MessageRow {
                connection: ended.connection,
                backward: ended.backward,
                vantage: self.vantage,
                held: self.has(HELD),
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
