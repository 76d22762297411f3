"""Queries on what an application reports from inside: phases and MPI calls."""

from __future__ import annotations

import json
from pathlib import Path

import tiny
from grid import HOSTS, RANKS, make_record, rows

from flowsweep.render.figures import phase_times
from flowsweep.runs import run_records
from flowsweep.warehouse import Warehouse


def test_phases_are_summed_over_their_spans(tmp_path: Path) -> None:
    phases = [
        {"name": name, "rank": rank, "start_s": start, "end_s": end}
        for name, rank, start, end in (
            ("busy", 2, 1.0, 3.0), ("sync", 2, 3.0, 3.5), ("busy", 2, 4.0, 4.5), ("init", 0, 0, 1),
            ("busy", 1, 0.0, 4.0), ("sync", 1, 1.0, 2.0), ("sync", 1, 3.0, 4.5),
        )
    ]  # fmt: skip
    tiny.runs(tmp_path, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=make_record(ranks=RANKS, phases=phases),
                 completion_s=5.0)
    ])  # fmt: skip
    found = [
        (row["rank"], row["site"], row["phase"], row["spans"], row["phase_s"], row["share"])
        for row in rows(tmp_path, "phase_times")
    ]
    assert found == [
        (0, "west", "init", 1, 1.0, 0.2),
        (1, "west", "busy", 1, 4.0, 0.8),
        (1, "west", "sync", 2, 2.5, 0.5),
        (2, "east", "busy", 2, 2.5, 0.5),
        (2, "east", "sync", 1, 0.5, 0.1),
    ]
    overlap = {row["rank"]: row["overlap_s"] for row in rows(tmp_path, "phase_times")}
    assert overlap == {0: 0.0, 1: 2.0, 2: 0.0}
    busy = rows(tmp_path, "phase_times", phase="busy")[1]
    assert (busy["longest_s"], busy["first_start_s"], busy["last_end_s"]) == (2.0, 1.0, 4.5)


def test_bars_of_phases_stand_in_the_order_of_the_points(tmp_path: Path) -> None:
    phases = [{"name": "busy", "rank": 0, "start_s": 0.0, "end_s": 1.0}]
    record = make_record(ranks=RANKS, phases=phases)
    tiny.runs(tmp_path, [
        tiny.run(f"r{name}", baseline=rtt == 1, hosts=HOSTS, json=record, completion_s=5.0,
                 rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS)
        for name, rtt in enumerate([7, 3, 40, 1, 12, 30, 5, 2, 60, 20, 9, 50] * 3)
    ])  # fmt: skip
    found = Warehouse(tmp_path).rows("phase_times")
    bars, _ = phase_times._means(found)
    assert bars["rtt_ms"].to_list() == found["rtt_ms"].unique(maintain_order=True).to_list()
    assert bars["is_baseline"].to_list() == [True] + [False] * 11


def test_mpi_costs_per_call(tmp_path: Path) -> None:
    mpi = {"send": {"calls": 4, "seconds": 0.002}, "probe_found": {"calls": 0, "seconds": 0.0}}
    ranks = [RANKS[0] | {"mpi": mpi}, RANKS[2]]
    tiny.runs(tmp_path, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=make_record(ranks=ranks), completion_s=0.5)
    ])  # fmt: skip
    found = rows(tmp_path, "mpi_costs")
    assert [(row["primitive"], row["calls"], row["call_us"], row["share"]) for row in found] == [
        ("probe_found", 0, None, 0.0), ("send", 4, 500.0, 0.004)
    ]  # fmt: skip
    assert {(row["rank"], row["host"], row["site"]) for row in found} == {(0, "pc1", "west")}


def test_app_json_beside_a_hand_written_record_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"axes": {"rtt": "5ms"}, "hosts": [{"name": "pc1"}]}')
    phases = [{"name": "busy", "rank": 0, "start_s": 0.5, "end_s": 2.0}]
    application = json.loads(make_record(ranks=RANKS, phases=phases))["application"]
    (folder / "app.json").write_text(json.dumps(application | {"completion_s": 3.0}))
    run_records.write_table(tmp_path / "runs", tmp_path / "tables" / "runs.parquet", None)
    (row,) = rows(tmp_path, "phase_times")
    assert (row["phase"], row["phase_s"], row["share"], row["rtt_ms"]) == ("busy", 1.5, 0.5, 5.0)
