"""Quantities with units: read exactly, and written so that reading gives them back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsweep import units
from flowsweep.errors import FlowsweepError


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_time, "16ms", 16_000_000),
        (units.parse_time, "0.3ms", 300_000),
        (units.parse_time, "331us", 331_000),
        (units.parse_time, "331 µs", 331_000),
        (units.parse_time, "1.5s", 1_500_000_000),
        (units.parse_rate, "80kbit/s", 80e3),
        (units.parse_rate, "1Gbit/s", 1e9),
        (units.parse_rate, "1gbit/s", 1e9),
        (units.parse_size, "16KiB", 16384),
        (units.parse_size, "128kB", 128_000),
        (units.parse_fraction, "1%", 0.01),
        (units.parse_fraction, "0.25", 0.25),
    ],
)
def test_a_quantity_is_read_in_its_base_unit(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_time, "16"),
        (units.parse_time, 16),
        (units.parse_time, "16Mbit/s"),
        (units.parse_time, "ms"),
        (units.parse_time, "1 6ms"),
        (units.parse_time, "nan s"),
        (units.parse_time, "1e9999999 s"),
        (units.parse_size, "1e99999999999999999999 kB"),
        (units.parse_rate, "10MB/s"),
        (units.parse_size, "16 kib it"),
        (units.parse_fraction, "101%"),
        (units.parse_fraction, "-1%"),
        (units.parse_fraction, True),
    ],
)
def test_what_is_not_a_quantity_is_refused_with_what_was_expected(parse, text):
    with pytest.raises(FlowsweepError) as caught:
        parse(text)
    assert str(text) in str(caught.value)
    assert "expected" in str(caught.value)


# no deadline: a machine may stall; the same examples every time
@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**6).map(lambda n: n * 10**6))
def test_a_formatted_time_is_read_back(ns):
    assert units.parse_time(units.format_time(ns)) == pytest.approx(ns, rel=1e-5)


# no deadline: a machine may stall; the same examples every time
@settings(deadline=None, derandomize=True)
@given(st.sampled_from([8e4, 1e6, 2.5e6, 1e8, 1e9, 2.5e9]))
def test_a_formatted_rate_is_read_back(rate):
    assert units.parse_rate(units.format_rate(rate)) == rate


# no deadline: a machine may stall; the same examples every time
@settings(deadline=None, derandomize=True)
@given(st.sampled_from([64, 1000, 1024, 128_000, 131_072, 4 * 2**20, 15 * 10**8]))
def test_a_formatted_size_is_read_back(size):
    assert units.parse_size(units.format_size(size)) == size
