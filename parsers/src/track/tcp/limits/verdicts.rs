//! What the waits of a while show together about what limited their sender.
//!
//! One wait proves little: a write may happen to leave just after an acknowledgement. Some round trips show whose clock
//! the sender follows, its own or that of the acknowledgements, and whether the path is kept busy.
//!
//! `thresholds.rs` explains each threshold.

use super::LimitTimes;
use super::signs::{Signs, Verdict, WaitKind};
use super::thresholds::THRESHOLDS;
use crate::track::rtt::Rtt;

/// Longer pauses between acknowledgements are cut to this length.
const LONGEST_GAP_NS: i64 = 1 << 31;
const KINDS: usize = 11;

/// The event that sets the distance from one send to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SendClock {
    /// The send before, or a timer that paces sends.
    Own,
    Either,
    #[default]
    Acknowledgements,
}

/// The part of a wait that matters for the others.
pub(crate) struct Wait {
    /// From the end of the one before.
    pub span_ns: i64,
    /// From the last acknowledgement in the wait to its end.
    pub age_ns: Option<i64>,
    /// Bytes sent since the wait before it, and those in flight when it began.
    pub bytes: u32,
    pub flight: u32,
}

impl Wait {
    /// Returns whether it lasted a round trip and ended soon after an acknowledgement, as if a writer woke up late.
    pub fn is_round(&self, rtt: &Rtt) -> bool {
        let round = i64::from(rtt.smoothed_ns);
        self.age_ns
            .is_some_and(|age| (self.span_ns - round).abs() < round / 16 && age < self.span_ns / 64)
    }
}

/// Returns the share of the time in round trips from which a writer follows them.
fn needed_share_of_rounds(rtt: &Rtt) -> f32 {
    if i64::from(rtt.smoothed_ns) < THRESHOLDS.long_ns {
        THRESHOLDS.by_rounds
    } else {
        THRESHOLDS.by_long_rounds
    }
}

/// The acknowledgements of a while: separate, because each of them changes all of it.
#[derive(Debug, Clone, Copy, Default)]
struct Acks {
    last: i64,
    /// Moving averages of the bytes that one frees, and of the time between two.
    usual_bytes: u32,
    usual_gap_ns: u32,
    /// Bytes acknowledged, and those of them at more than twice the usual rate.
    bytes: u32,
    fast: u32,
    /// Smallest RTT; 0 where there is none.
    rtt_ns: u32,
}

impl Acks {
    #[inline]
    fn add(&mut self, time: i64, bytes: u32) {
        if self.last != 0 {
            let gap = time.wrapping_sub(self.last).clamp(0, LONGEST_GAP_NS) as u32;
            let usual = u64::from(self.usual_bytes) * u64::from(gap);
            if 2 * usual < u64::from(self.usual_gap_ns) * u64::from(bytes) {
                self.fast = self.fast.wrapping_add(bytes);
            }
            self.bytes = self.bytes.wrapping_add(bytes);
            self.usual_gap_ns = self.usual_gap_ns - self.usual_gap_ns / 16 + gap / 16;
            self.usual_bytes = self.usual_bytes - self.usual_bytes / 16 + bytes / 16;
        }
        self.last = time;
    }

    #[inline]
    fn measured(&mut self, ns: i64) {
        let ns = u32::try_from(ns.max(1)).unwrap_or(u32::MAX);
        if self.rtt_ns == 0 || ns < self.rtt_ns {
            self.rtt_ns = ns;
        }
    }
}

/// The waits of a while, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct While {
    /// When it began.
    begin: i64,
    sums_ns: [u32; KINDS],
    /// Waits with an empty queue that no acknowledgement ended; halved after each while.
    own_ns: f32,
    /// The same sum of the earlier waits that they are compared with.
    held_before_ns: f32,
    /// Sums of the differences between consecutive waits, their times from acknowledgement to send, and how many.
    span_steps_ns: f32,
    age_steps_ns: f32,
    steps: u16,
    /// Time of the waits that lasted a round trip each and ended soon after an acknowledgement, less that of the others
    /// of these waits: in 64ths of an RTT, weighted so that it is negative below the share that is needed.
    rounds: i16,
    /// Number of whiles for which a loss still matters.
    lossy: u8,
    /// The clock of the while before.
    clock_before: SendClock,
    last_span_ns: f32,
    /// Negative where there is none.
    last_age_ns: f32,
    acks: Acks,
    /// Bytes that left when a writer woke up, and how often.
    woken_bytes: u32,
    wakings: u16,
    /// Most bytes in flight, and those in the while before.
    flight: u32,
    flight_before: u32,
}

impl While {
    pub(crate) fn begin(&mut self, time: i64) {
        self.begin = time;
        self.last_age_ns = -1.0;
    }

