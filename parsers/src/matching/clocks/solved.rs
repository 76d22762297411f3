//! Offsets, drift and errors of all clocks, and the delays that follow from the two times of a packet.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::bounds::Bounds;
use super::fit::Fit;
use super::steps::Step;

/// How a clock's offset was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// It is the reference.
    Reference,
    /// Its host has the reference's kernel.
    SameKernel,
    /// Packets in both directions.
    Packets,
    /// Packets, and readings of the clocks.
    Readings,
    /// Packets in one direction only.
    OneWay,
    /// No packet connects its host to the reference.
    Nothing,
    /// Its packets contradict each other, or those of other hosts.
    Inconsistent,
}

impl Method {
    /// All methods, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Reference,
        Self::SameKernel,
        Self::Packets,
        Self::Readings,
        Self::OneWay,
        Self::Nothing,
        Self::Inconsistent,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::SameKernel => "same_kernel",
            Self::Packets => "packets",
            Self::Readings => "packets_and_readings",
            Self::OneWay => "one_way",
            Self::Nothing => "nothing",
            Self::Inconsistent => "inconsistent",
        }
    }
}

/// One clock between two steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClockRow {
    pub host: u16,
    pub reference: u16,
    /// In the host's own time; none if no host has a packet or reading to measure clocks.
    pub span: Option<(i64, i64)>,
    /// How far it is ahead of the reference at the start of `span`, its error until the end, and its drift.
    pub offset: Option<i64>,
    pub error: Option<i64>,
    pub drift_ppm: Option<f64>,
    pub method: Method,
}

/// A clock, minus its rough offset, is ahead of the reference by `offset` at `from`, and by `slope` more for each ns
/// since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) from: i64,
    pub(super) offset: f64,
    pub(super) slope: f64,
    pub(super) error: f64,
}

impl Line {
    fn at(&self, time: i64) -> f64 {
        self.offset + self.slope * time.saturating_sub(self.from) as f64
    }
}

/// Lines fitted to the packets of pairs of points.
pub(super) type Fits = HashMap<(u16, u16), Fit, RandomState>;

/// The time between two steps.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) lines: Vec<Option<Line>>,
    pub(super) methods: Vec<Method>,
    pub(super) fits: Fits,
    /// Bounds of all differences at the start and at the end.
    pub(super) bounds: [Bounds; 2],
}

/// The one-way delay of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delay {
    /// When it was sent, by the reference's clock.
    pub sent: Option<i64>,
    pub duration: Option<i64>,
    pub error: Option<i64>,
    /// Delay above the minimum of its piece and direction.
    pub queue: Option<i64>,
}

/// All clocks.
#[derive(Debug)]
pub(crate) struct Solved {
    pub(super) rough: Vec<i64>,
    pub(super) reference: usize,
    pub(super) steps: Vec<Step>,
    pub(super) pieces: Vec<Piece>,
}

impl Solved {
    /// Returns all clocks in order of hosts and times.
    pub(in super::super) fn rows(&self) -> Vec<ClockRow> {
        let mut rows = Vec::new();
        for (host, &rough) in self.rough.iter().enumerate() {
            let ahead = rough.saturating_sub(self.rough[self.reference]);
            let is_any_measured = self.pieces.iter().any(Piece::is_measured);
            for piece in &self.pieces {
                if is_any_measured && !piece.is_measured() {
                    continue;
                }
                let line = piece.lines[host];
                rows.push(ClockRow {
                    host: host as u16,
                    reference: self.reference as u16,
                    span: is_any_measured.then(|| {
                        let (from, to) = (piece.from, piece.to);
                        (from.saturating_add(rough), to.saturating_add(rough))
                    }),
                    offset: line.map(|line| ahead.saturating_add(line.offset.round() as i64)),
                    error: line.map(|line| line.error.ceil() as i64),
                    drift_ppm: line.map(|line| line.slope * 1e6),
                    method: piece.methods[host],
                });
            }
        }
        rows
    }

    /// Returns the delay of a packet that was sent and received at these times, each by the clock of its host.
    pub(in super::super) fn delay(
        &self,
        (sender, receiver): (u16, u16),
        sent: i64,
        arrived: i64,
    ) -> Delay {
        let sent = sent.saturating_sub(self.rough[usize::from(sender)]);
        let arrived = arrived.saturating_sub(self.rough[usize::from(receiver)]);
        // The time by the clock of the pair's second point, which is also the clock of the steps' times.
        let is_out = sender < receiver;
        let (pair, time) = if is_out {
            ((sender, receiver), arrived)
        } else {
            ((receiver, sender), sent)
        };
        let place = self.steps.partition_point(|step| step.from < time);
        let is_doubtful = place > 0 && self.steps[place - 1].to > time;
        let piece = &self.pieces[place];
        let mut found = Delay::default();
        if is_doubtful {
            // It was sent or received while a clock was set: by which clock is unknown.
            return found;
        }
        let difference = arrived.saturating_sub(sent);
        found.queue = piece
            .fits
            .get(&pair)
            .and_then(|fit| fit.excess(is_out, (time, difference)));
        let ends = [(sender, sent), (receiver, arrived)];
        let [Some(here), Some(there)] = ends.map(|(host, _)| piece.lines[usize::from(host)]) else {
            return found;
        };
        let base = self.rough[self.reference];
        let left = sent.saturating_sub(here.at(sent).round() as i64);
        found.sent = Some(left.saturating_add(base));
        let delay = difference as f64 - there.at(arrived) + here.at(sent);
        found.duration = Some(delay.round() as i64);
        found.error = Some(piece.error((sender, receiver), (here, there)).ceil() as i64);
        found
    }
}

impl Piece {
    /// Returns whether the piece has packets or readings.
    fn is_measured(&self) -> bool {
        self.from > i64::MIN
    }

    /// Returns the largest possible error of the difference of two clocks.
    fn error(&self, (first, second): (u16, u16), (here, there): (Line, Line)) -> f64 {
        let (first, second) = (usize::from(first), usize::from(second));
        let ends = [self.from, self.to].into_iter().zip(&self.bounds);
        ends.map(|(time, bounds)| {
            let ahead = there.at(time) - here.at(time);
            (bounds.most(first, second) - ahead).max(bounds.most(second, first) + ahead)
        })
        .fold(0.0, f64::max)
    }
}
