"""A clock is set during a capture of few packets, where a step may hide in a silence."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from build import datagram, ethernet, ip, pcap

if TYPE_CHECKING:
    import polars as pl

MS, SECOND = 1_000_000, 1_000_000_000
EPOCH = 1_000_000 * SECOND
DELAY = 5 * MS
#: The most that a packet waits on its way.
QUEUE = 2 * MS
ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}


def write(
    folder: Path,
    *,
    count: int,
    every: int,
    set_host: str,
    steps: dict[int, int],
    partners: str = "b",
    wrong: int | None = None,
) -> None:
    """Writes captures of A and its partners.

    Args:
        folder: The place of the files.
        count: Exchanges of A with each partner.
        every: Time between two exchanges in ns.
        set_host: The host whose clock is set.
        steps: By the number of an exchange, how far the clock is ahead from then on, in ns.
        partners: Hosts that answer A.
        wrong: An exchange whose packet has a wrong time at A.
    """
    seeded = random.Random(1)
    captures: dict[str, list[tuple[int, int, bytes]]] = {name: [] for name in f"a{partners}"}

    def keep(host: str, number: int, time: int, frame: bytes, off: int = 0) -> None:
        ahead = max((at for at in steps if at <= number), default=None)
        shown = time + off + (steps[ahead] if host == set_host and ahead is not None else 0)
        captures[host].append((time, shown, frame))

    for number in range(count):
        for place, partner in enumerate(partners):
            ident = number * len(partners) + place + 1
            ends = (ADDRESSES["a"], ADDRESSES[partner])
            time = EPOCH + number * every + place * 30 * MS
            out, back = (DELAY + seeded.randrange(QUEUE) for _ in range(2))
            there = ethernet(ip(*ends, 17, datagram(5, 6, 20), ident=ident))
            answer = ethernet(ip(*ends[::-1], 17, datagram(6, 5, 20), ident=ident))
            keep("a", number, time, there, off=7 * SECOND if number == wrong else 0)
            keep(partner, number, time + out, there)
            keep(partner, number, time + out, answer)
            keep("a", number, time + out + back, answer)
    for name, packets in captures.items():
        packets.sort(key=lambda packet: packet[0])
        content = pcap([(shown, frame) for _, shown, frame in packets])
        (folder / f"{name}.pcap").write_bytes(content)


def run(folder: Path, match, names: str = "ab"):
    hosts = [f"--address={name}={ADDRESSES[name]}" for name in names]
    return match(*(folder / f"{name}.pcap" for name in names), *hosts)


def check(fates: pl.DataFrame, delays: pl.DataFrame, known: float, packets: int) -> None:
    """All packets arrived; most delays are known, and lie within their stated errors."""
    assert fates.group_by("fate").len().rows() == [("delivered", packets)]
    found = delays.drop_nulls("delay_ns")
    assert found.height >= known * packets
    least = found["delay_ns"] + found["delay_error_ns"] >= DELAY
    most = found["delay_ns"] - found["delay_error_ns"] <= DELAY + QUEUE
    assert (least & most).all()
    # A step that was missed would make all errors as long as half of it.
    assert found["delay_error_ns"].median() < 30 * MS


@pytest.mark.parametrize("set_host", ["a", "b"])
@pytest.mark.parametrize("every", [10, 2, 1, 0.7])
@pytest.mark.parametrize("seconds", [-5, 5, -12, -2, -0.8, 1.2, -3600])
def test_packets_on_both_sides_of_a_step_are_found(
    seconds: float, every: float, set_host: str, tmp_path: Path, match, table
) -> None:
    count = 100
    step = int(seconds * SECOND)
    write(tmp_path, count=count, every=int(every * SECOND), set_host=set_host, steps={50: step})
    assert run(tmp_path, match).returncode == 0
    # A clock that was set back shows the same times twice: nobody can tell which of them is meant.
    twice = min(max(-seconds, 0) / every, count / 2) if -seconds < count * every / 2 else 0
    check(table("fates"), table("one_way"), 0.95 - 2 * twice / count, 2 * count)


@pytest.mark.parametrize("steps", [{40: 5 * SECOND, 80: -4 * SECOND}, {40: 9 * SECOND, 80: 0}])
def test_a_clock_that_is_set_twice(steps: dict[int, int], tmp_path: Path, match, table) -> None:
    write(tmp_path, count=120, every=3 * SECOND, set_host="b", steps=steps)
    assert run(tmp_path, match).returncode == 0
    check(table("fates"), table("one_way"), 0.8, 240)


@pytest.mark.parametrize("set_host", ["a", "b", "c"])
@pytest.mark.parametrize("seconds", [-5, 5])
def test_one_of_three_hosts(seconds: int, set_host: str, tmp_path: Path, match, table) -> None:
    steps = {50: seconds * SECOND}
    write(
        tmp_path, count=100, every=4 * SECOND, set_host=set_host, steps=steps, partners="bc"
    )  # fmt: skip
    assert run(tmp_path, match, "abc").returncode == 0
    check(table("fates"), table("one_way"), 0.9, 400)


def test_a_single_wrong_time_is_no_step(tmp_path: Path, match, table) -> None:
    write(tmp_path, count=100, every=SECOND, set_host="b", steps={}, wrong=50)
    assert run(tmp_path, match).returncode == 0
    fates = table("fates")
    assert set(fates["fate"]) <= {"delivered", "unknown"}
    assert (fates["fate"] == "delivered").sum() >= 198
    assert table("clocks").height == 2
