"""The idle path's RTT: a probe during which a host did not get the CPU is repeated."""

from __future__ import annotations

import pytest

from flowsweep.testbed.namespaces import probe

MS = 1_000_000
ASKED = probe._Asked(10 * MS, None, None, 100_000, 0, 0)


@pytest.mark.parametrize(
    ("measured_ms", "taken", "expected_ms"),
    [
        ([5.1], 1, 10.2),
        ([7.0, 5.1], 2, 10.2),
        ([7.0, 6.0, 8.0], 3, 12.0),  # a path that is longer in fact
        ([4.0], 1, 8.0),  # a shorter one is not measured again
    ],
)
def test_what_is_longer_than_asked_is_measured_again(monkeypatch, measured_ms, taken, expected_ms):
    left = [round(value * MS) for value in measured_ms]
    monkeypatch.setattr(probe, "_both_ways", lambda *_: (left[0], left.pop(0)))
    assert probe._round_trip(None, None, ASKED) == round(expected_ms * MS)
    assert len(measured_ms) - len(left) == taken


@pytest.mark.parametrize(
    ("tries", "expected"),
    [
        ([(None, None), (5 * MS, 5 * MS)], 10 * MS),
        ([(5 * MS, None), (None, 5 * MS), (6 * MS, 6 * MS)], 12 * MS),
        ([(None, None)] * 3, None),
    ],
)
def test_a_try_in_which_no_probe_came_through_is_no_rtt_of_zero(monkeypatch, tries, expected):
    left = list(tries)
    monkeypatch.setattr(probe, "_both_ways", lambda *_: left.pop(0))
    assert probe._round_trip(None, None, ASKED) == expected
    assert not left


def test_what_a_probe_takes_to_leave_is_of_each_way(monkeypatch):
    """Serialisation of 50 bytes takes 4 µs at 100 Mbit/s and 5 ms at 80 kbit/s."""
    asked = probe._Asked(10 * MS, 100e6, 80e3, 100_000, 0, 0)
    monkeypatch.setattr(probe, "_both_ways", lambda *_: (5 * MS + 4_000, 10 * MS))
    assert probe._round_trip(None, None, asked) == 10 * MS
