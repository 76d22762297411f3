//! Reads the captures of all points in one order of time, two or three times, and writes the fates of all packets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

use super::ahead::Ahead;
use super::clocks::{Clocks, Reading as ClockReading, Solved};
use super::fate::{Evidence, Fate, FateRow};
use super::first::First;
use super::matcher::{Coverage, Doubt, Findings, Known, Limits, Matcher};
use super::nat;
use super::offsets::{self, Rough};
use super::owners::Owners;
use super::point::{Point, PointReader};
use super::second::{Second, Tables};
use super::sighting::{Recognition, Sighting};
use super::summary::{ClockFound, Counts, MatchSummary, TranslationFound};
use super::translation::Translation;
use super::window::Side;
use crate::common::error::Error;
use crate::common::progress::Progress;

/// Packets between two checks for a request to stop.
const LOOK_EVERY: u64 = 1 << 12;
/// Most sightings that may wait at once: about 350 bytes each.
const MOST_WAITING: usize = 1 << 24;

/// How packets are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchOptions {
    /// How long a packet waits for its other sighting, in ns: longer than any delay.
    pub window_ns: i64,
    /// Most sightings that wait at once.
    pub window_packets: usize,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self {
            window_ns: 2_000_000_000,
            window_packets: 1 << 20,
        }
    }
}

impl MatchOptions {
    /// Fails if an option has no meaning.
    pub fn check(&self) -> Result<(), Error> {
        if self.window_ns <= 0 {
            return Err(Error::Option {
                option: "window",
                found: format!("{} ns", self.window_ns),
                expected: "a time above 0, such as 2s",
            });
        }
        if !(1..=MOST_WAITING).contains(&self.window_packets) {
            return Err(Error::Option {
                option: "window-packets",
                found: self.window_packets.to_string(),
                expected: "a number of packets from 1 to 16,777,216",
            });
        }
        Ok(())
    }
}

/// Matches the captures of `points`, and writes the results to `tables`.
pub(crate) fn match_points(
    points: &[Point],
    readings: &[ClockReading],
    options: &MatchOptions,
    tables: &mut dyn Tables,
    progress: &Progress,
) -> Result<MatchSummary, Error> {
    options.check()?;
    let owners = Owners::new(points);
    let mut recognition = Recognition::default();
    let translations = nat::find_translations(points, &owners, &mut recognition, progress)?;
    let reading = Reading {
        points,
        translations: &translations,
        owners: &owners,
        recognition: &recognition,
        rough: offsets::rough(points, &translations, &owners, &recognition, progress)?,
        limits: Limits {
            window_ns: options.window_ns,
            window_packets: options.window_packets,
        },
        progress,
    };
    let (clocks, known) = reading.find_clocks(readings)?;
    let names: Vec<String> = points.iter().map(|point| point.name.clone()).collect();
    let rows = clocks.rows();
    tables.clocks(&rows, &names)?;
    let (counts, ends) = reading.find_fates(known, &clocks, &names, tables)?;
    let (paths, outside) = counts.finish(&names);
    let by_host = |counts: Vec<u64>| names.iter().cloned().zip(counts).collect();
    Ok(MatchSummary {
        records: by_host(ends.records),
        without_ip: by_host(ends.without_ip),
        paths,
        translations: TranslationFound::all(&translations, &names),
        clocks: rows
            .iter()
            .map(|row| ClockFound::new(row, &names))
            .collect(),
        outside,
        out_of_order: name_flagged(&names, &ends.out_of_order),
        damage: ends.damage.into_iter().flatten().collect(),
    })
}

/// Returns the names of the points whose flag is set.
fn name_flagged(names: &[String], flags: &[bool]) -> Vec<String> {
    let flagged = names.iter().zip(flags).filter(|(_, flag)| **flag);
    flagged.map(|(name, _)| name.clone()).collect()
}

