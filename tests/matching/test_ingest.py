"""`flowsweep ingest --match`, and the queries on one-way delays and losses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import forks
import matched_demo
import polars as pl
import pytest
from spoiled import DEMO

from flowsweep.analysis import adds_up
from flowsweep.warehouse import Warehouse

RUNS = ("nqueens-rtt_64ms-r1", "nqueens-baseline-r1")


def flowsweep(*words: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", *words, timeout=300)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matched_demo.make(tmp_path_factory.mktemp("matched"), RUNS)


def test_delays_are_those_that_match_prints(results: Path, tmp_path: Path) -> None:
    from flowsweep.matching import delays

    rows = Warehouse(results).rows("one_way_delay")
    for run in RUNS:
        done = flowsweep("match", DEMO / run, "--output", tmp_path / run)
        assert done.returncode == 0, done.stderr
        ours = {
            (row["sender"], row["receiver"]): row
            for row in rows.filter(pl.col("run") == run).to_dicts()
        }
        printed = delays.summarise(tmp_path / run)
        assert len(printed) == len(ours) >= 6
        for path in printed:
            row = ours[path["sender"], path["receiver"]]
            assert row["packets"] == path["packets"]
            for name in ("queue_p50", "queue_p99"):
                assert row[f"{name}_ms"] == pytest.approx(path[f"{name}_ns"] / 1e6), name
            is_known = path["delay_error_ns"] <= 1.25 * path["delay_min_ns"]
            assert is_known == row["is_between_sites"]
            for name in ("delay_min", "delay_p50", "delay_p99"):
                expected = pytest.approx(path[f"{name}_ns"] / 1e6) if is_known else None
                assert row[f"{name}_ms"] == expected, name


def test_delays_grow_by_half_of_the_round_trip_and_queues_by_what_they_hold(results: Path) -> None:
    rows = Warehouse(results).rows("one_way_delay").filter(pl.col("is_between_sites"))
    assert set(rows["rtt_asked_ms"]) == {0.3, 64.0}
    for row in rows.to_dicts():
        assert row["delay_min_ms"] == pytest.approx(row["rtt_ms"] / 2, abs=0.05)
        full_queue_ms = row["queue_bytes"] * 8 / (row["rate_mbit_s"] * 1e3)
        assert row["queue_p99_ms"] < full_queue_ms * 1.05 + 3


def test_the_grade_of_a_capture_says_what_is_known_of_its_clock(tmp_path: Path) -> None:
    """Clock errors of 250 ns and of 500 us against a delay of 1 ms, and an unknown one."""
    import tiny

    tiny.runs(tmp_path, [tiny.run(name, baseline=True) for name in ("near", "far", "none")])
    for run, error in (("near", 250), ("far", tiny.MS // 2), ("none", None)):
        for ends in (("pc1", "pc3"), ("pc3", "pc1")):
            tiny.table(tmp_path, "captures", run, ends[0], [tiny.capture()])
            tiny.sent(tmp_path, run, *ends, "aaa", error)
    warehouse = Warehouse(tmp_path)
    rows = warehouse.select("select run, grade, has_delays, reasons from captures")
    found = {row["run"]: row for row in rows.iter_rows(named=True)}
    assert {run: row["grade"] for run, row in found.items()} == {
        "near": "A",
        "far": "B",
        "none": "C",
    }
    assert found["near"]["reasons"] == ""
    assert "± 500 µs" in found["far"]["reasons"]
    assert "no claim on one-way delays" in found["none"]["reasons"]
    assert {run: row["has_delays"] for run, row in found.items()} == {
        "near": True, "far": True, "none": False,
    }  # fmt: skip


def test_every_packet_has_one_fate_and_claims_hold(results: Path) -> None:
    warehouse = Warehouse(results)
    rows = warehouse.rows("losses_by_place")
    fates = pl.concat(
        pl.read_parquet(path) for path in (results / "tables").rglob("fates.parquet")
    ).filter(pl.col("sender").is_not_null() & pl.col("receiver").is_not_null())
    assert rows["packets"].sum() == len(fates)
    assert rows["lost"].sum() == fates.filter(pl.col("fate") == "lost").height > 0
    with_losses = rows.filter(pl.col("lost") > 0)
    assert (with_losses["loss_bursts"] > 0).all()
    assert (with_losses["longest_loss_burst"] <= with_losses["lost"]).all()
    for name in ("one_way_delay", "losses_by_place"):
        assert adds_up.contradictions(warehouse, [name]) == []


def test_what_is_lost_or_unknown_between_the_sites_is_what_the_emulator_dropped(results) -> None:
    rows = Warehouse(results).rows("losses_by_place").filter(pl.col("is_between_sites"))
    for run in RUNS:
        about = json.loads((DEMO / run / "run.json").read_text())
        own = rows.filter(pl.col("run") == run)
        dropped = sum(link["dropped_queue"] for link in about["emulator"]["links"])
        assert own["lost"].sum() + own["unknown"].sum() == dropped, run


def test_bursts_are_losses_without_an_arrival_between_them(tmp_path: Path) -> None:
    import tiny

    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.sent(tmp_path, "r", "pc1", "pc3", "axxaxa?xx")
    tiny.sent(tmp_path, "r", "pc3", "pc1", "aaa")
    there, back = Warehouse(tmp_path).rows("losses_by_place").sort("sender").to_dicts()
    assert (there["packets"], there["delivered"], there["lost"], there["unknown"]) == (9, 3, 5, 1)
    assert (there["loss_bursts"], there["longest_loss_burst"]) == (3, 2)
    assert there["lost_share"] == pytest.approx(5 / 8)
    assert there["lost_bytes_share"] == pytest.approx(5 * 250 / 8_000)
    assert back["lost_bytes_share"] == 0
    assert (back["lost"], back["loss_bursts"], back["longest_loss_burst"]) == (0, 0, None)


def test_a_run_that_cannot_be_matched_has_its_other_tables(tmp_path: Path) -> None:
    run = tmp_path / "alone"
    run.mkdir()
    (run / "pc1.pcap.zst").symlink_to(DEMO / RUNS[0] / "pc1.pcap.zst")
    done = flowsweep("ingest", "--match", run, "--output", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert "not matched" in done.stderr
    assert "captures of two hosts or more" in done.stderr
    assert [*(tmp_path / "tables").rglob("flows.parquet")]
    assert not [*(tmp_path / "tables").rglob("fates.parquet")]
