//! TCP connections of a few segments each, and the counts that they must give.

use super::*;

#[test]
fn a_new_syn_with_another_number_starts_a_connection_and_a_repeated_one_does_not() {
    let syn = |seq| segment(false, 2, seq, 0, 0);
    let bytes = capture(&[(1, syn(100)), (2, syn(100)), (3, syn(900))]);
    let (sink, summary) = parse(&[&bytes], 1).unwrap();
    assert_eq!(summary.connections, 2);
    assert_eq!(one_flow(&sink, "retransmitted_packets"), [Some(1), Some(0)]);
}

#[test]
fn packets_behind_a_new_syn_belong_to_the_new_connection_whichever_way_they_go() {
    // With and without options, which are decoded differently.
    for options in [false, true] {
        let syn = |seq, to: bool| {
            let mut frame = segment(false, 2, seq, 0, if options { 4 } else { 0 });
            if options {
                frame[46] = 0x60;
                frame.extend([2, 4, 5, 180]);
            }
            // Another pair of hosts in between.
            frame[33] = if to { 2 } else { 3 };
            frame
        };
        let data = |back, seq, ack| segment(back, 16, seq, ack, 9);
        let bytes = capture(&[
            (1, syn(100, true)),
            (2, data(false, 101, 500)),
            (3, data(true, 500, 110)),
            (4, syn(900, true)),
            (5, data(true, 700, 901)),
            (6, data(false, 901, 709)),
            (7, syn(1, false)),
            (8, data(true, 709, 910)),
        ]);
        let (sink, summary) = parse(&[&bytes], 1).unwrap();
        assert_eq!(summary.connections, 3);
        let mut packets = one_flow(&sink, "packets");
        packets.sort_unstable();
        assert_eq!(packets, [1, 1, 2, 2, 2].map(Some));
    }
}

#[test]
fn a_new_syn_in_a_fragment_starts_a_connection_too() {
    let syn = |seq, fragment: u8| {
        let mut frame = segment(false, 2, seq, 0, 0);
        frame[20] = fragment;
        frame
    };
    let data = |back, seq, ack| segment(back, 16, seq, ack, 9);
    let (more, whole) = (0x20, 0);
    let bytes = capture(&[
        (1, syn(100, whole)),
        (2, syn(900, more)),
        (3, data(false, 901, 700)),
        (4, data(true, 700, 910)),
    ]);
    let (sink, summary) = parse(&[&bytes], 1).unwrap();
    assert_eq!(summary.connections, 2);
    let mut packets = one_flow(&sink, "packets");
    packets.sort_unstable();
    assert_eq!(packets, [1, 1, 2].map(Some));
}

#[test]
fn options_are_those_of_the_last_syn_before_the_answer() {
    let syn = |mss: u16| {
        let mut frame = segment(false, 2, 100, 0, 4);
        frame[46] = 0x60;
        frame.extend([2, 4]);
        frame.extend(mss.to_be_bytes());
        frame
    };
    let answer = segment(true, 18, 700, 101, 0);
    let bytes = capture(&[(1, syn(1460)), (2, syn(536)), (3, answer), (4, syn(9000))]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(one_flow(&sink, "mss"), [Some(536), None]);
    // Some hosts omit options when they repeat a SYN.
    let bytes = capture(&[(1, syn(1460)), (2, segment(false, 2, 100, 0, 0))]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(one_flow(&sink, "mss"), [Some(1460)]);
}

#[test]
fn the_last_of_several_answers_begins_the_sequence() {
    for (other, number) in [(900_000, 400), (400, 900_000)] {
        let bytes = capture(&[
            (0, segment(false, 2, 99, 0, 0)),
            (50, segment(true, 18, other, 100, 0)),
            (60, segment(true, 18, other, 100, 0)),
            (1000, segment(true, 18, number, 100, 0)),
            (1400, segment(false, 16, 100, number + 1, 10)),
            (1500, segment(true, 16, number + 1, 110, 100)),
            (1900, segment(false, 16, 110, number + 101, 0)),
        ]);
        let (sink, summary) = parse(&[&bytes], 1).unwrap();
        assert_eq!(summary.connections, 1);
        assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(0), Some(0)]);
        assert_eq!(one_flow(&sink, "retransmitted_packets"), [Some(0), Some(1)]);
        assert_eq!(one_flow(&sink, "handshake_rtt_ns"), [Some(50), Some(400)]);
        assert_eq!(one_flow(&sink, "rtt_samples")[1], Some(2));
    }
}

#[test]
fn an_answer_behind_the_one_that_was_acknowledged_changes_nothing() {
    for other in [900_000, 40] {
        let bytes = capture(&[
            (0, segment(false, 2, 99, 0, 0)),
            (50, segment(true, 18, 7000, 100, 0)),
            (60, segment(false, 16, 100, 7001, 0)),
            (70, segment(true, 18, other, 100, 0)),
            (80, segment(true, 16, 7001, 100, 10)),
            (90, segment(true, 16, 7011, 100, 10)),
        ]);
        let (sink, _) = parse(&[&bytes], 1).unwrap();
        assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(0), Some(0)]);
        assert_eq!(one_flow(&sink, "retransmitted_packets"), [Some(0), Some(0)]);
    }
}

