//! Rough offsets and steps of the points' clocks, from the first packets that they have in common: sufficient to read
//! the captures in one order.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::early_steps::{self, Ambiguity, Shared, Step, ahead_at};
use super::owners::Owners;
use super::point::{LOOKED_AT, Point, PointReader};
use super::sighting::Recognition;
use super::translation::Translation;
use super::window::Side;
use crate::common::error::Error;
use crate::common::progress::Progress;

/// The assumed delay of the fastest packet if packets went in one direction only.
const ONE_WAY_NS: i64 = 1_000;

/// A delay that is this much shorter than most belongs to a packet with a wrong time.
const FAR_NS: i64 = 5_000_000_000;

/// How many packets of a path are used: a clock may have been set later.
const FIRST: usize = 64;

/// The two sightings of a packet.
#[derive(Default)]
struct Seen {
    /// The time of the packet, and its place in the capture.
    sent: Option<(i64, u64)>,
    received: Option<(i64, u64)>,
    again: bool,
}

/// The points' clocks, compared with the first one.
#[derive(Debug, Default)]
pub(super) struct Rough {
    /// How far each is ahead when its capture begins, in ns; 0 if it has no packet in common with others.
    pub offsets: Vec<i64>,
    /// How each was set among the first packets of its capture.
    pub steps: Vec<Vec<Step>>,
    /// Times of each pair of clocks that a step leaves unclear.
    pub ambiguities: Vec<Ambiguity>,
}

/// Finds the rough offsets and the steps of all clocks.
pub(super) fn rough(
    points: &[Point],
    translations: &[Translation],
    owners: &Owners,
    recognition: &Recognition,
    progress: &Progress,
) -> Result<Rough, Error> {
    let mut seen: HashMap<(u64, (u16, u16)), Seen, RandomState> = HashMap::default();
    for (number, (point, translation)) in points.iter().zip(translations).enumerate() {
        let mut reader = PointReader::new(point, translation, progress)?;
        for _ in 0..LOOKED_AT {
            let Some(packet) = reader.next(recognition)? else {
                break;
            };
            let Some((path, side)) = Owners::path(owners.ends(&packet), number as u16) else {
                continue;
            };
            let entry = seen.entry((packet.key, path)).or_default();
            let slot = match side {
                Side::Sent => &mut entry.sent,
                Side::Received => &mut entry.received,
            };
            entry.again |= slot.replace((packet.time, packet.number)).is_some();
        }
    }
    let mut shared: HashMap<(u16, u16), Vec<Shared>> = HashMap::new();
    for ((_, path), seen) in seen {
        if let (Some(sent), Some(received), false) = (seen.sent, seen.received, seen.again) {
            shared
                .entry(path)
                .or_default()
                .push(Shared { sent, received });
        }
    }
    let steps = early_steps::find(points.len(), &shared);
    let least = shared.iter().map(|(&path, packets)| {
        let time = |(time, number): (i64, u64), point: u16| {
            time.saturating_sub(ahead_at(&steps[usize::from(point)], number))
        };
        let delays = packets.iter().map(|packet| {
            let received = time(packet.received, path.1);
            let delay = received.saturating_sub(time(packet.sent, path.0));
            (packet.sent.1, delay)
        });
        (path, shortest(delays.collect()))
    });
    let offsets = chained(points.len(), &least.collect());
    let ambiguities = early_steps::ambiguities(&steps, &shared);
    Ok(Rough {
        offsets,
        steps,
        ambiguities,
    })
}

/// Returns the least of the first clock differences of a path. `delays` contains the place and the difference of each
/// packet, at least one. Ignores differences far below most others, because single packets may have wrong times.
fn shortest(mut delays: Vec<(u64, i64)>) -> i64 {
    delays.sort_unstable();
    let mut delays: Vec<i64> = delays
        .into_iter()
        .take(FIRST)
        .map(|(_, delay)| delay)
        .collect();
    let middle = delays.len() / 2;
    let (below, &mut median, _) = delays.select_nth_unstable(middle);
    let usual = below
        .iter()
        .filter(|&&delay| delay >= median.saturating_sub(FAR_NS));
    usual.fold(median, |least, &delay| least.min(delay))
}

/// Returns offsets from the least clock differences on each path, starting from the first point.
fn chained(points: usize, least: &HashMap<(u16, u16), i64>) -> Vec<i64> {
    let mut known: Vec<Option<i64>> = vec![None; points];
    for start in 0..points {
        let base = *known[start].get_or_insert(0);
        let mut ready = vec![(start, base)];
        while let Some((here, offset)) = ready.pop() {
            for (there, known) in known.iter_mut().enumerate() {
                let ways = (
                    least.get(&(here as u16, there as u16)),
                    least.get(&(there as u16, here as u16)),
                );
                let step = match ways {
                    (Some(&out), Some(&back)) => out.midpoint(back.saturating_neg()),
                    (Some(&out), None) => out.saturating_sub(ONE_WAY_NS),
                    (None, Some(&back)) => ONE_WAY_NS.saturating_sub(back),
                    (None, None) => continue,
                };
                if known.is_none() {
                    let offset = offset.saturating_add(step);
                    *known = Some(offset);
                    ready.push((there, offset));
                }
            }
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}
