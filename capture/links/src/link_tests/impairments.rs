//! Jitter, loss and copies.

use super::*;

#[test]
fn jitter_of_frames_far_apart_has_the_asked_deviation_and_order_costs_nothing() {
    for law in [Law::Uniform, Law::Normal, Law::Pareto] {
        let mut settings = parameters(0, 20 * MS, 0);
        settings.jitter = Some(Jitter { std_ns: 1e6, law });
        let frames: Vec<_> = (0..20_000).map(|number| (number * 20 * MS, 100)).collect();
        let found = arrivals(&fates(settings, &frames));
        let delays: Vec<f64> = found
            .iter()
            .zip(&frames)
            .map(|(at, frame)| (at - frame.0) as f64)
            .collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / delays.len() as f64;
        assert!((mean / 20e6 - 1.0).abs() < 0.01, "{law:?} {mean}");
        assert!(
            (variance.sqrt() / 1e6 - 1.0).abs() < 0.03,
            "{law:?} {variance}"
        );
    }
}

#[test]
fn order_is_kept_unless_reordering_is_asked_for() {
    let mut settings = parameters(0, 5 * MS, 0);
    settings.jitter = Some(Jitter {
        std_ns: 1e6,
        law: Law::Normal,
    });
    let frames: Vec<_> = (0..5_000).map(|number| (number * 10_000, 100)).collect();
    let kept = arrivals(&fates(settings, &frames));
    assert!(kept.is_sorted());
    settings.reorder = true;
    let free = arrivals(&fates(settings, &frames));
    assert!(!free.is_sorted());
    // A frame never arrives earlier for keeping the order.
    assert!(kept.iter().zip(&free).all(|(kept, free)| kept >= free));
}

#[test]
fn delay_below_zero_is_zero_and_counted() {
    let mut settings = parameters(0, 1_000, 0);
    settings.reorder = true;
    settings.jitter = Some(Jitter {
        std_ns: 1e6,
        law: Law::Normal,
    });
    let mut link = Direction::new(settings, 1, NAMES);
    for number in 0..1_000 {
        link.offer(number, 100, number, 0, number);
    }
    while let Some(arrival) = link.take_due(u64::MAX) {
        assert!(arrival.deliver_ns >= arrival.item);
    }
    assert!(
        (400..600).contains(&link.jitter_clipped),
        "{}",
        link.jitter_clipped
    );
}

#[test]
fn lost_frames_use_the_line_and_a_full_queue_does_not_shift_the_losses() {
    let mut settings = parameters(1_000_000, 0, 2_000);
    settings.loss = Some(Loss::Independent { rate: 0.3 });
    let slow: Vec<_> = (0..1_000).map(|number| (number * 8 * MS, 1_000)).collect();
    let fast: Vec<_> = (0..1_000).map(|number| (number * 4 * MS, 1_000)).collect();
    let (slow, fast) = (fates(settings, &slow), fates(settings, &fast));
    assert!(delivered(&slow) < 750);
    for (slow, fast) in slow.iter().zip(&fast) {
        match fast {
            Fate::Dropped(Reason::Queue) => {}
            Fate::Dropped(reason) => assert_eq!(*slow, Fate::Dropped(*reason)),
            Fate::Deliver { .. } => assert!(matches!(slow, Fate::Deliver { .. })),
        }
    }
}

#[test]
fn duplicates_follow_their_frames() {
    let mut settings = parameters(0, MS, 0);
    settings.duplicate = 0.1;
    let mut link = Direction::new(settings, 1, NAMES);
    for number in 0..10_000_u64 {
        link.offer(number, 100, number, 0, number);
    }
    let (mut copies, mut last) = (0_u64, None);
    while let Some(arrival) = link.take_due(u64::MAX) {
        if arrival.copy {
            copies += 1;
            assert_eq!(last, Some((arrival.item, arrival.deliver_ns)));
        }
        last = Some((arrival.item, arrival.deliver_ns));
    }
    // 1000 expected, standard deviation 30.
    assert!((1_000_i64 - copies as i64).abs() < 78, "{copies}");
}
