//! Offsets, drift and errors of all clocks, and what they make of the two times of a packet.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;

use super::Clocks;
use super::bounds::Bounds;
use super::fit::{Fit, Stretch, UNKNOWN};
use super::steps::{self, Step};

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
    /// Packets went one way only.
    OneWay,
    /// Packets tell nothing.
    Nothing,
    /// What packets tell of it contradicts itself, or what they tell of other hosts.
    Inconsistent,
}

impl Method {
    /// All of them, in the order of their numbers.
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

/// One clock from one step to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClockRow {
    pub host: u16,
    pub reference: u16,
    /// By the host's own clock; none where no packet of any host tells.
    pub span: Option<(i64, i64)>,
    /// How far it is ahead of the reference at `from`, its error until `to`, and how it drifts.
    pub offset: Option<i64>,
    pub error: Option<i64>,
    pub drift_ppm: Option<f64>,
    pub method: Method,
}

/// A clock, less its rough offset, is ahead of the reference by `offset`, and by `slope` more for each ns since `from`.
#[derive(Debug, Clone, Copy)]
struct Line {
    from: i64,
    offset: f64,
    slope: f64,
    error: f64,
}

impl Line {
    fn at(&self, time: i64) -> f64 {
        self.offset + self.slope * time.saturating_sub(self.from) as f64
    }
}

/// The time from one step to the next.
#[derive(Debug)]
struct Piece {
    from: i64,
    to: i64,
    lines: Vec<Option<Line>>,
    methods: Vec<Method>,
    fits: HashMap<(u16, u16), Fit, RandomState>,
    /// Bounds of all differences at the beginning and at the end.
    bounds: [Bounds; 2],
}

/// How long a packet was under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delay {
    /// When it was sent, by the reference's clock.
    pub sent: Option<i64>,
    pub duration: Option<i64>,
    pub error: Option<i64>,
    /// Above the least of its piece and direction.
    pub queue: Option<i64>,
}

/// All clocks.
#[derive(Debug)]
pub(crate) struct Solved {
    rough: Vec<i64>,
    reference: usize,
    steps: Vec<Step>,
    pieces: Vec<Piece>,
}

impl Clocks {
    /// Finds the clocks. `kernels`: hosts with the same one have the same number.
    pub(in super::super) fn solve(self, kernels: &[Option<usize>]) -> Solved {
        let mut steps: Vec<Step> = Vec::new();
        for (&(first, second), windows) in &self.pairs {
            let [one, other] = [first, second].map(|point| kernels[usize::from(point)]);
            let is_one_clock = one.is_some() && one == other;
            steps.extend(steps::find(windows.all(), self.shift, is_one_clock));
        }
        let steps = merged(steps, 1 << self.shift);
        let reference = self.reference();
        let mut pieces = Vec::with_capacity(steps.len() + 1);
        let mut from = i64::MIN;
        for step in &steps {
            pieces.push(self.piece((from, step.from), kernels, reference));
            from = step.to;
        }
        pieces.push(self.piece((from, i64::MAX), kernels, reference));
        Solved {
            rough: self.rough,
            reference,
            steps,
            pieces,
        }
    }

    /// The point that has packets both ways with most others; of several the first.
    fn reference(&self) -> usize {
        let mut partners = vec![0; self.rough.len()];
        for (&(first, second), windows) in &self.pairs {
            let mut all = windows.all().iter();
            let is_out = all.clone().any(|window| !window.out.points().is_empty());
            if is_out && all.any(|window| !window.back.points().is_empty()) {
                partners[usize::from(first)] += 1;
                partners[usize::from(second)] += 1;
            }
        }
        let numbered = partners.iter().enumerate();
        let most = numbered.max_by_key(|&(place, &count)| (count, std::cmp::Reverse(place)));
        most.map_or(0, |(place, _)| place)
    }

