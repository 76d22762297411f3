"""The same traffic in windows of other widths, against plain polars over the tables."""

from __future__ import annotations

import statistics
from pathlib import Path

import polars as pl
import pytest
import tiny
from recomputed import POINT, counted_runs, table

from flowsweep import numbers
from flowsweep.render import page
from flowsweep.render.figure import Context
from flowsweep.render.figures import monitoring
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
BIN_NS = 10_000_000


def windows(run: dict[str, int], bins: pl.DataFrame, width: int) -> list[float]:
    """Returns Mbit/s of each window of a run; the last one includes the silence after the run.

    Args:
        run: A run, with start and end in ns.
        bins: Wire bytes by bin of the run.
        width: Width of a window, in bins.
    """
    count = -(-run["end"] // BIN_NS) - run["start"] // BIN_NS
    held = dict(bins.group_by(pl.col("bin") // width).agg(pl.col("wire_bytes").sum()).rows())
    return [held.get(number, 0) * 8e3 / (width * BIN_NS) for number in range(-(-count // width))]


@pytest.mark.parametrize("window_ms", [10, 1_000, 60_000, 300_000])
def test_each_window_shows_what_passed_in_it(
    window_ms: int, one_app: Path, warehouse: Warehouse
) -> None:
    rows = warehouse.rows("monitoring").filter(
        (pl.col("host") == "pc3") & (pl.col("direction") == "out")
        & (pl.col("window_ms") == window_ms)
    )  # fmt: skip
    assert rows["point"].n_unique() == rows.height == 9
    sent = table(one_app, "throughput").filter(
        (pl.col("host") == "pc3") & (pl.col("src_ip") == EAST)
    )
    runs = counted_runs(one_app)
    for row in rows.rows(named=True):
        peaks, p99s, means = [], [], []
        for run in runs.filter(*(pl.col(key) == row[key] for key in POINT)).rows(named=True):
            first = run["start"] // BIN_NS
            own = sent.filter(pl.col("run") == run["run"]).with_columns(
                bin=pl.col("bin_start").cast(pl.Int64) // BIN_NS - first
            )
            seen = windows(run, own, window_ms // 10)
            peaks.append(max(seen))
            means.append(statistics.fmean(seen))
            allowed = len(seen) * 0.01 + 1e-6
            p99s.append(min(top for top in seen if sum(one > top for one in seen) <= allowed))
        assert row["runs"] == len(peaks)
        assert row["peak_mbit_s"] == pytest.approx(statistics.median(peaks), rel=1e-9)
        assert (row["peak_mbit_s_min"], row["peak_mbit_s_max"]) == pytest.approx(
            (min(peaks), max(peaks)), rel=1e-9
        )
        assert row["mean_mbit_s"] == pytest.approx(statistics.median(means), rel=1e-9)
        true = statistics.median(p99s)
        assert true * 0.999999 <= row["p99_mbit_s"] <= true * 1.0125
        assert row["shorter_runs"] == (row["runs"] if window_ms >= 60_000 else 0)


def test_a_burst_disappears_in_a_wide_window(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, end=tiny.T0 + 600_000 * tiny.MS)])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])
    # 10 ms at 100 Mbit/s in ten minutes
    tiny.table(tmp_path, "throughput", "r", "pc3", tiny.bins(EAST, WEST, {500: 125_000}))
    rows = (
        Warehouse(tmp_path)
        .rows("monitoring")
        .filter((pl.col("direction") == "out") & (pl.col("host") == "pc3"))
    )
    assert rows.select("window_ms", "peak_share").rows() == [
        (10.0, 1.0), (1_000.0, 0.01), (60_000.0, 0.000167), (300_000.0, 0.000033)
    ]  # fmt: skip
    assert rows["peak_mbit_s"].to_list() == pytest.approx([100, 1, 1 / 60, 1 / 300])
    assert rows["mean_mbit_s"].to_list() == pytest.approx([1 / 600] * 4)
    figure = monitoring.draw(drawing(tmp_path))
    assert figure
    assert figure.finding == (
        "app, out: the busiest 10 ms carry 100 Mbit/s, the busiest 300 s only 3.33 kbit/s: "
        "< 0.1 % of it."
    )


def test_no_window_shows_more_than_was_sent_in_all(tmp_path: Path) -> None:
    """A burst lies in the last 410 ms of 2.41 s, as N Queens sends it."""
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, end=tiny.T0 + 2_410 * tiny.MS)])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])
    tiny.table(tmp_path, "throughput", "r", "pc3", tiny.bins(EAST, WEST, {235: 125_000}))
    warehouse = Warehouse(tmp_path)
    out = (pl.col("direction") == "out") & (pl.col("host") == "pc3")
    rows = warehouse.rows("monitoring").filter(out)
    # 1 Mbit in all
    assert rows["peak_mbit_s"].to_list() == pytest.approx([100, 1, 1 / 60, 1 / 300])
    assert rows["shorter_runs"].to_list() == [0, 0, 1, 1]
    seconds = warehouse.rows("throughput_cdf").filter(out & (pl.col("bin_ms") == 1_000))
    assert seconds.select("mbit_s", "share", "bins").rows() == [(0, 0.666667, 3), (1, 1, 3)]


def drawing(directory: Path) -> Context:
    """Returns the context from which a figure of the experiment is drawn."""
    warehouse = Warehouse(directory)
    return Context(warehouse, page._series(warehouse, ()))


def test_a_window_that_a_run_does_not_fill_is_not_compared(one_app: Path) -> None:
    figure = monitoring.draw(drawing(one_app))
    assert figure
    rows = figure.rows.filter(
        pl.col("is_baseline"), pl.col("host") == "pc3", pl.col("window_ms") == 1_000
    )
    peak = rows.sort("peak_mbit_s").row(-1, named=True)
    # The runs take a few seconds: a minute would include the silence after them.
    assert f", median of {peak['runs']} runs: the busiest 10 ms carry" in figure.finding
    assert f"the busiest 1 s only {numbers.estimate(peak['peak_mbit_s'])} Mbit/s" in figure.finding
    assert f"{numbers.share(peak['peak_share'])} of it." in figure.finding