/// The results of the readers of all points.
#[derive(Default)]
struct Ends {
    records: Vec<u64>,
    without_ip: Vec<u64>,
    damage: Vec<Vec<crate::common::error::Damage>>,
    has_drops: Vec<bool>,
    out_of_order: Vec<bool>,
    /// How far each clock was put forward in all.
    put_forward: Vec<i64>,
}

impl Ends {
    /// Returns whether packets of a point may be missing: its files are damaged, state that packets were dropped, or
    /// have packets so late that they do not meet those of other captures.
    fn lacks_packets(&self, point: usize) -> bool {
        self.has_drops[point] || self.out_of_order[point] || !self.damage[point].is_empty()
    }
}

struct Reading<'a> {
    points: &'a [Point],
    translations: &'a [Translation],
    owners: &'a Owners,
    recognition: &'a Recognition,
    rough: Rough,
    limits: Limits,
    progress: &'a Progress,
}

impl Reading<'_> {
    /// Converts a time of a point's clock to common time.
    fn common(&self, point: usize, time: i64) -> i64 {
        time.saturating_sub(self.rough.offsets[point])
    }

    /// Reads all points for the clocks, and again if interfaces cut or merged segments; also returns what is then known
    /// about the captures.
    fn find_clocks(&self, readings: &[ClockReading]) -> Result<(Solved, Known), Error> {
        let mut first = self.begin(readings);
        let (mut known, mut ends) = self.pass(self.unread(HashMap::new()), &mut first)?;
        let resegmented = first.resegmented();
        if !resegmented.is_empty() {
            first = self.begin(readings);
            (known, ends) = self.pass(self.unread(resegmented), &mut first)?;
        }
        first.add_unmatched(&mut known.doubts);
        known.divided = first.divided();
        known.fragmented = first.fragmented();
        self.complete_coverage(&mut known, &first, &ends);
        let kernels: Vec<Option<usize>> = self.points.iter().map(|point| point.kernel).collect();
        Ok((first.clocks.solve(&kernels), known))
    }

    fn begin(&self, readings: &[ClockReading]) -> First {
        let mut clocks = Clocks::new(&self.rough);
        for reading in readings {
            clocks.read(reading);
        }
        First::new(clocks, self.points.len())
    }

    /// Returns the knowledge before a reading: only `doubts`.
    fn unread(&self, doubts: HashMap<(u16, u16), Doubt>) -> Known {
        Known {
            coverage: vec![Coverage::default(); self.points.len()],
            doubts,
            divided: HashSet::new(),
            fragmented: BTreeMap::new(),
        }
    }

    /// Adds what the first reading showed about the captures: whether they are complete, and the delays of packets.
    fn complete_coverage(&self, known: &mut Known, first: &First, ends: &Ends) {
        let lacks = first.lacks(&known.doubts);
        for (number, (point, coverage)) in self.points.iter().zip(&mut known.coverage).enumerate() {
            coverage.is_out_of_order = ends.out_of_order[number];
            coverage.is_incomplete =
                point.dropped > 0 || lacks.contains(&number) || ends.lacks_packets(number);
            (coverage.shortest_ns, coverage.longest_ns) = first.delays[number].unwrap_or_default();
            if let Some((from, to)) = point.span {
                // The capture also covers the time before its first packet and after its last one.
                coverage.see(self.common(number, from));
                let to = to.saturating_sub(ends.put_forward[number]);
                coverage.see(self.common(number, to));
            }
        }
    }

    /// Reads all points once more for the fates of their packets, and writes these to `tables`.
    fn find_fates(
        &self,
        known: Known,
        clocks: &Solved,
        names: &[String],
        tables: &mut dyn Tables,
    ) -> Result<(Counts, Ends), Error> {
        let mut second = Second::new(names, clocks, tables);
        let (_, ends) = self.pass(known, &mut second)?;
        Ok((second.finish()?, ends))
    }

    /// Reads all points once.
    fn pass(&self, known: Known, findings: &mut impl Findings) -> Result<(Known, Ends), Error> {
        let mut matcher = Matcher::new(self.limits, known);
        let mut ahead = Vec::with_capacity(self.points.len());
        let clocked = self.translations.iter().zip(&self.rough.steps);
        for (point, (translation, steps)) in self.points.iter().zip(clocked) {
            let reader = PointReader::new(point, translation, self.progress)?;
            ahead.push(Ahead::new(reader, steps, self.recognition, &matcher)?);
        }
        let mut next: Vec<Option<i64>> = vec![None; ahead.len()];
        for point in 0..ahead.len() {
            next[point] = self.see_next(point, &ahead[point], &mut matcher);
        }
        let mut taken: u64 = 0;
        while let Some(point) = earliest(&next) {
            let turn = next[point].unwrap_or_default();
            if ahead[point].is_held() {
                let others = next.iter().enumerate().filter(|&(other, _)| other != point);
                let others = others.filter_map(|(_, time)| *time).min();
                let offset = self.rough.offsets[point];
                ahead[point].wait_or_give_up(others.map(|time| time.saturating_add(offset)));
                next[point] = self.see_next(point, &ahead[point], &mut matcher);
                continue;
            }
            let Some(packet) = ahead[point].take(self.recognition, &matcher)? else {
                break;
            };
            let ends = self.owners.ends(&packet);
            match Owners::path(ends, point as u16) {
                Some((path, side)) => {
                    let has_wrong_time = turn != self.common(point, ahead[point].time(&packet));
                    let other = usize::from(if side == Side::Sent { path.1 } else { path.0 });
                    let offset = self.rough.offsets[other];
                    if !has_wrong_time && ahead[other].compare(&packet, side, turn, offset) {
                        next[other] = self.see_next(other, &ahead[other], &mut matcher);
                    }
                    matcher.take(packet, (turn, has_wrong_time), path, side, findings);
                }
                None => findings.fate(&outside(packet, ends, point as u16)),
            }
            next[point] = self.see_next(point, &ahead[point], &mut matcher);
            taken += 1;
            if taken.is_multiple_of(LOOK_EVERY) {
                self.progress.go_on()?;
                self.progress.packets.store(taken, Relaxed);
                findings.check()?;
            }
        }
        matcher.finish(findings);
        let mut ends = Ends::default();
        for ahead in ahead {
            ends.put_forward.push(ahead.put_forward());
            ends.out_of_order.push(ahead.is_out_of_order);
            let reader = ahead.reader;
            ends.records.push(reader.records);
            ends.without_ip.push(reader.without_ip);
            ends.damage.push(reader.damage);
            ends.has_drops.push(reader.has_drops);
        }
        Ok((matcher.known, ends))
    }

    /// Returns the common time at which the next packet of `point` is read, and notes that its capture covers that
    /// time.
    fn see_next(&self, point: usize, ahead: &Ahead<'_>, matcher: &mut Matcher) -> Option<i64> {
        let common_time = self.common(point, ahead.turn()?);
        if !ahead.is_held() {
            matcher.known.coverage[point].see(common_time);
        }
        Some(common_time)
    }
}

/// Returns the point with the earliest next packet; among equally early ones the first.
fn earliest(next: &[Option<i64>]) -> Option<usize> {
    let times = next.iter().enumerate();
    let times = times.filter_map(|(point, time)| time.map(|time| (time, point)));
    times.min().map(|(_, point)| point)
}

/// Returns the row of a packet that is not on a path between two points.
fn outside(
    packet: Sighting,
    (sender, receiver): (Option<u16>, Option<u16>),
    point: u16,
) -> FateRow {
    let here = Some((packet.time, packet.number));
    let is_sent = sender == Some(point);
    FateRow {
        sender,
        receiver,
        packet,
        sent: here.filter(|_| is_sent),
        received: here.filter(|_| !is_sent),
        is_retransmission: None,
        fate: Fate::Outside,
        evidence: Evidence::NoCapture,
        lost_bytes: None,
        reordered_by: None,
        has_wrong_time: false,
    }
}
