//! Steps of the points' clocks among the first packets of their captures, found from the packets that two points have
//! in common, whatever their times.
//!
//! `jumps` recognises a step in dense traffic, where the times of one capture jump. In sparse traffic a step looks like
//! a silence, or hides in one, and only the times at another point show it. Sparse captures have few packets, so their
//! steps are among the first ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A smaller step is left to the fit of the clocks: drift may cause it within the packets that are compared.
const LEAST_NS: i64 = 200_000_000;
/// A packet whose clocks differ by this much more or less than for most others has a wrong time.
const FAR_NS: u64 = 1_000_000_000;
/// Most packets on each side of a step that are compared. Fewer than half of them may have wrong times.
const NEARBY: usize = 32;
/// Fewest packets in each direction, before and after a step, that must agree.
const ENOUGH: usize = 3;
/// Most steps that are looked for between two points.
const MOST_STEPS: usize = 16;
/// How often all pairs are compared: a step of one clock shows between it and every other point.
const ROUNDS: usize = 4;

/// A packet that two points captured, with its time and its place in each of the two captures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub sent: (i64, u64),
    pub received: (i64, u64),
}

/// The clock is ahead by `ahead_ns` from packet `number` on, compared with the beginning of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub number: u64,
    pub ahead_ns: i64,
}

/// Times, by the clock of the second point of a pair, at which packets do not show how far the clocks differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ambiguity {
    pub pair: (u16, u16),
    pub from: i64,
    pub to: i64,
}

/// Returns how far the clock was put forward before this packet, in ns; negative if it was set back.
pub(super) fn ahead_at(steps: &[Step], number: u64) -> i64 {
    let after = steps.partition_point(|step| step.number <= number);
    after
        .checked_sub(1)
        .map_or(0, |place| steps[place].ahead_ns)
}

/// Returns the steps of each point's clock, in the order of packets. Where the packets cannot show which of two clocks
/// was set, one is chosen: the packets then meet all the same.
pub(super) fn find(points: usize, shared: &HashMap<(u16, u16), Vec<Shared>>) -> Vec<Vec<Step>> {
    let mut steps = vec![Vec::new(); points];
    let pairs = pairs_of(shared);
    for _ in 0..ROUNDS {
        let mut found = false;
        for &pair in &pairs {
            found |= add_steps(pair, shared, &mut steps);
        }
        if !found {
            break;
        }
    }
    steps
}

/// Returns the pairs of points that share packets, the lower number first.
fn pairs_of(shared: &HashMap<(u16, u16), Vec<Shared>>) -> BTreeSet<(u16, u16)> {
    let pairs = shared.keys();
    let pairs = pairs.map(|&(sender, receiver)| (sender.min(receiver), sender.max(receiver)));
    pairs.collect()
}

/// Returns which times of each pair do not show how far the clocks differ, because a step is there.
pub(super) fn ambiguities(
    steps: &[Vec<Step>],
    shared: &HashMap<(u16, u16), Vec<Shared>>,
) -> Vec<Ambiguity> {
    let unknown = vec![Vec::new(); steps.len()];
    let mut found = Vec::new();
    for pair in pairs_of(shared) {
        let points = [pair.0, pair.1].map(|point| &steps[usize::from(point)]);
        if points.iter().any(|steps| !steps.is_empty()) {
            let spans = Meetings::new(pair, shared, &unknown).spans(points);
            for (place, one) in spans.iter().enumerate() {
                let later = spans[place + 1..].iter().enumerate();
                found.extend(later.filter_map(|(skipped, other)| {
                    let (from, to) = between(*one, *other, skipped == 0)?;
                    Some(Ambiguity { pair, from, to })
                }));
            }
        }
    }
    found
}

/// Returns the times that two spans have in common, which a clock that was set back read twice; otherwise the time
/// between them, if one follows the other.
fn between(one: (i64, i64), other: (i64, i64), follows: bool) -> Option<(i64, i64)> {
    let (from, to) = (one.0.max(other.0), one.1.min(other.1));
    if from <= to {
        // Beyond the first and the last packet of these times.
        return Some((from.saturating_sub(1), to.saturating_add(1)));
    }
    follows.then_some((to, from))
}

/// Adds the steps between two points to those of one of them; returns whether there are any.
fn add_steps(
    pair: (u16, u16),
    shared: &HashMap<(u16, u16), Vec<Shared>>,
    steps: &mut [Vec<Step>],
) -> bool {
    let mut start = 0;
    for found in 0..MOST_STEPS {
        let mut met = Meetings::new(pair, shared, steps);
        let Some((place, ahead_ns)) = met.first_step(Clock::Other, start) else {
            return found > 0;
        };
        start = place.saturating_sub(NEARBY);
        let (point, step) = if met.goes_back(place, Clock::One, Clock::Other) {
            // The same step, in the order of the packets at the clock that was set.
            let number = met.number(place, Clock::One);
            let place = met.first_step(Clock::One, start).map(|(place, _)| place);
            let number = place.map_or(number, |place| met.number(place, Clock::One));
            let ahead_ns = ahead_ns.saturating_neg();
            (pair.0, Step { number, ahead_ns })
        } else {
            let number = met.number(place, Clock::Other);
            (pair.1, Step { number, ahead_ns })
        };
        insert(&mut steps[usize::from(point)], step);
    }
    true
}

