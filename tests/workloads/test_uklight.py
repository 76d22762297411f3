"""The UKLight tables beside measured times: what is compared, and how unknowns are chosen."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from flowsweep.analysis import uklight

TABLES = Path(__file__).parents[3] / "shared" / "papers" / "tables"


def record(rtt: str, seconds: float, *, loss: str = "0%", jitter: str = "0ns", size: int = 4):
    asked = {"rtt": rtt, "loss": loss, "jitter": jitter, "buffer": "108KiB"}
    sizes = [{"message_bytes": size << 20, "mean_s": seconds}]
    return {
        "axes": {axis: {"asked": text} for axis, text in asked.items()},
        "application": {"answer": {"sizes": sizes}},
    }


def test_tables_are_those_of_the_paper():
    paths = [TABLES / "uklight_table1_loss.csv", TABLES / "uklight_table2_jitter.csv"]
    if not all(path.exists() for path in paths):
        pytest.skip(f"the published tables are not in {TABLES}")
    expected = {}
    for path in paths:
        for row in csv.DictReader(path.open()):
            loss = float(row.get("loss_percent", 0))
            jitter = float(row.get("jitter_fraction_of_latency", 0))
            cell = uklight.Cell(int(row["message_mb"]), loss, jitter, float(row["latency_ms"]))
            expected[cell] = float(row["transfer_s"])
    assert uklight.published() == expected
    assert len(expected) == 64


def test_latency_is_what_was_added_and_jitter_its_share():
    runs = [
        record("10.1ms", 0.70),
        record("10.1ms", 0.72),
        record("14.1ms", 1.1, jitter="1.6ms"),
        record("26.1ms", 8.0, loss="0.1%", size=16),
        record("10.1ms", 0.9, jitter="1.6ms"),  # a share of no latency: in no table
    ]
    found = uklight.measured(runs)
    assert found == {
        uklight.Cell(4, 0.0, 0.0, 0.0): [0.70, 0.72],
        uklight.Cell(4, 0.0, 0.4, 4.0): [1.1],
        uklight.Cell(16, 0.1, 0.0, 16.0): [8.0],
    }
    off = uklight.errors(found)
    assert off[uklight.Cell(4, 0.0, 0.0, 0.0)] == pytest.approx(0.71 / 0.703 - 1)
    assert [cell for cell in off if uklight.is_chosen_on(cell)] == [uklight.Cell(4, 0.0, 0.0, 0.0)]


def test_one_way_is_the_mean_of_with_and_without():
    lossy, plain = uklight.Cell(4, 1.0, 0.0, 2.0), uklight.Cell(4, 0.0, 0.0, 2.0)
    assert uklight.one_way({lossy: [3.0], plain: [1.0, 2.0]}) == {lossy: [2.25], plain: [1.5]}
    assert uklight.one_way({lossy: [3.0]}) == {}


def test_a_planted_pair_is_chosen():
    """Times as of a window of 62 kB and 10.4 ms, and of two other windows."""
    rows = [
        (buffer, rtt, 4 * uklight.MB / window * rtt / 1e3 + 0.02)
        for buffer, window in ((100_000, 55_000), (110_000, 62_300), (120_000, 70_000))
        for rtt in (9.0, 14.0, 25.0)
    ]
    choice = uklight.choose(rows)
    assert choice.buffer_bytes == 110_000
    assert choice.window_bytes == pytest.approx(62_300, rel=1e-6)
    assert choice.base_ms == pytest.approx(10.2, abs=0.1)
    assert choice.error < 0.02
