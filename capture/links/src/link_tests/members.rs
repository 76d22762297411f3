//! Parallel links, and changes of them.

use super::*;

#[test]
fn parallel_links_double_the_rate_and_keep_each_flow_in_order() {
    let mut settings = parameters(1_000_000, 0, u64::MAX);
    settings.parallel = 2;
    let mut link = Direction::new(settings, 1, NAMES);
    for number in 0..100 {
        link.offer(0, 1_250, number, number as u32, number);
    }
    let mut members = [0; 2];
    let mut last = 0;
    while let Some(arrival) = link.take_due(u64::MAX) {
        assert_eq!(arrival.member as u64, arrival.item % 2);
        members[arrival.member] += 1;
        last = arrival.deliver_ns;
    }
    assert_eq!(members, [50, 50]);
    assert_eq!(last, 500 * MS);
}

#[test]
fn change_acts_on_frames_that_have_not_started_and_a_member_can_be_added() {
    let mut settings = parameters(1_000_000, 0, u64::MAX);
    let mut link = Direction::new(settings, 1, NAMES);
    for number in 0..4 {
        link.offer(0, 1_250, number, number as u32, number);
    }
    // The first frame is half sent; three wait.
    settings.line.rate_bit_s = NonZeroU64::new(10_000_000);
    settings.parallel = 2;
    link.set(settings, 5 * MS);
    link.offer(5 * MS, 1_250, 4, 1, 4);
    let mut found = Vec::new();
    while let Some(arrival) = link.take_due(u64::MAX) {
        found.push((arrival.item, arrival.member, arrival.deliver_ns / MS));
    }
    assert_eq!(
        found,
        [(4, 1, 6), (0, 0, 10), (1, 0, 11), (2, 0, 12), (3, 0, 13)]
    );
}

#[test]
fn member_taken_away_sends_what_it_holds() {
    let mut settings = parameters(1_000_000, 0, u64::MAX);
    settings.parallel = 2;
    let mut link = Direction::new(settings, 1, NAMES);
    link.offer(0, 1_250, 0, 1, 0);
    link.offer(0, 1_250, 1, 1, 1);
    settings.parallel = 1;
    link.set(settings, MS);
    link.offer(MS, 1_250, 2, 1, 2);
    let mut members = Vec::new();
    while let Some(arrival) = link.take_due(u64::MAX) {
        members.push(arrival.member);
    }
    assert_eq!(members, [1, 0, 1]);
}
