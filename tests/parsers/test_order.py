"""Packets that a capture contains out of time order."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from conversation import MS, Conversation, Kind, tables, whole
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import pytest

SECOND = 1000 * MS


def in_queues(made: Conversation, queues: int, batch: int, seed: int) -> Conversation:
    """Reorders packets as a card with several queues does: batches of each queue in turn."""
    chance = random.Random(seed)
    lines: list[list[tuple[int, bytes]]] = [[] for _ in range(queues)]
    for packet in made.packets:
        chance.choice(lines).append(packet)
    parts = [
        (line[at][0], line[at : at + batch]) for line in lines for at in range(0, len(line), batch)
    ]
    chance.shuffle(parts)
    parts.sort(key=lambda part: part[0] // SECOND)
    made.packets[:] = [packet for _, part in parts for packet in part]
    return made


@settings(max_examples=40, deadline=None)
@given(
    v6=st.booleans(),
    queues=st.integers(1, 4),
    batch=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_packets_within_the_window_count_as_in_the_order_of_time(
    v6: bool, queues: int, batch: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("queues") / "a.pcap"
    kind = Kind(v6=v6)
    right = tables(whole(kind, pings=5).write(path))
    made = in_queues(whole(kind, pings=5), queues, batch, seed)
    back = sum(one[0] > two[0] for one, two in zip(made.packets, made.packets[1:], strict=False))
    found = tables(made.write(path))
    for name in ("flows", "throughput", "messages"):
        assert found[name].equals(right[name]), name
    assert found["packets"]["time"].is_sorted()
    assert sorted(found["packets"]["packet"]) == list(range(1, len(made.packets) + 1))
    captures = found["captures"].row(0, named=True)
    assert captures["time_regressions"] == back
    assert (captures["reordered_packets"] > 0) == (back > 0)
    assert captures["late_packets"] == 0


def test_what_lies_outside_the_window_stays_where_it_is_and_is_counted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("late") / "a.pcap"
    made = whole(Kind(), pings=30)
    late = made.packets.pop(3)
    made.packets.append(late)  # three seconds late
    found = tables(made.write(path))
    captures = found["captures"].row(0, named=True)
    assert (captures["late_packets"], captures["reordered_packets"]) == (1, 0)
    assert found["packets"]["packet"].to_list() == list(range(1, len(made.packets) + 1))
    wider = tables(path, order_window_ns=10 * SECOND)
    captures = wider["captures"].row(0, named=True)
    assert (captures["late_packets"], captures["reordered_packets"]) == (0, 1)
    assert wider["packets"]["time"].is_sorted()


def test_a_window_of_few_packets_puts_no_more_into_order(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("few") / "a.pcap"
    made = whole(Kind(), pings=6)
    made.packets.insert(14, made.packets.pop(3))
    made.write(path)
    wide = tables(path, order_window_ns=10 * SECOND)["captures"]
    narrow = tables(path, order_window_ns=10 * SECOND, order_window_packets=4)["captures"]
    assert (wide["reordered_packets"][0], wide["late_packets"][0]) == (1, 0)
    assert (narrow["reordered_packets"][0], narrow["late_packets"][0]) == (0, 1)


def test_without_a_window_the_order_of_the_file_stands(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("off") / "a.pcap"
    made = whole(Kind(), pings=3)
    made.packets.insert(7, made.packets.pop(3))
    found = tables(made.write(path), order_window_ns=0)
    assert found["packets"]["packet"].to_list() == list(range(1, len(made.packets) + 1))
    assert found["captures"]["reordered_packets"].to_list() == [0]
    assert found["flows"]["time_regressions"].sum() > 0


def test_one_packet_far_in_the_future_does_not_hold_up_the_others(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A wrong clock or one flipped bit: the packets after it are still put into order."""
    path = tmp_path_factory.mktemp("future") / "a.pcap"
    made = whole(Kind(), pings=5)
    made.packets.insert(6, (made.packets[6][0] + 10**18, made.frame(0, 16, 0, 0)))
    made.packets[9], made.packets[10] = made.packets[10], made.packets[9]
    found = tables(made.write(path))
    times = found["packets"].filter(found["packets"]["packet"] != 7)["time"]
    assert times.is_sorted()
    assert found["captures"]["reordered_packets"].to_list() == [1]
    assert found["captures"]["late_packets"].to_list() == [1]
