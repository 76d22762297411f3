"""Stated drops, or a filter that the other capture lacks: a missing packet may not be lost."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import build
import pytest

if TYPE_CHECKING:
    import polars as pl

MS = 1_000_000
DELAY = 5 * MS
A, B = ("10.0.0.1", 5), ("10.0.0.2", 6)
MISSING = (7, 20)


def datagram(number: int, *, answers: bool) -> bytes:
    """Returns the UDP datagram of A, or its answer."""
    (source, sport), (target, dport) = (B, A) if answers else (A, B)
    content = build.datagram(sport, dport, 20)
    return build.ethernet(build.ip(source, target, 17, content, ident=number + 1))


def statistics(code: int, count: int) -> bytes:
    """Returns an Interface Statistics Block."""
    return build.block(
        5, struct.pack("<III", 0, 0, 0) + build.option(code, struct.pack("<Q", count))
    )


@pytest.mark.parametrize(
    ("dropped_before", "behind", "is_complete"),
    [
        (0, b"", True),
        (0, statistics(5, 0) + statistics(7, 0), True),
        (3, b"", False),
        # dropped by the interface, and by the kernel
        (0, statistics(5, 2), False),
        (0, statistics(7, 2), False),
    ],
)
def test_drops_that_the_file_states_are_a_gap(
    dropped_before: int, behind: bytes, is_complete: bool, tmp_path: Path, match, table
) -> None:
    sent, arrived = exchange()
    (tmp_path / "a.pcap").write_bytes(build.pcap(sorted(sent)))
    lost_before = [build.option(4, struct.pack("<Q", dropped_before))] if dropped_before else []
    blocks = [
        build.enhanced(build.START_NS + time, frame, *(lost_before if place == 9 else []))
        for place, (time, frame) in enumerate(arrived)
    ]
    described = build.interface(build.option(9, b"\x09"))
    (tmp_path / "b.pcapng").write_bytes(build.SECTION + described + b"".join(blocks) + behind)
    named = (f"--address=a={A[0]}", f"--address=b={B[0]}")
    assert match(tmp_path / "a.pcap", tmp_path / "b.pcapng", *named).returncode == 0
    check(table("fates"), is_complete=is_complete)


@pytest.mark.parametrize(
    ("filters", "is_complete"),
    [
        ((None, None), True),
        (("udp", "udp"), True),
        (("udp", None), True),
        ((None, "udp port 5"), False),
        (("udp", "udp port 5"), False),
    ],
)
def test_what_only_this_captures_filter_kept_out_was_not_lost(
    filters: tuple[str | None, str | None], is_complete: bool, tmp_path: Path, match, table
) -> None:
    for host, filter_, frames in zip("ab", filters, exchange(), strict=True):
        (tmp_path / f"{host}.pcap").write_bytes(build.pcap(sorted(frames)))
        (tmp_path / f"{host}.capture.json").write_text(json.dumps({"filter": filter_}))
    named = (f"--address=a={A[0]}", f"--address=b={B[0]}")
    assert match(tmp_path / "a.pcap", tmp_path / "b.pcap", *named).returncode == 0
    check(table("fates"), is_complete=is_complete)


def exchange() -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """Returns times and frames that A and B captured; some of A's are missing in B's capture."""
    sent, arrived = [], []
    for number in range(30):
        time = 10 * number * MS
        there, back = (datagram(number, answers=answers) for answers in (False, True))
        sent += [(time, there), (time + 2 * DELAY, back)]
        arrived += [] if number in MISSING else [(time + DELAY, there)]
        arrived.append((time + DELAY, back))
    return sent, arrived


def check(fates: pl.DataFrame, *, is_complete: bool) -> None:
    """Checks that the missing packets are lost only if nothing else explains them."""
    rows = fates.filter(sender="a").sort("time_sent")
    found = rows["fate", "evidence"].rows()
    missing = ("lost", "absent") if is_complete else ("unknown", "incomplete")
    for number, fate in enumerate(found):
        assert fate == (missing if number in MISSING else ("delivered", "matched"))