/// Inserts a step, after which the clock is ahead by that much more.
fn insert(steps: &mut Vec<Step>, step: Step) {
    let place = steps.partition_point(|other| other.number < step.number);
    let before = place
        .checked_sub(1)
        .map_or(0, |place| steps[place].ahead_ns);
    for later in &mut steps[place..] {
        later.ahead_ns = later.ahead_ns.saturating_add(step.ahead_ns);
    }
    let ahead_ns = before.saturating_add(step.ahead_ns);
    steps.insert(place, Step { ahead_ns, ..step });
}

/// One of the two clocks of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    One,
    Other,
}

/// A shared packet at both points of a pair.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    /// Times, less the steps that are known.
    times: [i64; 2],
    numbers: [u64; 2],
    /// The second point received the packet.
    is_out: bool,
}

impl Meeting {
    /// Returns how far the second clock seems to be ahead: too far by the delay of a packet that it received, not far
    /// enough by that of one which it sent.
    fn ahead(&self) -> i64 {
        self.times[1].saturating_sub(self.times[0])
    }
}

/// The shared packets of a pair.
struct Meetings(Vec<Meeting>);

impl Meetings {
    fn new(
        (one, other): (u16, u16),
        shared: &HashMap<(u16, u16), Vec<Shared>>,
        steps: &[Vec<Step>],
    ) -> Self {
        let mut all = Vec::new();
        for is_out in [true, false] {
            let path = if is_out { (one, other) } else { (other, one) };
            for packet in shared.get(&path).into_iter().flatten() {
                let mut sides = [packet.sent, packet.received];
                if !is_out {
                    sides.reverse();
                }
                let points = [one, other].map(|point| &steps[usize::from(point)]);
                let time = |side: usize| {
                    let (time, number): (i64, u64) = sides[side];
                    time.saturating_sub(ahead_at(points[side], number))
                };
                all.push(Meeting {
                    times: [time(0), time(1)],
                    numbers: sides.map(|(_, number)| number),
                    is_out,
                });
            }
        }
        Self(all)
    }

    fn sort(&mut self, order: Clock) {
        let number = |meeting: &Meeting| meeting.numbers[order as usize];
        self.0.sort_unstable_by_key(number);
    }

    /// Returns the first and the last time by the second clock between each two steps of either clock.
    fn spans(&self, steps: [&Vec<Step>; 2]) -> Vec<(i64, i64)> {
        let mut parts: BTreeMap<[usize; 2], Vec<&Meeting>> = BTreeMap::new();
        for meeting in &self.0 {
            let part = [0, 1].map(|side: usize| {
                let number = meeting.numbers[side];
                steps[side].partition_point(|step| step.number <= number)
            });
            parts.entry(part).or_default().push(meeting);
        }
        let mut spans = Vec::new();
        for mut part in parts.into_values() {
            let middle = part.len() / 2;
            let (_, usual, _) = part.select_nth_unstable_by_key(middle, |meeting| meeting.ahead());
            let usual = usual.ahead();
            // Single packets may have wrong times.
            part.retain(|meeting| meeting.ahead().abs_diff(usual) <= FAR_NS);
            let times = part.iter().map(|meeting| meeting.times[1]);
            spans.extend(times.clone().min().zip(times.max()));
        }
        spans
    }

    /// Finds the first step from `start` on, in the order of one point's packets: its place, and how far the second
    /// clock was put forward relative to the first.
    fn first_step(&mut self, order: Clock, start: usize) -> Option<(usize, i64)> {
        self.sort(order);
        let all = &self.0;
        let ahead: Vec<i64> = all.iter().map(Meeting::ahead).collect();
        for place in start.max(1)..all.len() {
            if ahead[place].abs_diff(ahead[place - 1]) < LEAST_NS as u64 / 2 {
                continue;
            }
            let (first, end) = (place.saturating_sub(NEARBY), all.len().min(place + NEARBY));
            let sides = medians(&all[first..place]).zip(medians(&all[place..end]));
            let Some((before, after)) = sides else {
                continue;
            };
            // Whatever the delays are, the clock was set if no offset explains both.
            let gap = lower(after).saturating_sub(upper(before));
            let fall = lower(before).saturating_sub(upper(after));
            if gap > LEAST_NS || fall > LEAST_NS {
                let step = middle(after).saturating_sub(middle(before));
                return Some((first + divide(&all[first..end], before, after), step));
            }
        }
        None
    }

