"""The UKLight tables beside measured times: what is compared, and how unknowns are chosen."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from flowsweep.analysis import uklight

ROOT = Path(__file__).parents[2]
TABLES = ROOT.parent / "shared" / "papers" / "tables"


def published() -> dict[tuple[float, ...], float]:
    """Seconds by size (MB), loss (%), jitter (share) and latency (ms), as the report has them."""
    sql = (ROOT / "reports" / "models" / "published_messages.sql").read_text()
    return {tuple(map(float, row[:4])): float(row[4]) for row in duckdb.sql(sql).fetchall()}


def test_tables_are_those_of_the_paper():
    paths = [TABLES / "uklight_table1_loss.csv", TABLES / "uklight_table2_jitter.csv"]
    if not all(path.exists() for path in paths):
        pytest.skip(f"the published tables are not in {TABLES}")
    expected = {}
    for path in paths:
        for row in csv.DictReader(path.open()):
            loss = float(row.get("loss_percent", 0))
            jitter = float(row.get("jitter_fraction_of_latency", 0))
            cell = (float(row["message_mb"]), loss, jitter, float(row["latency_ms"]))
            expected[cell] = float(row["transfer_s"])
    assert published() == expected
    assert len(expected) == 64


def test_the_unknowns_are_chosen_on_the_row_of_4_mb_without_loss():
    row = zip(uklight.LATENCIES_MS, uklight.ROW_S, strict=True)
    assert {(4.0, 0.0, 0.0, latency): seconds for latency, seconds in row} == {
        cell: seconds for cell, seconds in published().items() if cell[:3] == (4.0, 0.0, 0.0)
    }


def record(rtt: str, seconds: float, *, loss: str = "0%", size: int = 4) -> dict:
    asked = {"rtt": rtt, "loss": loss, "buffer": "108KiB"}
    sizes = [{"message_bytes": size << 20, "mean_s": seconds}]
    return {
        "axes": {axis: {"asked": text} for axis, text in asked.items()},
        "application": {"answer": {"sizes": sizes}},
    }


def test_other_cells_have_no_say_in_the_choice():
    runs = [
        record("10.1ms", 0.7),
        record("14.1ms", 0.9),
        record("10.1ms", 9.9, loss="0.1%"),
        record("10.1ms", 2.7, size=16),
    ]
    assert uklight.rows_of(runs) == [(110_592, 10.1, 0.7), (110_592, 14.1, 0.9)]


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
