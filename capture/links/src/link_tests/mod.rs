mod impairments;
mod members;

use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::codel::Targets;
use crate::jitter::Law;
use crate::line::Queue;

const NANOSECONDS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const NAMES: [&str; 2] = ["west", "east"];

fn parameters(rate_bit_s: u64, delay_ns: u64, queue_bytes: u64) -> Parameters {
    Parameters {
        delay_ns,
        line: LineParameters {
            rate_bit_s: NonZeroU64::new(rate_bit_s),
            queue: Queue {
                bytes: queue_bytes,
                packets: u64::MAX,
                codel: None,
            },
            overhead_bytes: 0,
            least_frame_bytes: 0,
        },
        jitter: None,
        reorder: false,
        loss: None,
        duplicate: 0.0,
        parallel: 1,
        hash: Policy::Layer34,
    }
}

/// What becomes of a frame, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Deliver { at_ns: u64 },
    Dropped(Reason),
}

/// Offers (arrival, bytes) in turn; returns each frame's fate, copies left out.
fn fates(parameters: Parameters, frames: &[(u64, u64)]) -> Vec<Fate> {
    let mut link = Direction::new(parameters, 1, NAMES);
    for (number, &(arrival_ns, bytes)) in frames.iter().enumerate() {
        link.offer(arrival_ns, bytes, number as u64, 0, number);
    }
    let mut fates = vec![None; frames.len()];
    while let Some(arrival) = link.take_due(u64::MAX) {
        if !arrival.copy {
            fates[arrival.item] = Some(Fate::Deliver {
                at_ns: arrival.deliver_ns,
            });
        }
    }
    for drop in link.take_dropped() {
        fates[drop.item] = Some(Fate::Dropped(drop.reason));
    }
    assert!(link.is_empty());
    fates
        .into_iter()
        .map(|fate| fate.expect("a fate"))
        .collect()
}

fn deliver_ns(fate: Fate) -> u64 {
    match fate {
        Fate::Deliver { at_ns } => at_ns,
        Fate::Dropped(reason) => panic!("dropped: {reason:?}"),
    }
}

fn arrivals(fates: &[Fate]) -> Vec<u64> {
    fates.iter().copied().map(deliver_ns).collect()
}

fn delivered(fates: &[Fate]) -> u64 {
    fates
        .iter()
        .filter(|fate| matches!(fate, Fate::Deliver { .. }))
        .count() as u64
}

#[test]
fn unlimited_link_only_delays() {
    let fates = fates(parameters(0, 150_000, 0), &[(1_000, 1_514), (1_000, 60)]);
    assert_eq!(arrivals(&fates), [151_000, 151_000]);
}

#[test]
fn frame_takes_its_bits_divided_by_the_rate() {
    let frames = [(0, 1_250), (0, 1_250), (1_000_000, 1_250)];
    let fates = fates(parameters(100_000_000, 5_000_000, 100_000), &frames);
    assert_eq!(arrivals(&fates), [5_100_000, 5_200_000, 6_100_000]);
}

#[test]
fn rate_has_no_rounding_drift_over_millions_of_frames() {
    // 7 bit/ns: no frame takes a whole number of nanoseconds.
    let rate = 7_000_000_000;
    let frames: Vec<_> = (0..3_000_000_u64)
        .map(|number| (0, 60 + number % 1_455))
        .collect();
    let bytes: u64 = frames.iter().map(|frame| frame.1).sum();
    let fates = fates(parameters(rate, 0, u64::MAX), &frames);
    let exact = u128::from(bytes) * 8 * u128::from(NANOSECONDS) / u128::from(rate);
    assert_eq!(u128::from(deliver_ns(fates[fates.len() - 1])), exact);
}

#[test]
fn twice_the_rate_is_halved_exactly() {
    // 1250-byte frames every 500 us: 20 Mbit/s offered.
    let frames: Vec<_> = (0..20_000)
        .map(|number| (number * 500_000, 1_250))
        .collect();
    let delivered = delivered(&fates(parameters(10_000_000, 0, 64 * 1_024), &frames));
    // 10 s at 10 Mbit/s are 10,000 frames; what still waits at the end fills the queue.
    let waiting = 64 * 1_024 / 1_250;
    assert!(
        (10_000..=10_000 + waiting + 1).contains(&delivered),
        "{delivered}"
    );
}

