"""Arrival of messages in a stream of segments: lost, repeated, overtaken, wrapped numbers."""

from __future__ import annotations

from flowsweep.exports.stream import Segment, Stream

#: One-way delay of a segment.
DELAY = 50


def sent(time: int, seq: int, size: int = 100, *, delay: int | None = DELAY, delivered=True):
    arrival = None if delay is None else time + delay
    return Segment(time, seq % 2**32, size, time, arrival, delivered and delay is not None)


def test_a_message_arrives_with_the_last_of_its_bytes_whatever_the_order():
    stream = Stream([sent(0, 0, delay=90), sent(1, 100), sent(2, 200), sent(10, 300)])
    first = stream.passage(0, 2, 3)
    assert first == ((0, 2), (51, 90), True)
    assert stream.passage(10, 10, 1) == ((10, 10), (60, 60), True)


def test_what_was_lost_arrives_when_it_is_sent_again_in_other_pieces():
    stream = Stream(
        [
            sent(0, 0),
            sent(1, 100, delay=None),
            sent(2, 200, delay=None),
            sent(3, 300),
            sent(20, 150, 150),
            sent(40, 100, 50),
        ]
    )
    assert stream.passage(0, 3, 4) == ((0, 3), (50, 40 + DELAY), False)


def test_what_is_sent_again_with_new_bytes_belongs_to_both_messages():
    stream = Stream([sent(0, 0), sent(1, 100, delay=None), sent(30, 100, 300)])
    assert stream.passage(0, 1, 2) == ((0, 1), (50, 80), False)
    assert stream.passage(30, 30, 1) == ((30, 30), (80, 80), True)


def test_the_arrival_is_not_known_where_one_byte_never_arrived():
    stream = Stream([sent(0, 0), sent(1, 100, delay=None), sent(20, 100, 99), sent(30, 200)])
    assert stream.passage(0, 1, 2) == ((0, 1), None, False)
    assert stream.passage(30, 30, 1) == ((30, 30), (80, 80), True)


def test_a_needless_repetition_changes_nothing():
    stream = Stream([sent(0, 0), sent(1, 100), sent(20, 0), sent(21, 100), sent(22, 200)])
    assert stream.passage(0, 1, 2) == ((0, 1), (50, 51), True)
    assert stream.passage(22, 22, 1) == ((22, 22), (72, 72), True)


def test_sequence_numbers_wrap():
    begin = 2**32 - 150
    segments = [sent(n, begin + 100 * n, delay=None if n == 1 else DELAY) for n in range(4)]
    stream = Stream([*segments, sent(9, begin + 100)])
    assert stream.passage(0, 3, 4) == ((0, 3), (50, 59), False)


def test_segments_of_one_time_are_dealt_by_the_packets_of_each_message():
    stream = Stream([sent(5, 0), sent(5, 100, delay=70), sent(5, 200, delay=80)])
    assert stream.passage(5, 5, 1) == ((5, 5), (55, 55), True)
    assert stream.passage(5, 5, 2) == ((5, 5), (75, 85), True)
    assert stream.passage(5, 5, 1) is None


def test_delivered_at_an_unknown_time_is_distinguished():
    stream = Stream([Segment(0, 0, 10, None, None, True)])
    assert stream.passage(0, 0, 1) == ((None, None), None, True)