    /// Takes in an acknowledgement of new bytes. They come evenly from a path that is kept busy, and in clumps from one
    /// that carries a burst now and then.
    #[inline]
    pub(crate) fn acknowledged(&mut self, time: i64, bytes: u32) {
        self.acks.add(time, bytes);
    }

    /// Notes a loss: the congestion window is small now, and may stay as it is (RFC 9438 4.4).
    pub(crate) fn lost(&mut self) {
        self.lossy = THRESHOLDS.lossy_whiles;
    }

    #[inline]
    pub(crate) fn measured(&mut self, ns: i64) {
        self.acks.measured(ns);
    }

    /// Takes in any wait that was neither a recovery nor one for the receiver's window.
    pub(crate) fn waited(&mut self, wait: &Wait, rtt: &Rtt) {
        self.flight = self.flight.max(wait.flight);
        let Some(age) = wait.age_ns else { return };
        if wait.span_ns <= THRESHOLDS.shortest_ns {
            return;
        }
        let (span, age) = (wait.span_ns as f32, age as f32);
        if self.last_age_ns >= 0.0 {
            self.span_steps_ns += (span - self.last_span_ns).abs();
            self.age_steps_ns += (age - self.last_age_ns).abs();
            let needed = needed_share_of_rounds(rtt);
            let weight = if wait.is_round(rtt) {
                1.0 - needed
            } else {
                -needed
            };
            let time = weight * 64.0 * span / rtt.smoothed_ns as f32;
            self.rounds = self.rounds.saturating_add(time.round() as i16);
            self.steps = self.steps.saturating_add(1);
        }
        (self.last_span_ns, self.last_age_ns) = (span, age);
    }

    /// Adds a wait of the application: its queue was empty, and no acknowledgement ended the wait.
    pub(crate) fn owned(&mut self, span_ns: i64) {
        self.own_ns += span_ns as f32;
    }

    /// Takes in a wait, unless it is longer than any while; returns whether it did.
    pub(crate) fn add(&mut self, kind: WaitKind, wait: &Wait) -> bool {
        let sum = &mut self.sums_ns[kind as usize];
        let Some(more) = u32::try_from(wait.span_ns)
            .ok()
            .and_then(|span| sum.checked_add(span))
        else {
            return false;
        };
        *sum = more;
        if matches!(
            kind,
            WaitKind::Woken | WaitKind::HeldWoken | WaitKind::Alone
        ) {
            self.woken_bytes = self.woken_bytes.saturating_add(wait.bytes);
            self.wakings = self.wakings.saturating_add(1);
        }
        true
    }

    /// Returns whether it lasted long enough at `time`.
    pub(crate) fn is_over(&self, time: i64, rtt: &Rtt) -> bool {
        let least = THRESHOLDS
            .least_ns
            .max(THRESHOLDS.rounds * i64::from(rtt.smoothed_ns));
        let lasted = time.wrapping_sub(self.begin);
        lasted >= least
            && (self.steps >= THRESHOLDS.enough_steps || lasted >= THRESHOLDS.longest * least)
    }

    /// Hands its waits to `times`, and begins the next while at `time`.
    pub(crate) fn end(&mut self, time: i64, rtt: &Rtt, times: &mut LimitTimes) {
        self.share_out(rtt, times);
        let (own, held) = self.own_and_held();
        *self = Self {
            begin: time,
            own_ns: own as f32 / 2.0,
            held_before_ns: held as f32 / 2.0,
            lossy: self.lossy.saturating_sub(1),
            clock_before: self.own_clock().unwrap_or_default(),
            last_span_ns: self.last_span_ns,
            last_age_ns: self.last_age_ns,
            flight_before: self.flight,
            acks: Acks {
                bytes: 0,
                fast: 0,
                rtt_ns: 0,
                ..self.acks
            },
            ..Self::default()
        };
    }

    /// Adds its waits to `times`, each to what limited it.
    pub(crate) fn share_out(&self, rtt: &Rtt, times: &mut LimitTimes) {
        const ALL: [WaitKind; KINDS] = [
            WaitKind::Paced,
            WaitKind::Bare,
            WaitKind::Clocked,
            WaitKind::Woken,
            WaitKind::HeldPaced,
            WaitKind::HeldClocked,
            WaitKind::HeldWoken,
            WaitKind::Empty,
            WaitKind::Alone,
            WaitKind::Drained,
            WaitKind::HeldDrained,
        ];
        if self.sums_ns == [0; KINDS] {
            return;
        }
        let signs = self.signs(rtt);
        for kind in ALL {
            let sum = match signs.verdict(kind) {
                Verdict::Application => &mut times.app_ns,
                Verdict::Sender => &mut times.sender_ns,
                Verdict::Network => &mut times.network_ns,
                Verdict::Unknown => &mut times.unknown_ns,
            };
            *sum = sum.saturating_add(self.sums_ns[kind as usize].into());
        }
    }

