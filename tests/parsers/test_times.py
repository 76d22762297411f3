"""Packets without a time, or with one that a table cannot represent."""

from __future__ import annotations

import struct

import polars as pl
import pytest
from build import SECTION, START_NS, enhanced, interface, option, simple, udp
from conversation import RTT, US, Kind, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Tables, tables, thread

FRAME = udp("10.0.0.1", 5, "10.0.0.2", 6, payload=30)
NANOSECONDS = option(9, bytes([9]))
#: 1678-01-01 and 2262-01-01.
EARLIEST, LATEST = -9_214_560_000 * 10**9, 9_214_646_400 * 10**9
GOOD = 1_700_000_000 * 10**9


def offset(seconds: int) -> bytes:
    return option(14, struct.pack("<q", seconds))


def times(found: Tables) -> list[int]:
    return found["packets"].sort("packet")["time"].dt.epoch("ns").to_list()


def counts(found: Tables) -> tuple[int, int]:
    captures = found["captures"].select("times_out_of_range", "untimed_packets").sum()
    return captures.row(0)


def test_a_simple_packet_block_has_no_time() -> None:
    found = thread("35")
    assert times(found) == [GOOD + 5000] * 3
    assert counts(found) == (0, 2)


def test_clocks_of_any_resolution() -> None:
    found = thread("37")
    assert times(found) == [GOOD + 500_000_000, GOOD, GOOD, 0, 0]
    assert counts(found) == (0, 0)


def test_the_time_zone_of_a_file_is_no_part_of_its_times() -> None:
    assert times(thread("38")) == [GOOD]


@pytest.mark.parametrize("ticks", [2**63 - 1, 2**63, 2**64 - 1, LATEST, LATEST + 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_time_beyond_64_bits_is_that_of_the_packet_before_or_of_the_first(
    ticks: int, place: int
) -> None:
    packets = [enhanced(GOOD + number, FRAME) for number in range(3)]
    packets[place] = enhanced(ticks, FRAME)
    found = tables(SECTION + interface(NANOSECONDS) + b"".join(packets))
    right = [GOOD, GOOD + 1, GOOD + 2]
    right[place] = GOOD + (1 if place == 0 else place - 1)
    assert times(found) == right
    assert counts(found) == (1, 0)
    assert found["flows"]["duration_ns"].to_list() == [right[2] - right[0]]


@pytest.mark.parametrize("tick", [1_000_000, 15_625_000, 10**9])
@pytest.mark.parametrize("apart", [False, True])
def test_a_clock_that_is_coarser_than_its_file_states_is_seen(tick: int, apart: bool) -> None:
    """One packet every 0.2 ticks, or (`apart`) one per tick, as from a periodic sender."""
    stamps = [GOOD + 500 + number // (1 if apart else 5) * tick for number in range(300)]
    found = tables(
        SECTION + interface(NANOSECONDS) + b"".join(enhanced(at, FRAME) for at in stamps)
    )
    assert found["captures"]["ts_resolution_ns"].to_list() == [1 if apart else tick]


@pytest.mark.parametrize("exponent", [0, 3, 6, 0x80, 0x80 | 20])
def test_coarse_clocks_overflow_nothing(exponent: int) -> None:
    blocks = enhanced(2**64 - 1, FRAME) + simple(FRAME) + enhanced(2**64 - 2, FRAME)
    found = tables(SECTION + interface(option(9, bytes([exponent]))) + blocks)
    assert times(found) == [0, 0, 0]
    assert counts(found) == (2, 1)


@given(
    seconds=st.integers(-(2**63), 2**63 - 1),
    ticks=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6),
)
@settings(deadline=None, max_examples=60)
def test_no_table_has_a_time_out_of_range(seconds: int, ticks: list[int]) -> None:
    head = SECTION + interface(NANOSECONDS, offset(seconds))
    found = tables(head + b"".join(enhanced(tick, FRAME) for tick in ticks))
    wanted = [tick + seconds * 10**9 for tick in ticks]
    good = [EARLIEST <= time < LATEST for time in wanted]
    assert counts(found) == (good.count(False), 0)
    first = next((time for time, known in zip(wanted, good, strict=True) if known), 0)
    expected, last = [], first
    for time, known in zip(wanted, good, strict=True):
        last = time if known else last
        expected.append(last)
    assert times(found) == expected
    for table in found.values():
        for column in table.select(pl.col(pl.Datetime)):
            known = column.drop_nulls().dt.epoch("ns")
            assert ((known >= EARLIEST) & (known < LATEST)).all()


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("kind", ["out of range", "simple block"])
@pytest.mark.parametrize("place", range(10))
def test_a_packet_without_a_time_of_its_own_is_no_sample_of_an_rtt(
    place: int, kind: str, v6: bool
) -> None:
    """A handshake, two pings, a close: each of the ten packets in turn lacks its time."""
    blocks = []
    for number, (time, frame) in enumerate(whole(Kind(v6=v6)).packets):
        if number != place:
            blocks.append(enhanced(START_NS + time, frame))
        elif kind == "simple block":
            blocks.append(simple(frame))
        else:
            blocks.append(enhanced(2**63, frame))
    found = tables(SECTION + interface(NANOSECONDS) + b"".join(blocks))
    assert sum(counts(found)) == 1
    flows = found["flows"].sort("direction", descending=True)
    for column in ("rtt_min_ns", "rtt_mean_ns", "rtt_max_ns"):
        assert flows[column].to_list() == [RTT, 10 * US]
    # SYN to SYN-ACK, and SYN-ACK to its acknowledgement.
    handshakes = [None if place in {0, 1} else RTT, None if place in {1, 2} else 10 * US]
    assert flows["handshake_rtt_ns"].to_list() == handshakes
    # Each of the client's four samples and the server's two depends on two packets.
    both = flows["rtt_samples"].to_list()
    assert sum(both) == 6 - {0: 1, 1: 2, 2: 1, 7: 1, 8: 2, 9: 1}.get(place, 1)


def test_nanoseconds_in_a_file_of_microseconds_are_no_fractions() -> None:
    fractions = [5_000_000, 999_999, 1_000_000, 300_000_000, 700_000_000]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
    length = len(FRAME)
    records = (struct.pack("<IIII", 7, it, length, length) + FRAME for it in fractions)
    found = tables(head + b"".join(records))
    second = 10**9
    # The first gets its whole second, later ones the previous time; 1,000,000 us carry over.
    assert times(found) == [7 * second, 8 * second - 1000, *[8 * second] * 3]
    assert counts(found) == (3, 0)