#[test]
fn the_first_payload_is_not_late_whatever_went_before_without_any() {
    let bytes = capture(&[
        (1, segment(false, 17, 381, 0, 0)),
        (2, segment(false, 16, 380, 0, 1)),
        (3, segment(false, 16, 380, 0, 1)),
        (4, segment(false, 16, 378, 0, 2)),
    ]);
    // Here the second segment repeats the first and adds bytes, below a SYN of another connection.
    let on = capture(&[
        (0, segment(false, 2, 5000, 0, 0)),
        (1, segment(false, 16, 3000, 0, 100)),
        (2, segment(false, 16, 3000, 0, 200)),
    ]);
    let (sink, _) = parse(&[&on], 1).unwrap();
    assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(0)]);
    assert_eq!(one_flow(&sink, "retransmitted_bytes"), [Some(100)]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(1)]);
    assert_eq!(one_flow(&sink, "retransmitted_packets"), [Some(1)]);
}

#[test]
fn what_waited_for_a_hole_is_measured_by_sack_alone() {
    let data = |seq| segment(false, 16, seq, 0, 100);
    let ack = |number| segment(true, 16, 0, number, 0);
    // An ACK with one SACK block: three words of options.
    let sack = |number, left: u32, right: u32| {
        let mut frame = segment(true, 16, 0, number, 12);
        frame[46] = 0x80;
        frame.extend([1, 1, 5, 10]);
        frame.extend(left.to_be_bytes());
        frame.extend(right.to_be_bytes());
        frame
    };
    let history = |answer| {
        capture(&[
            (0, data(1000)),
            (10, data(1200)),
            (20, data(1300)),
            (30, data(1100)),
            (40, data(1400)),
            (100, ack(1100)),
            (110, answer),
            (130, ack(1400)),
            (140, ack(1500)),
        ])
    };
    let (sink, _) = parse(&[&history(ack(1200))], 1).unwrap();
    // 1000 and 1400; the acknowledgements of the others waited.
    assert_eq!(one_flow(&sink, "rtt_samples")[0], Some(2));
    let (sink, _) = parse(&[&history(sack(1100, 1200, 1300))], 1).unwrap();
    assert_eq!(one_flow(&sink, "rtt_samples")[0], Some(3));
    assert_eq!(one_flow(&sink, "rtt_mean_ns")[0], Some(100));
}

#[test]
fn an_answer_of_an_older_connection_says_nothing_of_the_new_one() {
    // RFC 9293 3.5.1: one side forgot the connection, the other did not.
    let bytes = capture(&[
        (0, segment(false, 2, 777, 0, 0)),
        (1000, segment(true, 16, 500_000, 90_000, 0)),
        (1001, segment(false, 4, 90_000, 0, 0)),
        (2000, segment(false, 2, 777, 0, 0)),
        (2500, segment(true, 18, 99, 778, 0)),
        (2501, segment(false, 16, 778, 100, 5)),
        (3001, segment(true, 16, 100, 783, 20)),
    ]);
    let (sink, summary) = parse(&[&bytes], 1).unwrap();
    assert_eq!(summary.connections, 1);
    assert_eq!(one_flow(&sink, "rtt_min_ns"), [Some(500), Some(1)]);
    assert_eq!(one_flow(&sink, "max_in_flight_bytes"), [Some(5), Some(20)]);
    assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(0), Some(0)]);
}

#[test]
fn rtt_samples_take_the_newest_segment_and_none_where_a_byte_was_sent_twice() {
    let data = |seq| segment(false, 16, seq, 0, 100);
    let ack = |number| segment(true, 16, 0, number, 0);
    let bytes = capture(&[
        (0, segment(false, 2, 999, 0, 0)),
        (50, segment(true, 18, 5000, 1000, 0)),
        (100, data(1000)),
        (200, data(1100)),
        (1200, ack(1200)),
        (2000, data(1200)),
        (3000, data(1200)),
        (4000, ack(1300)),
    ]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(one_flow(&sink, "handshake_rtt_ns")[0], Some(50));
    assert_eq!(one_flow(&sink, "rtt_samples")[0], Some(2));
    assert_eq!(one_flow(&sink, "rtt_min_ns")[0], Some(50));
    assert_eq!(one_flow(&sink, "rtt_max_ns")[0], Some(1000));
    assert_eq!(one_flow(&sink, "retransmitted_bytes")[0], Some(100));
    assert_eq!(one_flow(&sink, "max_in_flight_bytes")[0], Some(200));
}

#[test]
fn sequence_numbers_wrap_without_a_trace() {
    let start = u32::MAX - 1500;
    let data = |index: u32| segment(false, 16, start.wrapping_add(index * 1000), 0, 1000);
    let bytes = capture(&[
        (1, data(0)),
        (2, data(2)),
        (3, data(1)),
        (4, data(3)),
        (5, data(1)),
    ]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(one_flow(&sink, "out_of_order_packets"), [Some(1)]);
    assert_eq!(one_flow(&sink, "retransmitted_packets"), [Some(1)]);
    assert_eq!(one_flow(&sink, "retransmitted_bytes"), [Some(1000)]);
}

#[test]
fn a_syn_that_comes_late_turns_the_directions_of_packets_before_it() {
    // The server's first data overtook the client's SYN in the capture.
    let bytes = capture(&[
        (1, segment(true, 16, 500, 100, 10)),
        (2, segment(false, 2, 99, 0, 0)),
    ]);
    let (sink, _) = parse(&[&bytes], 1).unwrap();
    assert_eq!(sink.texts("packets", "direction"), ["backward", "forward"]);
}
