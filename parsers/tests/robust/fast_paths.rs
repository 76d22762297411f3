//! The tables do not depend on the fast paths, each of which can be switched off.

use flowsweep_parsers::{FastPaths, Options, Table};
use proptest::prelude::*;

use crate::{capture, segment, tables};

/// A step of one of two hosts: direction, flags, bytes, offset of the sequence number, whether it acknowledges one
/// segment less, repetitions, and the wait before it.
type Step = (bool, u8, u16, i32, bool, u8, u64);

fn step() -> impl Strategy<Value = Step> {
    let flags = prop_oneof![12 => Just(0x10_u8), 4 => Just(0x18), 1 => Just(0x02), 1 => Just(0x12), 1 => Just(0x11), 1 => any::<u8>()];
    let bytes = prop_oneof![2 => Just(0_u16), 4 => Just(1448), 1 => Just(1), 1 => 0_u16..2000];
    let off = prop_oneof![12 => Just(0), 1 => Just(-1448), 1 => Just(1448), 1 => -3000..3000_i32];
    let wait = prop_oneof![4 => 0_u64..50_000, 2 => 0_u64..40_000_000, 1 => 0_u64..1_000_000_000];
    let times = prop_oneof![3 => Just(1_u8), 1 => 2_u8..20];
    (
        any::<bool>(),
        flags,
        bytes,
        off,
        prop::bool::weighted(0.1),
        times,
        wait,
    )
}

/// How many ns earlier than its place in the file a packet's time is.
fn lateness() -> impl Strategy<Value = u64> {
    prop_oneof![12 => Just(0_u64), 1 => 0..20_000_u64, 1 => 0..2_000_000_000_u64]
}

/// Returns a capture of two hosts that take the steps, on one of several ports; the last packet of each step is late.
fn history(steps: &[(Step, u8, u64)]) -> Vec<u8> {
    let mut next = [[1000_u32, 90_000]; 4];
    let mut time = 10_000_000_000;
    let mut frames = Vec::new();
    for &((back, flags, bytes, off, behind, times, wait), port, late) in steps {
        let next = &mut next[usize::from(port)];
        time += wait;
        for left in (0..times).rev() {
            time += 1500;
            let late = if left == 0 { late } else { 0 };
            let seq = next[usize::from(back)].wrapping_add_signed(off);
            let acknowledged = next[usize::from(!back)].wrapping_sub(u32::from(behind) * 1448);
            let mut frame = segment(back, flags, seq, acknowledged, bytes);
            frame[if back { 37 } else { 35 }] = port;
            frames.push((time - late, frame));
            next[usize::from(back)] =
                seq.wrapping_add(u32::from(bytes) + u32::from(flags & 3 != 0));
        }
    }
    capture(&frames)
}

proptest! {
    #[test]
    fn the_tables_do_not_depend_on_the_fast_paths(
        steps in prop::collection::vec((step(), 0_u8..4, lateness()), 1..60),
        threads in 1..3_usize,
    ) {
        let capture = history(&steps);
        let parse = |without_fast| {
            let options = Options { tables: Table::ALL.to_vec(), threads, without_fast, ..Options::default() };
            tables::parse_with(&[&capture], &options).unwrap().0.0
        };
        let with_all = parse(FastPaths::default());
        let mut without_any = FastPaths::default();
        for (name, path) in FastPaths::ALL {
            prop_assert_eq!(&with_all, &parse(path), "{}", name);
            without_any = without_any.union(path);
        }
        prop_assert_eq!(&with_all, &parse(without_any));
    }
}
