"""Host clocks a minute apart are found, corrected and reported, in a real capture."""

from __future__ import annotations

import re
import shutil
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import forks
import polars as pl
import pytest
import shifted

from flowsweep.render.figures import clocks as drawing
from flowsweep.warehouse import Warehouse

ROOT = Path(__file__).parents[2]
CAPTURED = ROOT / "workflows" / "experiments" / "captured" / "demo" / "runs"
RUNS = ("nqueens-baseline-r1", "nqueens-rtt_16ms-r1")
#: Seconds by which these hosts' clocks are ahead of those of pc1 and pc4.
AHEAD = {"pc2": -45.5, "pc3": 60.0}
#: Queries whose rows depend on times within the run.
OVER_TIME = ("throughput_series", "wan_throughput", "monitoring", "throughput_cdf", "peak_by_ranks",
             "lightpaths", "transfer_activity", "message_rate", "totals")  # fmt: skip


def results(folder: Path, clocks: dict[str, float]) -> Path:
    """Parses two runs of the demo after shifting each host's clock by the given seconds."""
    out = folder / "results" / "apart"
    for run in RUNS:
        (folder / "runs" / run).mkdir(parents=True)
        for path in (CAPTURED / run).iterdir():
            host = path.name.partition(".")[0]
            if not path.name.endswith(".zst"):
                shutil.copy(path, folder / "runs" / run)
                continue
            data = shifted.ahead(path, clocks.get(host, 0.0))
            (folder / "runs" / run / f"{host}.pcap").write_bytes(data)
    experiment = folder / "experiment.yaml"
    experiment.write_text("title: clocks\n")
    for words in (
        *(["ingest", "--output", out / "tables", "--bin", "10ms", folder / "runs" / run]
          for run in RUNS),
        ["runs", f"--experiment={experiment}", "--output", out / "tables/runs.parquet",
         folder / "runs"],
    ):  # fmt: skip
        forks.run("flowsweep", *words, timeout=120).check_returncode()
    shutil.copy(experiment, out)
    return out


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(results(tmp_path_factory.mktemp("apart"), AHEAD))


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(results(tmp_path_factory.mktemp("together"), {}))


def test_each_offset_is_found_within_the_round_trip(apart: Warehouse) -> None:
    rows = apart.rows("clocks")
    assert rows.height == 8
    for row in rows.rows(named=True):
        truth = 1e3 * (AHEAD.get(row["host"], 0) - AHEAD.get(row["beside"], 0))
        # All hosts of the demo share one clock, and only the RTT widens the bounds.
        assert row["low_ms"] <= truth <= row["high_ms"]
        assert row["high_ms"] - row["low_ms"] < 40
        assert row["offset_ms"] == pytest.approx(truth, abs=1.0)
        assert row["is_put_right"] == (row["host"] in AHEAD)
        assert row["put_back_ms"] == pytest.approx(1e3 * AHEAD.get(row["host"], 0), abs=1.0)


def test_the_bounds_are_those_of_the_tables(apart: Warehouse) -> None:
    """Recomputed in Python from connections: a packet arrives after it was sent, either way."""
    for run in RUNS:
        seen: dict[str, dict[tuple[object, ...], tuple[int, int]]] = {}
        for path in apart.directory.glob(f"tables/run={run}/host=*/flows.parquet"):
            host = path.parent.name.removeprefix("host=")
            flows = pl.read_parquet(path).filter(pl.col("protocol") == "tcp")
            forth = flows.filter((pl.col("direction") == "forward") & (pl.col("start") == "syn"))
            answers = flows.filter(pl.col("direction") == "backward")
            first = pl.col("first_time").dt.epoch("ns")
            back = dict(answers.select("connection", first).iter_rows())
            seen[host] = {
                (row["src_ip"], row["src_port"], row["dst_ip"], row["dst_port"]): (
                    row["first_ns"],
                    back[row["connection"]],
                )
                for row in forth.with_columns(
                    first_ns=pl.col("first_time").dt.epoch("ns")
                ).iter_rows(named=True)
                if row["connection"] in back
            }
        clocks = {
            (row["beside"], row["host"]): row
            for row in apart.rows("clocks").filter(pl.col("run") == run).iter_rows(named=True)
        }
        compared = 0
        for beside, host in permutations(seen, 2):
            both = seen[beside].keys() & seen[host].keys()
            row = clocks.get((beside, host))
            if row is None or not both:
                continue
            ways = [
                sorted(
                    there - here
                    for here, there in zip(seen[beside][key], seen[host][key], strict=True)
                )
                for key in both
            ]
            low, high = max(low for low, _ in ways), min(high for _, high in ways)
            assert (row["low_ms"], row["high_ms"]) == pytest.approx((low / 1e6, high / 1e6))
            assert row["connections"] == len(both)
            compared += 1
        assert compared == 3


@pytest.mark.parametrize("name", OVER_TIME)
def test_what_rests_on_times_is_as_with_one_clock(
    apart: Warehouse, together: Warehouse, name: str
) -> None:
    found, expected = apart.rows(name), together.rows(name)
    assert expected.height > 0
    exact = [column for column, kind in expected.schema.items() if not kind.is_float()]
    assert found.select(exact).sort(exact).equals(expected.select(exact).sort(exact))
    for column in set(expected.columns) - set(exact):
        # Offsets are known to within a few microseconds.
        ours, theirs = (
            frame[column].drop_nulls().drop_nans().sort().to_list() for frame in (found, expected)
        )
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3), column


def test_the_capture_says_so(apart: Warehouse, together: Warehouse) -> None:
    reasons = apart.rows("run_quality").select("host", "grade", "grade_reasons").unique()
    for host, grade, why in reasons.iter_rows():
        if host in AHEAD:
            way = "ahead of" if AHEAD[host] > 0 else "behind"
            assert grade == "B"
            seconds = abs(AHEAD[host])
            assert f"its clock was {seconds:.3f} s {way} that of most hosts" in why
        else:
            assert "clock" not in why
    assert not together.rows("run_quality")["grade_reasons"].str.contains("clock").any()


def test_the_report_lists_the_clocks_that_were_put_right(
    apart: Warehouse, together: Warehouse
) -> None:
    html = drawing.draw(SimpleNamespace(rows=apart.rows))  # type: ignore[arg-type]
    assert html is not None
    rows = re.findall(r"<tr>\s*<td[^>]*>([^<]*)</td>\s*<td[^>]*>([^<]*)</td>", html)
    assert sorted(rows) == sorted((run, host) for run in RUNS for host in AHEAD)
    assert drawing.draw(SimpleNamespace(rows=together.rows)) is None  # type: ignore[arg-type]


def test_clocks_within_a_second_are_left_as_they_are(tmp_path: Path) -> None:
    warehouse = Warehouse(results(tmp_path, {"pc3": 0.9}))
    rows = warehouse.rows("clocks").filter(pl.col("host") == "pc3")
    assert rows["offset_ms"].to_list() == pytest.approx([900, 900], abs=1)
    assert rows["put_back_ms"].to_list() == [0, 0]
