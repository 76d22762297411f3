//! The signs of a while, and what limited each kind of wait in it.

use super::thresholds::THRESHOLDS;

/// A wait that only the other waits of its while explain, by what the segments before it show of the queue, and by
/// whether an acknowledgement ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitKind {
    /// It is unknown whether more was queued. No acknowledgement ended the wait: it was paced, or the writer paused.
    Paced,
    /// The same, and no acknowledgement came.
    Bare,
    /// The kernel sent on at once when an acknowledgement came.
    Clocked,
    /// Sending went on after an acknowledgement as soon as a writer that wakes up can.
    Woken,
    /// As these three, but a short segment was not acknowledged, for which Nagle's algorithm may have waited.
    HeldPaced,
    HeldClocked,
    HeldWoken,
    /// Nothing was queued, and an acknowledgement ended the wait.
    Empty,
    /// A full segment alone with PUSH emptied the queue, and a writer may have woken up.
    Alone,
    /// All data were acknowledged just before, without a short segment among them, or with one.
    Drained,
    HeldDrained,
}

/// The cause to which the time of a wait is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Application,
    Sender,
    Network,
    Unknown,
}

/// Properties of a few round trips of one sender, which decide the cause of each wait in them.
#[allow(clippy::struct_excessive_bools)] // independent signs
pub(super) struct Signs {
    /// Sends keep their distance from each other better than from acknowledgements, or nearly as well.
    pub timer: bool,
    /// ... or not much worse.
    pub mixed: bool,
    /// Acknowledgements come in clumps, and no large queue stands: the path is not busy all the time.
    pub clumps: bool,
    /// Acknowledgements come evenly, or a large queue stands.
    pub even: bool,
    /// Share of the waits with an empty queue or a short segment under way that is certainly the application's.
    pub own: f64,
    /// Least RTT of this while over that of the flow: above 1 a queue stands.
    pub inflation: f64,
    /// A queue stands, or the flight doubled: the congestion window limits while it grows so fast.
    pub grows: bool,
    /// The same, but not in the first while: its flight is larger than none, which proves nothing.
    pub widens: bool,
    /// Something was lost not long ago.
    pub lossy: bool,
    /// The clock is mixed, acknowledgements come in plain clumps, and nothing says that the congestion window holds
    /// sends back.
    pub own_pace: bool,
    /// One wait lasts a round trip, and ends soon after it.
    pub by_rounds: bool,
    /// The queue was empty before some of the waits.
    pub empties: bool,
    /// The kernel and a writer that wakes up send on by turns.
    pub alternates: bool,
    /// Much of the time was spent in pauses that no acknowledgement ended.
    pub paced: bool,
    /// Nearly all segments without a short one under way followed such a pause.
    pub only_pauses: bool,
    /// Nearly all of them before any acknowledgement came.
    pub only_bare: bool,
    /// The kernel hardly ever sent on by itself.
    pub few_clocked: bool,
    /// A large part of the flight leaves when a writer may have woken up, and it rarely pauses otherwise.
    pub large_wakings: bool,
}

impl Signs {
    /// Returns the cause of the waits of one kind in this while.
    #[allow(clippy::match_same_arms)] // kind by kind
    pub(super) fn verdict(&self, kind: WaitKind) -> Verdict {
        use Verdict::{Application, Network, Sender, Unknown};
        let writer = self.timer && self.clumps;
        match kind {
            // A kernel that paces a burst looks like an application that writes it piece by piece.
            WaitKind::Bare if writer && self.only_bare => Unknown,
            WaitKind::Paced | WaitKind::Bare | WaitKind::Clocked if writer => self.writer(),
            WaitKind::Paced if self.clumps && self.only_pauses => self.writer(),
            WaitKind::Paced | WaitKind::Alone if self.own_pace => Application,
            WaitKind::Paced | WaitKind::Alone if self.mixed && self.clumps => Unknown,
            WaitKind::Paced | WaitKind::Bare | WaitKind::Clocked if self.timer && !self.even => {
                Unknown
            }
            WaitKind::Bare | WaitKind::Clocked if self.alternates => Unknown,
            WaitKind::Paced | WaitKind::Bare | WaitKind::Clocked => Network,
            WaitKind::Woken if writer && !self.large_wakings => self.writer(),
            WaitKind::Woken if self.timer && !self.even => Unknown,
            WaitKind::Woken if self.timer => Network,
            WaitKind::Woken => self.woken(),
            WaitKind::HeldPaced
                if (self.timer || self.own > THRESHOLDS.own_some) && self.clumps =>
            {
                Application
            }
            WaitKind::HeldClocked | WaitKind::HeldWoken if self.writes() => Application,
            WaitKind::HeldPaced | WaitKind::HeldClocked => Network,
            WaitKind::HeldWoken if self.timer || self.own > THRESHOLDS.own_some => Unknown,
            // Growth speaks for the congestion window, the short segment and a path without a queue against it.
            WaitKind::HeldWoken
                if self.grows && !self.lossy && self.inflation < THRESHOLDS.growing_queue =>
            {
                Unknown
            }
            WaitKind::HeldWoken => self.woken(),
            WaitKind::Empty if self.own > THRESHOLDS.own_some => Application,
            WaitKind::Empty if self.timer || self.grows || self.lossy => Unknown,
            WaitKind::Empty => Sender,
            WaitKind::Alone if self.inflation > THRESHOLDS.no_queue => Network,
            WaitKind::Alone if self.lossy => Unknown,
            WaitKind::Alone => Sender,
            WaitKind::Drained | WaitKind::HeldDrained if self.by_rounds => self.refilled(),
            WaitKind::Drained if self.timer => Application,
            WaitKind::Drained => Network,
            WaitKind::HeldDrained => Application,
        }
    }

    /// Returns the cause if the application writes by its own clock. It is uncertain if the flight has just become
    /// larger: then the network may have held back what was there before.
    fn writer(&self) -> Verdict {
        if self.widens {
            Verdict::Unknown
        } else {
            Verdict::Application
        }
    }

    /// Returns whether the application writes by its own clock, also where a short segment is under way.
    fn writes(&self) -> bool {
        let alone = self.own > THRESHOLDS.own_much
            && self.inflation < THRESHOLDS.growing_queue
            && (self.mixed || self.few_clocked);
        let writer =
            self.timer && (self.own > THRESHOLDS.own_some || self.clumps && !self.large_wakings);
        writer || self.own > THRESHOLDS.own_some && (self.clumps || self.timer || alone)
    }

    /// Returns the cause if all was acknowledged once a round trip, and a writer then woke up and refilled its buffer.
    fn refilled(&self) -> Verdict {
        if self.grows || self.lossy || self.inflation > THRESHOLDS.no_queue {
            Verdict::Unknown
        } else {
            Verdict::Sender
        }
    }

    /// Returns the cause if a writer woke up, or the congestion window released what was queued.
    fn woken(&self) -> Verdict {
        if self.grows || self.lossy && !self.empties {
            Verdict::Network
        } else if self.lossy || self.paced || self.alternates {
            Verdict::Unknown
        } else {
            Verdict::Sender
        }
    }
}
