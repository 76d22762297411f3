//! Finds when one of two clocks was set: from then on, packets seem faster in one direction and slower by the same
//! amount in the other.

use super::fit::{FASTEST, Fit, Stretch, median};
use super::hull::Bottom;
use super::windows::Window;

/// Windows that are compared on each side of a step, and how many of them must have packets in each direction.
const CONTEXT: usize = 16;
const ENOUGH: usize = 6;
/// Smaller steps look like queueing, ns.
const LEAST: f64 = 20_000.0;

/// The time during which a clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub from: i64,
    pub to: i64,
}

/// Least differences of a window with the drift removed, for packets to the second point and to the first.
type Least = [Option<f64>; 2];

/// Returns all steps of a pair in order, with those already `known`. If the points share a clock, the only steps are
/// those that set it back.
pub(super) fn find(
    windows: &[Window],
    shift: u32,
    known: &[Step],
    is_one_clock: bool,
) -> Vec<Step> {
    let mut found = contradictions(windows, shift);
    if is_one_clock {
        return found;
    }
    found.extend(known);
    found.sort_unstable();
    found.dedup_by(|later, step| {
        let overlaps = later.from <= step.to;
        step.to = step.to.max(if overlaps { later.to } else { step.to });
        overlaps
    });
    let mut stretches = Vec::new();
    let mut from = i64::MIN;
    for step in &found {
        stretches.push((from, step.from));
        from = step.to;
    }
    stretches.push((from, i64::MAX));
    while let Some((from, to)) = stretches.pop() {
        let first = windows.partition_point(|window| window.number << shift < from);
        let last = windows.partition_point(|window| (window.number + 1) << shift <= to);
        let Some(inside) = windows.get(first..last) else {
            continue;
        };
        if let Some(step) = greatest(inside, shift) {
            found.push(step);
            stretches.extend([(from, step.from), (step.to, to)]);
        }
    }
    found.sort_unstable();
    found
}

/// Returns windows in which a round trip seems to take negative time: a clock that was set back read these times twice.
fn contradictions(windows: &[Window], shift: u32) -> Vec<Step> {
    let drift = (FASTEST * (1_i64 << shift) as f64) as i64;
    let is_negative = |out: &Window, back: &Window| {
        let least = |bottom: &Bottom| bottom.points().iter().map(|point| point.1).min();
        let round_trip = least(&out.out).zip(least(&back.back));
        round_trip.is_some_and(|(out, back)| out.saturating_add(back) < -drift)
    };
    // Ranges of windows. In sparse traffic some windows have packets of only one of the two times that were read.
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (place, window) in windows.iter().enumerate() {
        if is_negative(window, window) {
            match ranges.last_mut() {
                Some(latest) if place - latest.1 <= ENOUGH => latest.1 = place,
                _ => ranges.push((place, place)),
            }
        }
    }
    let is_divided = |place: usize| {
        let (Some(one), Some(other)) = (windows.get(place), windows.get(place + 1)) else {
            return false;
        };
        other.number - one.number <= 1 && (is_negative(one, other) || is_negative(other, one))
    };
    let mut found: Vec<Step> = Vec::new();
    for (mut first, mut last) in ranges {
        // An exchange at one of these times may be in the window before the other one's.
        while first >= 2 && is_divided(first - 2) {
            first -= 2;
        }
        while is_divided(last + 1) {
            last += 2;
        }
        // Neighbouring windows have some of these packets.
        let from = (windows[first].number - 1) << shift;
        let to = (windows[last].number + 2) << shift;
        match found.last_mut() {
            Some(latest) if from <= latest.to => latest.to = to,
            _ => found.push(Step { from, to }),
        }
    }
    found
}

/// Finds the greatest step, if there is one.
fn greatest(windows: &[Window], shift: u32) -> Option<Step> {
    let (first, last) = (windows.first()?, windows.last()?);
    let (from, to) = (first.number << shift, (last.number + 1) << shift);
    let fit = Fit::new(&Stretch::gather(windows, from, to))?;
    let height = |time: i64, difference: i64, sign: f64| {
        difference as f64 - sign * fit.slope * (time - fit.base) as f64
    };
    let lowest: Vec<Least> = windows
        .iter()
        .map(|window| {
            [(&window.out, 1.0), (&window.back, -1.0)].map(|(bottom, sign)| {
                let heights = bottom.points().iter().map(|&(at, by)| height(at, by, sign));
                heights.reduce(f64::min)
            })
        })
        .collect();
    // A step of the first point's clock appears at different times in the two directions, a round trip apart.
    let apart = fit.round_trip().unwrap_or_default().max(0.0) as i64 >> shift;
    let (_, left, right, levels) = [0, apart + 1]
        .iter()
        .find_map(|&apart| best(windows, &lowest, apart))?;
    let [before, after] = levels;
    // Positive if the second clock was put forward.
    let is_forward = after[0] > before[0];
    let mut evidence_before = from;
    let mut evidence_after = to;
    for window in &windows[left..right] {
        for (way, bottom, sign) in [(0, &window.out, 1.0), (1, &window.back, -1.0)] {
            let middle = f64::midpoint(before[way], after[way]);
            for &(at, by) in bottom.points() {
                if height(at, by, sign) >= middle {
                    continue;
                }
                // Points below the middle are from before the step in one direction, and from after it in the other.
                if (way == 0) == is_forward {
                    evidence_before = evidence_before.max(at);
                } else {
                    evidence_after = evidence_after.min(at);
                }
            }
        }
    }
    Some(Step {
        from: evidence_before.min(evidence_after),
        to: evidence_before.max(evidence_after),
    })
}

/// Finds the best place for a step: its size, the windows from the first that shows it to the end of those that do, and
/// the levels of both directions before and after. `apart`: windows between those before and those after.
fn best(
    windows: &[Window],
    least: &[Least],
    apart: i64,
) -> Option<(f64, usize, usize, [[f64; 2]; 2])> {
    let mut best: Option<(f64, usize, usize, [[f64; 2]; 2])> = None;
    for place in ENOUGH..windows.len() {
        let left = place.saturating_sub(CONTEXT);
        let begin = windows[place - 1].number + 1 + apart;
        let right = place + windows[place..].partition_point(|window| window.number < begin);
        let end = (right + CONTEXT).min(windows.len());
        let mut levels = [[0.0; 2]; 2];
        let mut jumps = [0.0; 2];
        let is_step = [0, 1].iter().all(|&way| {
            let mut sides = [&least[left..place], &least[right..end]].map(|side| {
                side.iter()
                    .filter_map(|least| least[way])
                    .collect::<Vec<f64>>()
            });
            if sides.iter().any(|side| side.len() < ENOUGH) {
                return false;
            }
            let mut off = Vec::new();
            for (side, level) in sides.iter_mut().zip(&mut levels) {
                level[way] = side.iter().copied().fold(f64::INFINITY, f64::min);
                let middle = median(side);
                off.extend(side.iter().map(|value| (value - middle).abs()));
            }
            jumps[way] = levels[1][way] - levels[0][way];
            jumps[way].abs() > LEAST.max(3.0 * median(&mut off))
        });
        let [out, back] = jumps;
        let (least_jump, most) = (out.abs().min(back.abs()), out.abs().max(back.abs()));
        let is_clock = is_step && out * back < 0.0 && (out + back).abs() < most / 2.0;
        if is_clock && best.is_none_or(|(jump, ..)| jump < least_jump) {
            best = Some((least_jump, left, end, levels));
        }
    }
    best
}
