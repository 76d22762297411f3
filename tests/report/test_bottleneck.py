"""The rate of the slowest link on a path, estimated from packet trains."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.warehouse import Warehouse

BYTES, HEADER = 1_500, 14
GBIT = 1e9
#: Maps the arrival times of packets to the times at which the host hands them on.
HandOn = Callable[[list[int], random.Random], list[int]]


def at_once(times: list[int], _: random.Random) -> list[int]:
    """Hands on each packet when it arrives."""
    return times


def jittered(times: list[int], chance: random.Random) -> list[int]:
    """Hands on each packet up to 5 us later."""
    return sorted(time + chance.randrange(5_000) for time in times)


def coalesced(times: list[int], _: random.Random) -> list[int]:
    """Hands on the packets of 100 us together, 1 us apart, like an interface that coalesces."""
    found: list[int] = []
    until = 0
    for time in times:
        if time > until:
            until, place = time + 100_000, 0
        found.append(until + 1_000 * place)
        place += 1
    return found


def burst(
    begin: int, sizes: Sequence[int], bit_s: float, chance: random.Random, cross: float = 0.0
) -> list[tuple[int, int, int]]:
    """Sends packets at once over a link; returns send and arrival times in ns, and bytes.

    Before each packet, the link carries cross traffic with the probability `cross`.
    """
    found, free = [], begin
    for place, size in enumerate(sizes):
        sent = begin + place * 100
        if chance.random() < cross:
            free += round(chance.choice([60, 600, 1_500]) * 8e9 / bit_s)
        free = max(free, sent) + round((size + HEADER) * 8e9 / bit_s)
        found.append((sent, free, size))
    return found


def write(folder: Path, packets: list[tuple[int, int, int]], lost: Sequence[int] = ()) -> None:
    """Writes one run with the fates of packets from pc1 to pc3."""
    tiny.runs(folder, [tiny.run("r", baseline=True)])
    rows: list[dict[str, Any]] = [
        {
            "sender": "pc1", "receiver": "pc3", "protocol": "tcp", "time_sent": tiny.T0 + sent,
            "time_received": None if place in lost else tiny.T0 + arrived,
            "packet_sent": place + 1, "fate": "lost" if place in lost else "delivered",
            "ip_bytes": size,
        }
        for place, (sent, arrived, size) in enumerate(packets)
    ]  # fmt: skip
    tiny.table(folder, "fates", "r", "pc1", rows)


def rates(folder: Path) -> list[float]:
    return (
        Warehouse(folder)
        .select("select bottleneck_mbit_s from path_rates")["bottleneck_mbit_s"]
        .to_list()
    )


@pytest.mark.parametrize("mbit_s", [0.5, 9.7, 100, 1_000])
@pytest.mark.parametrize("hand_on", [at_once, jittered, coalesced])
@pytest.mark.parametrize("cross", [0.0, 0.3])
def test_it_is_the_rate_of_the_link(
    mbit_s: float, hand_on: HandOn, cross: float, tmp_path: Path
) -> None:
    chance = random.Random(3)
    packets, begin = [], 0
    for _ in range(40 if mbit_s < 1_000 else 6):
        count = 100 if mbit_s < 1_000 else 1_000
        sizes = [chance.choice([BYTES, BYTES, BYTES, 1_200]) for _ in range(count)]
        some = burst(begin, sizes, mbit_s * 1e6, chance, cross if mbit_s < 1_000 else 0)
        handed_on = hand_on([arrived for _, arrived, _ in some], chance)
        packets += [
            (sent, time + 2 * tiny.MS, size)
            for (sent, _, size), time in zip(some, handed_on, strict=True)
        ]
        begin = packets[-1][1] + 50 * tiny.MS
    write(tmp_path, packets)
    (found,) = rates(tmp_path)
    # All long trains contain cross traffic.
    assert found == pytest.approx(mbit_s, rel=0.15 if cross else 0.04)


def test_packets_that_were_merged_count_as_one(tmp_path: Path) -> None:
    chance = random.Random(5)
    packets, begin = [], 0
    for _ in range(40):
        some = burst(begin, [BYTES] * 64, 50e6, chance)
        # Each packet has the arrival time of the last one of its 16.
        last = [some[place // 16 * 16 + 15][1] for place in range(64)]
        packets += [
            (sent, arrived, size) for (sent, _, size), arrived in zip(some, last, strict=True)
        ]
        begin = last[-1] + 50 * tiny.MS
    write(tmp_path, packets)
    (found,) = rates(tmp_path)
    assert found == pytest.approx(50, rel=0.01)


def test_lost_packets_make_no_train_slower(tmp_path: Path) -> None:
    chance = random.Random(5)
    packets, begin = [], 0
    for _ in range(40):
        packets += burst(begin, [BYTES] * 64, 50e6, chance)
        begin = packets[-1][1] + 50 * tiny.MS
    write(tmp_path, packets, lost=range(1, len(packets), 2))
    # No two packets that arrived in sequence were sent in sequence.
    assert rates(tmp_path) == []


@pytest.mark.parametrize(
    "gaps_us",
    [
        pytest.param([10_000] * 500, id="sent as they arrive"),
        pytest.param([100] * 20, id="too few"),
    ],
)
def test_without_enough_trains_nothing_is_claimed(gaps_us: list[int], tmp_path: Path) -> None:
    packets, time = [], 0
    for gap in gaps_us:
        time += gap * 1_000
        sent = time if gap > 1_000 else time // 100
        packets.append((sent, time + tiny.MS, BYTES))
    write(tmp_path, packets)
    assert rates(tmp_path) == []
