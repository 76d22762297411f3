"""The UKLight tables and measured times: comparison, stated values, and fit."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from flowsweep.analysis import uklight
from flowsweep.warehouse.paper_items import cells

ROOT = Path(__file__).parents[2]
TABLES = ROOT.parent / "shared" / "papers" / "tables"


def published() -> dict[tuple[float, ...], float]:
    """Returns the report's seconds by size (MB), loss (%), jitter and latency (ms)."""
    found = {}
    for cell in cells(ROOT / "reports" / "papers" / "uklight"):
        if cell["item"] in ("table 1", "table 2"):
            fields = json.loads(cell["cell"])
            names = ("message_mb", "loss_percent", "jitter", "latency_ms")
            found[tuple(float(fields.get(name, 0)) for name in names)] = cell["published"]
    return found


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


@pytest.mark.parametrize(("size", "row"), [(4.0, uklight.ROW_S), (16.0, uklight.ROW_16_S)])
def test_the_rows_without_loss_are_those_of_the_paper(size, row):
    cells = zip(uklight.LATENCIES_MS, row, strict=True)
    assert {(size, 0.0, 0.0, latency): seconds for latency, seconds in cells} == {
        cell: seconds for cell, seconds in published().items() if cell[:3] == (size, 0.0, 0.0)
    }


def test_the_paper_is_quoted_as_it_says():
    """Except for line breaks, which are not the paper's."""
    path = TABLES.parent / "uklight-mpich-g2-pingpong.txt"
    if not path.exists():
        pytest.skip(f"the paper is not at {path}")
    paper = " ".join(path.read_text().split())
    quotes = re.findall(r'"([^"]+)"', " ".join(str(uklight.__doc__).split()))
    assert len(quotes) == 3
    for quote in quotes:
        # The paper puts the parameter's name in quotes.
        assert quote.rstrip(".") in paper.replace('"', ""), quote
    assert f"measured RTT of {uklight.STATED_RTT_MS:g}ms" in paper
    assert f"to {uklight.STATED_WINDOW_BYTES} in the RSL" in paper


def test_what_the_paper_states_does_not_make_its_times_and_what_fits_does():
    stated, kept, fitted = uklight.models()[:3]
    # 300 Mbit/s stay full up to 14 ms: no growth where the paper's times grow by three quarters
    assert (stated.window_bytes, stated.rtt_ms) == (524_288, 5.0)
    assert all(-0.92 < error < -0.84 for error in stated.errors)
    times = [uklight.window_s(4 * uklight.MB, 524_288, 5 + latency) for latency in (0, 2, 4, 8)]
    assert times == [pytest.approx(4 * uklight.MB * 8 / 300e6)] * 4
    assert uklight.ROW_S[3] / uklight.ROW_S[0] > 1.75
    # with 5 ms no window fits, unless each takes extra time, as at a stage of 90 Mbit/s
    assert fitted.window_bytes * 8 / (fitted.rtt_ms - 5) / 1e3 == pytest.approx(90, abs=1)
    assert max(map(abs, kept.errors)) > 0.2
    assert max(map(abs, fitted.errors)) < 0.02
    assert (fitted.window_bytes, fitted.rtt_ms) == (
        pytest.approx(62_300, rel=0.001), pytest.approx(10.53, abs=0.01)
    )  # fmt: skip


def test_both_sizes_have_the_same_round_trip_time_and_nearly_the_same_window():
    four, sixteen = (one for one in uklight.models() if one.says == "both as they fit")
    assert sixteen.rtt_ms == pytest.approx(four.rtt_ms, rel=0.02)
    assert sixteen.window_bytes == pytest.approx(four.window_bytes, rel=0.1)
    assert max(map(abs, sixteen.errors)) < 0.02


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
    """Times with a window of 62 kB and 10.4 ms, and with two other windows."""
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