    fn piece(&self, (from, to): (i64, i64), kernels: &[Option<usize>], reference: usize) -> Piece {
        let mut fits = HashMap::default();
        for (&pair, windows) in &self.pairs {
            if let Some(fit) = Fit::new(&Stretch::gather(windows.all(), from, to)) {
                fits.insert(pair, fit);
            }
        }
        let readings: Vec<_> = self
            .readings
            .iter()
            .filter(|read| (from..=to).contains(&read.time))
            .collect();
        let times = || readings.iter().map(|read| read.time);
        let begins = fits.values().map(|fit| fit.from).chain(times());
        let ends = fits.values().map(|fit| fit.to).chain(times());
        let (from, to) = (begins.min().unwrap_or(from), ends.max().unwrap_or(to));
        let clocks = self.rough.len();
        let mut inconsistent = BTreeSet::new();
        let bounds = [from, to].map(|time| {
            let mut bounds = Bounds::new(clocks);
            for (&(first, second), fit) in &fits {
                bounds.limit(usize::from(first), usize::from(second), fit.bounds(time));
            }
            for read in &readings {
                let ((first, second), (least, most)) = (read.pair, read.bounds);
                let fit = fits.get(&(first, second));
                let (slope, error) = fit.map_or((0.0, UNKNOWN), |fit| (fit.slope, fit.slope_error));
                let passed = time.saturating_sub(read.time) as f64;
                let (drift, wide) = (slope * passed, error * passed.abs());
                let bounds_then = (least + drift - wide, most + drift + wide);
                bounds.limit(usize::from(first), usize::from(second), bounds_then);
            }
            for (first, kernel) in kernels.iter().enumerate() {
                for (second, other) in kernels.iter().enumerate().skip(first + 1) {
                    if kernel.is_some() && kernel == other {
                        let ahead = self.rough[second].saturating_sub(self.rough[first]);
                        bounds.limit(first, second, (-ahead as f64, -ahead as f64));
                    }
                }
            }
            let (bounds, removed) = bounds.reconcile(reference);
            inconsistent.extend(removed);
            bounds
        });
        let lines: Vec<Option<Line>> = (0..clocks)
            .map(|clock| {
                let is_known = !inconsistent.contains(&clock) && !inconsistent.contains(&reference);
                is_known.then(|| line((from, to), &bounds, reference, clock))?
            })
            .collect();
        let with_reading = |clock: usize| {
            let pairs = readings.iter().map(|read| read.pair);
            let mut hosts = pairs.flat_map(|(first, second)| [first, second]);
            hosts.any(|host| usize::from(host) == clock)
        };
        let linked = linked(&fits, reference, clocks);
        let methods = (0..clocks).map(|clock| match lines[clock] {
            _ if inconsistent.contains(&clock) => Method::Inconsistent,
            _ if clock == reference => Method::Reference,
            Some(_) if kernels[clock].is_some() && kernels[clock] == kernels[reference] => {
                Method::SameKernel
            }
            Some(_) if with_reading(clock) => Method::Readings,
            Some(_) => Method::Packets,
            None if linked[clock] => Method::OneWay,
            None => Method::Nothing,
        });
        Piece {
            from,
            to,
            methods: methods.collect(),
            lines,
            fits,
            bounds,
        }
    }
}

/// The middle between what bounds leave at both ends.
fn line(
    (from, to): (i64, i64),
    bounds: &[Bounds; 2],
    reference: usize,
    clock: usize,
) -> Option<Line> {
    let ends = bounds.each_ref().map(|bounds| {
        let (least, most) = (
            -bounds.most(clock, reference),
            bounds.most(reference, clock),
        );
        (f64::midpoint(least, most), (most - least) / 2.0)
    });
    if ends.iter().any(|(_, error)| !error.is_finite()) {
        return None;
    }
    let span = to.saturating_sub(from).max(1) as f64;
    Some(Line {
        from,
        offset: ends[0].0,
        slope: (ends[1].0 - ends[0].0) / span,
        error: ends[0].1.max(ends[1].1),
    })
}

/// Which points have packets with the reference, or with others that have.
fn linked(
    fits: &HashMap<(u16, u16), Fit, RandomState>,
    reference: usize,
    clocks: usize,
) -> Vec<bool> {
    let mut linked = vec![false; clocks];
    let mut ready = vec![reference];
    while let Some(here) = ready.pop() {
        if std::mem::replace(&mut linked[here], true) {
            continue;
        }
        for &(first, second) in fits.keys() {
            let (first, second) = (usize::from(first), usize::from(second));
            if first == here {
                ready.push(second);
            } else if second == here {
                ready.push(first);
            }
        }
    }
    linked
}

/// Steps that are one, seen by several pairs: there is less than a window between them.
fn merged(mut steps: Vec<Step>, window: i64) -> Vec<Step> {
    steps.sort_unstable();
    let mut merged: Vec<Step> = Vec::new();
    for step in steps {
        match merged.last_mut() {
            Some(last) if step.from.saturating_sub(last.to) <= window => {
                last.to = last.to.max(step.to);
            }
            _ => merged.push(step),
        }
    }
    merged
}

impl Solved {
    /// All clocks in order of their hosts and times.
    pub(in super::super) fn rows(&self) -> Vec<ClockRow> {
        let mut rows = Vec::new();
        for (host, &rough) in self.rough.iter().enumerate() {
            let ahead = rough.saturating_sub(self.rough[self.reference]);
            let is_told = self.pieces.iter().any(Piece::is_told);
            for piece in &self.pieces {
                if is_told && !piece.is_told() {
                    continue;
                }
                let line = piece.lines[host];
                rows.push(ClockRow {
                    host: host as u16,
                    reference: self.reference as u16,
                    span: is_told.then(|| {
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

    /// How long a packet was under way that was sent and received at these times, each by the clock of its host.
    pub(in super::super) fn delay(
        &self,
        (sender, receiver): (u16, u16),
        sent: i64,
        arrived: i64,
    ) -> Delay {
        let sent = sent.saturating_sub(self.rough[usize::from(sender)]);
        let arrived = arrived.saturating_sub(self.rough[usize::from(receiver)]);
        // That of the pair's second point, by whose clock steps have their times.
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
            // It was sent or received while a clock was set: nobody knows by which clock.
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
    /// Whether there are packets or readings in it.
    fn is_told(&self) -> bool {
        self.from > i64::MIN
    }

    /// How far the difference of two clocks may be off.
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
