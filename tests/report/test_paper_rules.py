"""A verdict on a paper's value is lost when the property that its rule is about is broken.

Each case takes the kept rows of a whole experiment, breaks what was measured, and judges again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from flowsweep.warehouse import kept_papers, reports_folder

HELD = ("reproduced", "same shape")
Change = Callable[[pl.DataFrame], pl.DataFrame]


def times(factor: float, *, column: str = "completion_s", **where: object) -> Change:
    """Returns a change that multiplies a column in the rows with these values."""

    def changed(rows: pl.DataFrame) -> pl.DataFrame:
        is_met = pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in where.items())
        assert rows.filter(is_met).height > 0
        return rows.with_columns(
            pl.when(is_met).then(pl.col(column) * factor).otherwise(column).alias(column)
        )

    return changed


def exchanged(one: str, other: str) -> Change:
    """Returns a change that swaps the times of two variants."""

    def changed(rows: pl.DataFrame) -> pl.DataFrame:
        assert {one, other} <= {*rows["variant"]}
        return rows.with_columns(pl.col("variant").replace({one: other, other: one}))

    return changed


def renamed(one: str, other: str) -> Change:
    """Returns a change that puts the runs of one point in place of those of another."""

    def changed(rows: pl.DataFrame) -> pl.DataFrame:
        left = rows.filter(~pl.col("run").str.contains(other, literal=True))
        assert 0 < left.height < rows.height
        return left.with_columns(pl.col("run").str.replace(one, other, literal=True))

    return changed


LATE = {"rtt_asked_ms": 64.3, "buffer_bytes": 16_384}
#: By broken property: experiment, file, change, and the values that are lost.
BROKEN: dict[str, tuple[str, str, Change, list[tuple[str, str]]]] = {
    "N Queens does not get slower with the RTT": (
        "kitatsuji", "run_table", times(1 / 2.9, app="nqueens", **LATE), [("figure 5", "nqueens")],
    ),
    "jigsaw gets slower with the RTT": (
        "kitatsuji", "run_table", times(1.2, app="jigsaw", **LATE), [("figure 5", "jigsaw")],
    ),
    "a larger problem of LU sends half of what it should": (
        "kitatsuji", "published",
        lambda rows: times(0.5, column="ours", key="ssor large in_mb")(
            times(0.5, column="ours", key="ssor large out_mb")(rows)
        ),
        [("section 4 growth", "ssor data")],
    ),
    "large messages count most, autonomous flushing least": (
        "das3", "completion", exchanged("no-flush", "no-large"),
        [("section 5 parts", "no-flush"), ("section 5 parts", "no-large")],
    ),
    "the stricter limit of flushes makes model checking slower": (
        "das3", "completion", times(1.2, variant="flush-50", app="modelcheck"),
        # no value is lost while the milder limit holds
        [],
    ),
    "both limits of flushes make model checking slower": (
        "das3", "completion",
        lambda rows: times(1.2, variant="flush-50")(times(1.2, variant="flush-200")(rows)),
        [("section 3.1.1 limited", "all")],
    ),
    "a film gains from a second lightpath": (
        "das3", "completion", times(0.9, app="video2k", links=2), [("section 3.2.1 more", "2K")],
    ),
    "a second lightpath saves the supernova farm as much as the first": (
        "das3", "completion", times(0.5, app="supernova", links=2),
        [("section 3.3.1 second", "all")],
    ),
    "jitter costs by its share of the latency": (
        "uklight", "run_table",
        renamed("16777216-rtt_26.1ms-jitter_12.8ms", "16777216-rtt_26.1ms-jitter_800us"),
        [("table 2", "16 0.8 ms 16"), ("reading of jitter", "ms")],
    ),
    "task scheduling does not get slower with the RTT": (
        "kitatsuji", "run_table",
        times(0.5, app="taskgraph", rtt_asked_ms=64.3),
        [("figure 5", "taskgraph")],
    ),
    "LU gets no slower with the RTT": (
        "kitatsuji", "run_table", times(1 / 1.5, app="ssor", rtt_asked_ms=64.3),
        [("figure 5", "ssor")],
    ),
    "a small film over the Internet has half of its frames": (
        "das3", "published",
        times(0.5, column="ours", item="figures 6 to 8", key="1K internet"),
        [("figures 6 to 8", "1K internet")],
    ),
    "the routed path carries less than the switched one": (
        "lambdastream", "published", times(0.9, column="ours", item="comparable"),
        [("comparable", "all")],
    ),
    "the second lightpath doubles the peak of model checking": (
        "das3", "published", times(2, column="ours", item="figure 3", key="peaks"),
        [("figure 3", "peaks")],
    ),
    "loss of 0.1 % costs half as much again": (
        "uklight", "published", times(1.5, column="ours", key="16 0.1 16"),
        [("table 1", "16 0.1 16")],
    ),
    "a longer path makes messages no slower": (
        "uklight", "published", times(0.5, column="ours", key="16 0 16"),
        [("table 1", "16 0 16")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_fails_where_its_property_is_broken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, file, change, lost = BROKEN[name]
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    folder = reports / "papers" / "measured" / experiment
    before = verdicts(folder)
    path = folder / f"{file}.csv"
    change(pl.read_csv(path, infer_schema_length=None)).write_csv(path)
    after = verdicts(folder)
    for one in lost:
        assert before[one] in HELD, one
        assert after[one] == "not reproduced", one
    if not lost:
        assert after == before


def verdicts(folder: Path) -> dict[tuple[str, str], str]:
    rows = kept_papers.rows(folder).select("item", "key", "verdict").rows()
    return {(item, key): verdict for item, key, verdict in rows}