#[test]
fn drop_tail_keeps_the_wait_below_the_queue_divided_by_the_rate() {
    let mut frames = vec![(0, 1_000); 20];
    // One frame has left after 8 ms: room for one more.
    frames.extend([(8 * MS, 1_000); 2]);
    let fates = fates(parameters(1_000_000, 0, 10_000), &frames);
    assert_eq!(delivered(&fates[..20]), 10);
    assert_eq!(deliver_ns(fates[9]), 80 * MS);
    assert_eq!(deliver_ns(fates[20]), 88 * MS);
    assert_eq!(fates[21], Fate::Dropped(Reason::Queue));
}

#[test]
fn queue_in_packets_holds_so_many_whatever_their_size() {
    let mut settings = parameters(1_000_000, 0, u64::MAX);
    settings.line.queue.packets = 3;
    let mut frames = vec![(0, 1_000), (0, 60), (0, 9_000), (0, 60)];
    frames.push((8 * MS, 60));
    let fates = fates(settings, &frames);
    assert_eq!(fates[3], Fate::Dropped(Reason::Queue));
    assert_eq!(delivered(&fates), 4);
}

#[test]
fn idle_link_takes_a_frame_larger_than_its_queue() {
    let frames = [(0, 1_000), (1, 1_000), (8 * MS, 1_000)];
    let fates = fates(parameters(1_000_000, 0, 100), &frames);
    assert_eq!(deliver_ns(fates[0]), 8 * MS);
    assert_eq!(fates[1], Fate::Dropped(Reason::Queue));
    assert_eq!(deliver_ns(fates[2]), 16 * MS);
}

#[test]
fn overhead_and_least_size_count_on_the_line() {
    let mut settings = parameters(8_000_000_000, 0, 1_000);
    settings.line.overhead_bytes = 24;
    settings.line.least_frame_bytes = 60;
    assert_eq!(arrivals(&fates(settings, &[(0, 60)])), [84]);
    assert_eq!(arrivals(&fates(settings, &[(0, 42)])), [84]);
}

#[test]
fn slowest_rate_does_not_overflow() {
    let fates = fates(parameters(1, 0, u64::from(u32::MAX)), &[(0, 65_535)]);
    assert_eq!(deliver_ns(fates[0]), 65_535 * 8 * NANOSECONDS);
}

#[test]
fn codel_holds_the_delay_of_a_greedy_sender_near_its_target() {
    let mut settings = parameters(10_000_000, 0, 10_000_000);
    // 10.5 Mbit/s into 10 Mbit/s for 47.6 s: drop-tail lets the delay grow to 2.4 s.
    let frames: Vec<_> = (0..50_000)
        .map(|number| (number * 952_381, 1_250))
        .collect();
    let worst = |fates: &[Fate]| {
        let late = fates.iter().zip(&frames).skip(10_000);
        late.filter_map(|(fate, frame)| match fate {
            Fate::Deliver { at_ns } => Some(at_ns - frame.0),
            Fate::Dropped(_) => None,
        })
        .max()
        .expect("some arrive")
    };
    assert!(worst(&fates(settings, &frames)) > 2_200 * MS);
    settings.line.queue.codel = Some(Targets {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
    });
    let fates = fates(settings, &frames);
    let worst = worst(&fates);
    assert!(worst < 100 * MS, "{worst}");
    assert!(fates.contains(&Fate::Dropped(Reason::Codel)));
    // The line is never idle for it.
    let sent = delivered(&fates);
    assert!((47_550..=47_650).contains(&sent), "{sent}");
}

prop_compose! {
    fn any_parameters()(
        (rate, delay, queue, packets) in (1_000_u64..20_000_000_000, 0_u64..100_000_000, 0_u64..1_000_000, 1_u64..500),
        (std_ns, law, reorder) in (0.0..1e7, prop::sample::select(vec![Law::Uniform, Law::Normal, Law::Pareto]), any::<bool>()),
        (loss, p, r) in (0.0..0.5, 0.0..1.0, 0.0..1.0),
        (burst, codel, duplicate, parallel) in (any::<bool>(), any::<bool>(), 0.0..0.5, 1_usize..4),
    ) -> Parameters {
        let mut settings = parameters(rate, delay, queue);
        settings.line.queue.packets = packets;
        settings.line.queue.codel = codel.then_some(Targets { target_ns: MS, interval_ns: 10 * MS });
        settings.jitter = Some(Jitter { std_ns, law });
        settings.loss = Some(if burst { Loss::GilbertElliott { p, r, good: loss / 10.0, bad: loss } } else { Loss::Independent { rate: loss } });
        Parameters { reorder, duplicate, parallel, ..settings }
    }
}