    /// Returns the clock of the steps of this while alone: those of slow start are a thousand times as long as those of
    /// a steady writer.
    fn own_clock(&self) -> Option<SendClock> {
        let clock = if self.age_steps_ns > THRESHOLDS.own_clock * self.span_steps_ns {
            SendClock::Own
        } else if self.age_steps_ns > THRESHOLDS.either_clock * self.span_steps_ns {
            SendClock::Either
        } else {
            SendClock::Acknowledgements
        };
        (self.steps >= THRESHOLDS.least_steps).then_some(clock)
    }

    fn clock(&self) -> SendClock {
        // Both differ by the time that a writer needs to wake up, and its clock is that of the acknowledgements.
        if self.by_rounds() {
            return SendClock::Acknowledgements;
        }
        self.own_clock().unwrap_or(self.clock_before)
    }

    /// Returns whether nearly all the time passes in waits that last a round trip and end soon after an
    /// acknowledgement: by chance that is rare. A host that pauses within its bursts has many short waits as well.
    fn by_rounds(&self) -> bool {
        self.steps >= THRESHOLDS.least_steps && self.rounds >= 0
    }

    fn sum(&self, kinds: &[WaitKind]) -> f64 {
        let sums = kinds
            .iter()
            .map(|&kind| f64::from(self.sums_ns[kind as usize]));
        sums.sum()
    }

    fn own_and_held(&self) -> (f64, f64) {
        let held = self.sum(&[
            WaitKind::Empty,
            WaitKind::HeldPaced,
            WaitKind::HeldClocked,
            WaitKind::HeldWoken,
        ]);
        (self.own_ns.into(), held + f64::from(self.held_before_ns))
    }

    fn signs(&self, rtt: &Rtt) -> Signs {
        let (own, held) = self.own_and_held();
        let paced = self.sum(&[WaitKind::Paced, WaitKind::Bare, WaitKind::HeldPaced]);
        let woken = self.sum(&[WaitKind::Woken, WaitKind::HeldWoken]);
        let open = self.sum(&[WaitKind::Paced, WaitKind::Clocked, WaitKind::Woken]);
        let bare = self.sum(&[WaitKind::Bare]);
        let others = self.sum(&[
            WaitKind::Bare,
            WaitKind::Clocked,
            WaitKind::Woken,
            WaitKind::Alone,
        ]);
        let pauses = self.sum(&[WaitKind::Paced]);
        let inflation = if self.acks.rtt_ns == 0 || rtt.min_ns <= 0 {
            1.0
        } else {
            f64::from(self.acks.rtt_ns) / rtt.min_ns as f64
        };
        let clock = self.clock();
        let timer = clock == SendClock::Own;
        let grows = inflation > THRESHOLDS.growing_queue
            || f64::from(self.flight) > THRESHOLDS.growing_flight * f64::from(self.flight_before);
        let stands = inflation > THRESHOLDS.queue;
        let fast = f64::from(self.acks.fast) / f64::from(self.acks.bytes.max(1));
        let clocked = self.sum(&[WaitKind::Clocked]);
        let at_once = clocked + self.sum(&[WaitKind::HeldClocked]);
        let lossy = self.lossy > 0;
        let mixed = clock != SendClock::Acknowledgements;
        Signs {
            timer,
            mixed,
            clumps: !stands
                && (fast > THRESHOLDS.clumped
                    || fast > THRESHOLDS.evenly && inflation < THRESHOLDS.no_queue),
            even: stands || fast <= THRESHOLDS.evenly,
            own: if own > 0.0 { own / (own + held) } else { 0.0 },
            inflation,
            grows,
            widens: grows && self.flight_before > 0,
            lossy,
            own_pace: mixed && fast > THRESHOLDS.clumped && !grows && !lossy,
            by_rounds: self.by_rounds(),
            empties: self.sum(&[WaitKind::Empty, WaitKind::Alone]) > THRESHOLDS.rare * woken,
            alternates: !timer
                && !grows
                && at_once > THRESHOLDS.rare * (at_once + woken)
                && woken > THRESHOLDS.rare * (at_once + woken),
            paced: paced > THRESHOLDS.paced * (paced + woken),
            only_pauses: others < THRESHOLDS.rare * (pauses + others),
            only_bare: open < THRESHOLDS.rare * (bare + open),
            few_clocked: clocked <= THRESHOLDS.rare * (clocked + held),
            large_wakings: f64::from(self.woken_bytes)
                > THRESHOLDS.large_waking * f64::from(self.flight) * f64::from(self.wakings)
                && pauses <= THRESHOLDS.rare * open,
        }
    }
}