    /// Returns whether one clock's times go back where the other's do not.
    fn goes_back(&self, place: usize, clock: Clock, other: Clock) -> bool {
        let silence = |clock: Clock| {
            let time = |place: usize| self.0[place].times[clock as usize];
            time(place).saturating_sub(time(place.saturating_sub(1)))
        };
        silence(clock) < -LEAST_NS / 2 && silence(other) >= -LEAST_NS / 2
    }

    fn number(&self, place: usize, clock: Clock) -> u64 {
        self.0[place].numbers[clock as usize]
    }
}

/// How far the second clock seems to be ahead by packets that it sent, and by those that it received: at least and at
/// most that far, if their times are right.
type Medians = [i64; 2];

/// Returns the medians of some packets, as single ones may have wrong times; none if there are too few in a direction.
fn medians(meetings: &[Meeting]) -> Option<Medians> {
    let median = |is_out: bool| {
        let one_way = meetings.iter().filter(|meeting| meeting.is_out == is_out);
        let mut ahead: Vec<i64> = one_way.map(Meeting::ahead).collect();
        if ahead.len() < ENOUGH {
            return None;
        }
        let middle = ahead.len() / 2;
        Some(*ahead.select_nth_unstable(middle).1)
    };
    Some([median(false)?, median(true)?])
}

fn lower([sent, received]: Medians) -> i64 {
    sent.min(received)
}

fn upper([sent, received]: Medians) -> i64 {
    sent.max(received)
}

fn middle([sent, received]: Medians) -> i64 {
    sent.midpoint(received)
}

/// Returns the place, before the last, that divides packets best into those near `from` and those near `to`.
fn divide(meetings: &[Meeting], from: Medians, to: Medians) -> usize {
    let is_after = |meeting: &Meeting| {
        let way = usize::from(meeting.is_out);
        meeting.ahead().abs_diff(to[way]) < meeting.ahead().abs_diff(from[way])
    };
    let mut wrong = meetings.iter().filter(|meeting| !is_after(meeting)).count();
    let (mut best, mut fewest) = (0, wrong);
    for (place, pair) in meetings.windows(2).enumerate() {
        // The first of the two now counts as one before the step.
        wrong = if is_after(&pair[0]) {
            wrong + 1
        } else {
            wrong - 1
        };
        if wrong < fewest {
            (best, fewest) = (place + 1, wrong);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Returns exchanges a second apart, each of a packet and its answer 5 ms later; `ahead` is how far the clock of the
    /// second point is ahead by the number of the exchange.
    fn exchanges(count: u64, ahead: impl Fn(u64) -> i64) -> HashMap<(u16, u16), Vec<Shared>> {
        let mut shared: HashMap<(u16, u16), Vec<Shared>> = HashMap::new();
        for exchange in 0..count {
            let sent = exchange as i64 * SECOND;
            let there = sent + 5_000_000;
            let shown = there + ahead(exchange);
            let (first, second) = (2 * exchange + 1, 2 * exchange + 2);
            shared.entry((0, 1)).or_default().push(Shared {
                sent: (sent, first),
                received: (shown, first),
            });
            shared.entry((1, 0)).or_default().push(Shared {
                sent: (shown, second),
                received: (there + 5_000_000, second),
            });
        }
        shared
    }

    #[test]
    fn each_step_is_found_at_its_first_packet() {
        let set_back = -5 * SECOND;
        let shared = exchanges(100, |exchange| match exchange {
            0..40 => 0,
            40..80 => set_back,
            _ => SECOND / 2,
        });
        let found = find(2, &shared);
        let step = |number, ahead_ns| Step { number, ahead_ns };
        assert_eq!(found[1], [step(81, set_back), step(161, SECOND / 2)]);
        assert!(found[0].is_empty());
    }

    #[test]
    fn a_long_queue_is_no_step() {
        let mut shared = exchanges(100, |_| 0);
        for packet in &mut shared.get_mut(&(0, 1)).expect("packets")[50..] {
            packet.received.0 += 3 * SECOND;
        }
        assert_eq!(find(2, &shared), [vec![], vec![]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_times_give_ordered_steps(
            packets in prop::collection::vec((any::<i64>(), any::<i64>(), 0..3_u16, 0..3_u16), 0..300),
        ) {
            let mut shared: HashMap<(u16, u16), Vec<Shared>> = HashMap::new();
            for (number, &(sent, received, sender, receiver)) in packets.iter().enumerate() {
                if sender != receiver {
                    let number = number as u64 + 1;
                    let packet = Shared { sent: (sent, number), received: (received, number) };
                    shared.entry((sender, receiver)).or_default().push(packet);
                }
            }
            let found = find(3, &shared);
            for steps in &found {
                prop_assert!(steps.is_sorted_by_key(|step| step.number));
            }
            for ambiguity in ambiguities(&found, &shared) {
                prop_assert!(ambiguity.from <= ambiguity.to);
            }
        }
    }
}