proptest! {
    #[test]
    fn fate_is_deterministic_in_order_and_never_faster_than_the_link(
        rate in 1_000_u64..20_000_000_000,
        delay in 0_u64..100_000_000,
        queue in 0_u64..1_000_000,
        gaps in prop::collection::vec((0_u64..2_000_000, 14_u64..9_018), 1..300),
    ) {
        let mut arrival = 0;
        let frames: Vec<_> = gaps.into_iter().map(|(gap, size)| { arrival += gap; (arrival, size) }).collect();
        let fates = fates(parameters(rate, delay, queue), &frames);
        let (mut first, mut last, mut bytes) = (None, 0, 0);
        for (fate, &(arrival, size)) in fates.iter().zip(&frames) {
            if let Fate::Deliver { at_ns } = *fate {
                let alone = (size * 8 * NANOSECONDS) / rate;
                prop_assert!(at_ns >= arrival + delay + alone);
                prop_assert!(at_ns >= last);
                // Wait and transmission together never exceed the queue (or the frame itself).
                let bound = (u128::from(queue.max(size)) * 8 * u128::from(NANOSECONDS)).div_ceil(u128::from(rate));
                prop_assert!(u128::from(at_ns - arrival - delay) <= bound);
                first.get_or_insert(arrival);
                bytes += size;
                last = at_ns;
            }
        }
        if let Some(first) = first {
            let least = u128::from(bytes) * 8 * u128::from(NANOSECONDS) / u128::from(rate);
            prop_assert!(u128::from(last - delay - first) >= least.saturating_sub(1));
        }
    }

    /// A caller that always looks when `next_ns` says gets each frame when it is due, also of a burst with silence
    /// after it: no frame waits behind one that is due later.
    #[test]
    fn no_frame_is_late_for_who_looks_in_time(
        mut settings in any_parameters(),
        rate in 1_000_000_u64..1_000_000_000,
        gaps in prop::collection::vec((prop::sample::select(vec![0, 0, 0, 1_000, 40 * MS]), 14_u64..9_018, any::<u32>()), 1..100),
    ) {
        settings.line.rate_bit_s = NonZeroU64::new(rate);
        settings.line.queue.bytes = 1_000_000;
        let (mut link, mut arrival) = (Direction::new(settings, 7, NAMES), 0);
        let mut offered = gaps.iter().zip(0..).map(|(&(gap, size, flow), number)| { arrival += gap; (arrival, size, number, flow) }).peekable();
        while let Some(now) = [offered.peek().map(|frame| frame.0), link.next_ns()].into_iter().flatten().min() {
            if let Some((at, size, number, flow)) = offered.next_if(|frame| frame.0 == now) {
                link.offer(at, size, number, flow, number);
            }
            while let Some(due) = link.take_due(now) {
                prop_assert_eq!(due.deliver_ns, now);
            }
        }
    }

    /// Every frame has one fate, which stays the same whatever the settings are and however often a caller asks for it.
    #[test]
    fn every_frame_has_one_fate_whenever_it_is_asked_for(
        settings in any_parameters(),
        changed in any_parameters(),
        gaps in prop::collection::vec((0_u64..2_000_000, 14_u64..9_018, any::<u32>()), 1..200),
    ) {
        let run = |eager: bool| {
            let mut link = Direction::new(settings, 7, NAMES);
            let (mut arrival, mut fates) = (0, Vec::new());
            for (number, &(gap, size, flow)) in gaps.iter().enumerate() {
                arrival += gap;
                if number == gaps.len() / 2 {
                    link.set(changed, arrival);
                }
                link.offer(arrival, size, number as u64, flow, number);
                while let Some(next) = eager.then(|| link.take_due(arrival)).flatten() {
                    fates.push((next.item, next.copy, Fate::Deliver { at_ns: next.deliver_ns }));
                }
            }
            while let Some(next) = link.take_due(u64::MAX) {
                fates.push((next.item, next.copy, Fate::Deliver { at_ns: next.deliver_ns }));
            }
            fates.extend(link.take_dropped().map(|drop| (drop.item, false, Fate::Dropped(drop.reason))));
            assert!(link.is_empty() && link.next_ns().is_none());
            fates.sort_by_key(|fate| (fate.0, fate.1));
            fates
        };
        let fates = run(false);
        let first: Vec<_> = fates.iter().filter(|fate| !fate.1).map(|fate| fate.0).collect();
        prop_assert_eq!(first, (0..gaps.len()).collect::<Vec<_>>());
        for copy in fates.iter().filter(|fate| fate.1) {
            prop_assert!(fates.contains(&(copy.0, false, copy.2)));
        }
        prop_assert_eq!(run(true), fates);
    }
}
