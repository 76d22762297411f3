"""Messages and their rate at a point, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.render.figures import message_rate
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"


def with_messages(directory: Path, host: str, sizes: list[int], **changes: Any) -> None:
    """Writes one flow of pc3 as `host` saw it, with a message of each size, 10 ms apart."""
    tiny.table(directory, "captures", "r", host, [tiny.capture(**changes)])
    tiny.table(directory, "throughput", "r", host, tiny.bins(EAST, WEST, {0: 1}))
    tiny.table(directory, "flows", "r", host, [tiny.flow(EAST, WEST)])
    tiny.table(directory, "messages", "r", host, [
        tiny.message(size, first_time=tiny.T0 + number * 10 * tiny.MS)
        for number, size in enumerate(sizes)
    ])  # fmt: skip


def test_messages_are_counted_where_they_were_sent(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    with_messages(tmp_path, "pc3", [*range(100, 1000, 100), 10_000])
    with_messages(tmp_path, "pc1", [1, 2, 3])
    (row,) = Warehouse(tmp_path).rows("message_rate").rows(named=True)
    # 10 messages in a run of 1 s
    assert (row["messages"], row["messages_s"], row["runs"]) == (10, 10.0, 1)
    assert (row["p10_bytes"], row["p50_bytes"], row["p90_bytes"]) == (100, 500, 900)
    assert (row["max_bytes"], row["mean_bytes"]) == (10_000, 1450.0)
    assert (row["guessed_share"], row["far_share"], row["is_baseline"]) == (0.0, 0.0, True)


def test_a_message_outside_the_time_of_the_run_is_not_counted(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, start=tiny.T0 + 15 * tiny.MS)])
    with_messages(tmp_path, "pc3", [10, 20, 30, 40])
    (row,) = Warehouse(tmp_path).rows("message_rate").rows(named=True)
    assert (row["messages"], row["p50_bytes"]) == (2, 30)
    assert row["messages_s"] == pytest.approx(2 / 0.985, abs=1e-3)


def test_a_run_without_a_message_in_its_time_had_none(tmp_path: Path) -> None:
    """Of three runs, one has 2 messages in its second; the others' were before it."""
    tiny.runs(tmp_path, [tiny.run(name, baseline=True) for name in "abc"])
    for name, first in (("a", -9_000), ("b", -9_000), ("c", 0)):
        tiny.table(tmp_path, "captures", name, "pc3", [tiny.capture()])
        tiny.table(tmp_path, "throughput", name, "pc3", tiny.bins(EAST, WEST, {0: 1}))
        tiny.table(tmp_path, "flows", name, "pc3", [tiny.flow(EAST, WEST)])
        tiny.table(tmp_path, "messages", name, "pc3", [
            tiny.message(9, first_time=tiny.T0 + (first + number) * tiny.MS) for number in (0, 1)
        ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("message_rate").rows(named=True)
    assert [row[f"messages_s{end}"] for end in ("_min", "", "_max", "_most")] == [0, 0, 2, 0]
    assert (row["messages"], row["runs"]) == (2, 1)
    # A median of 0 has no place on a log axis.
    assert 'id="figure-message_rate"' in page.build(tmp_path).html


def test_messages_seen_only_by_the_receiver_are_flagged(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    with_messages(tmp_path, "pc1", [1, 2, 3])
    (row,) = Warehouse(tmp_path).rows("message_rate").rows(named=True)
    assert (row["messages"], row["far_share"]) == (3, 1.0)


WHOLE = {"merged_possible": False, "evidence": "short"}
QUEUED = {"merged_possible": True, "evidence": "short"}
ANSWERED = {"merged_possible": True, "evidence": "turn+short"}
FAR = {"merged_possible": None, "at_sender": False}


@pytest.mark.parametrize(
    ("rows", "most", "shares"),
    [
        # each was sent at once
        ([(100, WHOLE), (300, WHOLE)], 2, (0, 0)),
        # 1,000 bytes were queued, and may be ten writes as small as the one sent alone
        ([(100, WHOLE), (1000, QUEUED)], 11, (0.5, 0.909091)),
        ([(100, WHOLE), (1001, QUEUED)], 12, (0.5, 0.909173)),
        # an answer that follows an answer is one write
        ([(100, WHOLE | {"evidence": "turn+short"}), (1000, ANSWERED)], 2, (0.5, 0.909091)),
        # an answer, but the message before it was none
        ([(100, WHOLE), (1000, ANSWERED)], 11, (0.5, 0.909091)),
        # nothing shows how small a write may be
        ([(1000, QUEUED), (1000, QUEUED)], None, (1, 1)),
        ([(1000, FAR)], None, (1, 1)),
    ],
)
def test_what_was_queued_together_is_reported_with_the_most_that_it_can_be(
    tmp_path: Path, rows: list[Any], most: int | None, shares: tuple[float, float]
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    with_messages(tmp_path, "pc3", [1])
    tiny.table(tmp_path, "messages", "r", "pc3", [
        tiny.message(size, first_time=tiny.T0 + number * tiny.MS, **changes)
        for number, (size, changes) in enumerate(rows)
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("message_rate").rows(named=True)
    # a run of 1 s
    assert (row["messages_s"], row["messages_s_most"]) == (len(rows), most)
    assert (row["merged_share"], row["merged_bytes_share"]) == shares


def test_a_capture_with_many_drops_is_no_source_of_messages(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    with_messages(tmp_path, "pc3", [1, 2, 3], dropped_kernel=5_000)
    assert Warehouse(tmp_path).rows("message_rate").is_empty()


@pytest.mark.parametrize(
    ("evidence", "guessed"),
    [("turn+pause", 0.0), ("short", 0.0), ("close", 0.0), ("pause+push", 1.0), ("push", 1.0)],
)
def test_a_pause_or_a_push_flag_alone_is_a_guess(
    tmp_path: Path, evidence: str, guessed: float
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    with_messages(tmp_path, "pc3", [1])
    tiny.table(tmp_path, "messages", "r", "pc3", [tiny.message(5, evidence=evidence)])
    assert Warehouse(tmp_path).rows("message_rate")["guessed_share"].to_list() == [guessed]


def test_rates_of_once_in_a_year_are_on_the_axis() -> None:
    least, most = message_rate._span([2.76e-8, None, 0.0])
    assert least < 2.76e-8 < most
