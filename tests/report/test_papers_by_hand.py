"""The values of the papers' items, recomputed by hand from a few runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.warehouse import Warehouse

TEN = [
    {"name": f"{site}{number}", "site": site, "address": f"10.77.{place}.{number}"}
    for place, site in enumerate(("chicago", "sandiego"), 1)
    for number in (1, 2)
]


def published(directory: Path, paper: str) -> dict[tuple[str, str], tuple[float | None, str]]:
    """Returns our value and the verdict, by item and key."""
    (directory / "experiment.yaml").write_text(f"papers: [{paper}]\n")
    rows = Warehouse(directory).rows("published").rows(named=True)
    return {(row["item"], row["key"]): (row["ours"], row["verdict"]) for row in rows}


def files_sent(name: str, streams: int, mbit_s: float, **changes: Any) -> dict[str, Any]:
    """Makes a run of `bulk` in which each stream sends three files of 2 s, begun 1 s apart."""
    application = {
        "problem": {"transport": "lambda"},
        "answer": {"streams": [{"mbit_s": mbit_s}] * streams},
        "ranks": [{"rank": rank, "host": host["name"]} for rank, host in enumerate(TEN)],
        "transfers": [
            {"name": "file", "from": rank, "to": 2 + rank, "bytes": 10,
             "start_s": start, "end_s": start + 2.0}
            for rank in range(streams) for start in (0.5, 1.5, 2.5)
        ],
    }  # fmt: skip
    row = tiny.run(name, app="lambda", hosts=TEN, json=json.dumps({"application": application}))
    row |= {"problem": '{"files": 3, "source": "disk", "target": "disk", "transport": "lambda"}'}
    row |= {"rtt_asked_ns": 78_300_000, "rtt_measured_ns": 78_300_000, "loss": None}
    return row | changes


def test_files_over_several_streams(tmp_path: Path) -> None:
    far = {"rtt_asked_ns": 56_200_000, "rtt_measured_ns": 56_200_000}
    tiny.runs(tmp_path, [
        files_sent("all", 2, 46.0, baseline=True),
        files_sent("one", 1, 46.0, hosts_per_site=1),
        files_sent("far", 2, 40.0, **far),
        files_sent("teragrid", 2, 45.0, **far, rate_asked_bit_s=96e6, rate_measured_bit_s=96e6),
    ])  # fmt: skip
    found = published(tmp_path, "evl")
    assert found["cluster", "streams"] == (2, "set-up")
    assert found["cluster", "files"] == (6, "set-up")
    assert found["cluster", "minutes"][0] == pytest.approx(4 / 60, abs=1e-4)
    assert found["cluster", "hosts chicago"][0] == 2
    assert found["saturated", "all"] == (0.92, "same shape")
    assert found["throughput", "cavewave disk_to_disk"][0] == pytest.approx(0.092)
    # At TeraGrid's own rate, where it was swept.
    assert found["throughput", "teragrid disk_to_disk"][0] == pytest.approx(0.090)
    assert found["comparable", "all"] == (pytest.approx(0.090 / 0.092, abs=1e-4), "same shape")
    assert found["paths", "teragrid link"][0] == pytest.approx(0.096)
    assert found["paths", "cavewave link"][0] == pytest.approx(0.1)


def test_one_stream_is_no_cluster(tmp_path: Path) -> None:
    row = files_sent("one", 1, 93.0, baseline=True)
    tiny.runs(tmp_path, [row | {"problem": '{"transport": "lambda"}'}])
    found = published(tmp_path, "evl")
    reason = "not here, because one host at each site sends one stream; lambdastream-files has ten"
    assert found["cluster", "streams"] == (None, reason)
    assert found["saturated", "all"] == (None, reason)


def awari(name: str, **changes: Any) -> dict[str, Any]:
    """Makes a run of two ranks at two sites; rank 0 is busy at 0.1 to 0.2 s and 0.305 to 0.31 s."""
    application = {
        "ranks": [{"rank": rank, "host": host["name"]} for rank, host in enumerate(tiny.HOSTS)],
        "phases": [
            {"name": "busy", "rank": 0, "start_s": 0.1, "end_s": 0.2},
            {"name": "busy", "rank": 0, "start_s": 0.305, "end_s": 0.31},
            {"name": "sync", "rank": 0, "start_s": 0.2, "end_s": 0.305},
            {"name": "sync", "rank": 1, "start_s": 0.0, "end_s": 1.0},
        ],
    }
    record = json.dumps({"application": application})
    return tiny.run(name, app="awari", ranks=2, variant=None, json=record) | changes


def test_what_awari_sends_while_it_is_busy(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [awari("with", baseline=True), awari("without", variant="none")])
    west, east = (host["address"] for host in tiny.HOSTS)
    for run, size in (("with", 3_000_000), ("without", 2_000_000)):
        # In bin 30 a rank is busy for half of the time.
        bins = {10: 4_000, 19: 4_000, 30: 1_000, 50: 4_500}
        tiny.table(tmp_path, "throughput", run, "pc1", tiny.bins(west, east, bins))
        flow = tiny.flow(west, east, wire_bytes=size, payload_bytes=size - 10)
        tiny.table(tmp_path, "flows", run, "pc1", [flow])
        tiny.table(tmp_path, "captures", run, "pc1", [tiny.capture()])
    found = published(tmp_path, "verstoep")
    busy, otherwise = 8_500 / 0.105, 5_000 / 0.895
    assert found["figure 3", "all"][0] == pytest.approx(busy / otherwise, rel=1e-4)
    assert found["figure 3", "all"][1] == "same shape"
    assert found["figures 3, 5 and 8", "core"][0] == pytest.approx(2 / 2)
    assert found["figures 3, 5 and 8", "share"][0] == 1
    assert found["figure 8", "all"] == (1.5, "same shape")


def test_a_busy_phase_that_sends_no_more_is_not_the_papers(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [awari("with", baseline=True)])
    west, east = (host["address"] for host in tiny.HOSTS)
    bins = dict.fromkeys(range(100), 1_000)
    tiny.table(tmp_path, "throughput", "with", "pc1", tiny.bins(west, east, bins))
    tiny.table(tmp_path, "captures", "with", "pc1", [tiny.capture()])
    found = published(tmp_path, "verstoep")
    assert found["figure 3", "all"] == (pytest.approx(1), "not reproduced")
