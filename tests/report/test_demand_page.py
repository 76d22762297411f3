"""Figures and tables of traffic between sites and of what the application reports."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import tiny
from valid_charts import valid

from flowsweep.render import page
from flowsweep.render.figure import Context
from flowsweep.render.figures import (
    fairness,
    lightpaths,
    mpi_costs,
    peak_by_ranks,
    phase_times,
    throughput_per_core,
    transfer_activity,
    transfer_raster,
    transfer_table,
    transfer_times,
    wan_throughput,
)
from flowsweep.warehouse import Warehouse

HOSTS = [
    {"name": f"{site}{number}", "site": site, "address": f"10.77.{place}.{number}"}
    for place, site in enumerate(("uva", "vu", "lu"), start=1)
    for number in (1, 2)
]
RANKS = [host["name"] for host in HOSTS]
LONG = "a problem with a name that is much longer than any panel is wide, and goes on " * 3


def application(count: int, seconds: float, chance: random.Random) -> dict[str, Any]:
    """Returns a record with phases, transfers from rank 0, and MPI costs, of `count` ranks."""
    names = (("init", 0.0, 0.2), ("busy", 0.2, 0.7), ("sync", 0.7, 1.0))
    spans = []
    for number in range(24):
        begin = chance.uniform(0, seconds * 0.8)
        to = 1 + number % (count - 1)
        spans.append({
            "name": "job", "from": 0, "to": to, "bytes": 10 ** chance.randrange(3, 7),
            "start_s": begin, "end_s": begin + seconds * 0.1,
        })  # fmt: skip
    return {
        "start": "2026-01-01T00:00:00.000000000Z",
        "end": f"2026-01-01T00:00:{seconds:012.9f}Z",
        "phases": [
            {"name": name, "rank": rank, "start_s": a * seconds, "end_s": b * seconds}
            for rank in range(count)
            for name, a, b in names
        ],
        "transfers": spans,
        "ranks": [
            {"rank": rank, "host": RANKS[rank],
             "mpi": {"send": {"calls": 100, "seconds": 0.01},
                     "probe_failed": {"calls": 9_000, "seconds": 0.5}}}
            for rank in range(count)
        ],
        "answer": {"sizes": [{"message_bytes": 1 << 22, "mean_s": seconds}]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes two applications, one with a long name, on three sites: ranks, rates, latency vary."""
    directory = tmp_path_factory.mktemp("demand")
    chance = random.Random(3)
    runs = []
    for app, problem in (("farm", "{}"), ("grid", json.dumps({"p": LONG}))):
        for point, count, seconds, changes in (
            ("base", 6, 2.0, {"baseline": True}),
            ("few", 3, 2.5, {"ranks": 3}),
            ("slow", 6, 4.0, {"rate_asked_bit_s": 1e7, "rate_measured_bit_s": 1e7}),
            ("far", 6, 3.0, {"rtt_asked_ns": 17 * tiny.MS, "loss": 0.01}),
        ):
            run = f"{app}-{point}"
            record = {"application": application(count, seconds, chance)}
            runs.append(tiny.run(
                run, app=app, problem=problem, hosts=HOSTS, json=json.dumps(record),
                completion_s=seconds, end=tiny.T0 + round(seconds * 1000) * tiny.MS,
                **{"ranks": 6} | changes,
            ))  # fmt: skip
            for host in HOSTS:
                series = [
                    entry
                    for other in HOSTS
                    if other["site"] != host["site"]
                    for entry in tiny.bins(host["address"], other["address"], {
                        number: chance.randrange(60_000)
                        for number in range(round(seconds * 100)) if chance.random() < 0.3
                    })
                ]  # fmt: skip
                tiny.table(directory, "captures", run, host["name"], [tiny.capture()])
                tiny.table(directory, "throughput", run, host["name"], series)
    return tiny.runs(directory, runs)


FIGURES = (
    wan_throughput.draw, peak_by_ranks.draw, throughput_per_core.draw, transfer_activity.draw,
    transfer_times.draw, transfer_raster.draw, phase_times.draw,
)  # fmt: skip
TABLES = (
    lightpaths.draw, mpi_costs.draw, transfer_table.draw, fairness.draw,
)  # fmt: skip


def context(directory: Path) -> Context:
    warehouse = Warehouse(directory, is_anew=True)
    return Context(warehouse, page._series(warehouse, ""))


@pytest.mark.parametrize("make", FIGURES)
def test_every_figure_is_valid_vega_lite(experiment: Path, make: Any) -> None:
    figure = make(context(experiment))
    valid(figure.chart)
    assert figure.rows.height


@pytest.mark.parametrize("make", [*FIGURES, *TABLES])
def test_nothing_is_shown_without_data(tmp_path: Path, make: Any) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    assert make(context(tmp_path)) is None


def test_the_page_has_them_all(experiment: Path) -> None:
    html = page.build(experiment).html.replace("\u00a0", " ")
    for name in ("wan_throughput", "peak_by_ranks", "throughput_per_core", "transfer_activity",
                 "transfer_times", "transfer_raster", "phase_times"):  # fmt: skip
        assert f'<figure id="figure-{name}">' in html
    for name in ("lightpaths", "mpi_costs", "transfer_table"):
        assert f'<div class="part" id="part-{name}">' in html
    assert "How many lightpaths of 100 Mbit/s the demand needs" in html


def test_the_heat_table_has_a_cell_for_what_was_measured_only(experiment: Path) -> None:
    html = str(transfer_table.draw(context(experiment)))
    # for each of two applications: the baseline, 3 ranks, 10 Mbit/s, 1 % loss at 16 ms
    assert html.count('class="heat') == 8
    assert html.count("–") == 8  # noqa: RUF001
    assert "16 ms" in html


def test_a_demand_that_the_links_cut_off_is_marked(experiment: Path) -> None:
    html = str(lightpaths.draw(context(experiment)))
    rows = [row for row in re.findall(r"<tr>(.*?)</tr>", html, flags=re.DOTALL) if "lu, uva" in row]
    assert {("10.0 Mbit/s" in row) for row in rows if "at least" in row} == {True}


def test_connections_that_stay_are_no_transfers(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])

    def connections(length_ms: int) -> list[dict[str, Any]]:
        return [
            tiny.flow(
                "10.77.2.1", "10.77.1.1", connection=n, src_port=n, first_time=tiny.T0 + start,
                last_time=tiny.T0 + start + length_ms * tiny.MS, duration_ns=length_ms * tiny.MS,
            )
            for n in range(12)
            for start in [n * 50 * tiny.MS]
        ]  # fmt: skip

    tiny.table(tmp_path, "flows", "r", "pc3", connections(1000))
    assert transfer_activity.draw(context(tmp_path)) is None
    tiny.table(tmp_path, "flows", "r", "pc3", connections(30))
    figure = transfer_activity.draw(context(tmp_path))
    assert figure is not None
    assert "connection with payload" in figure.caption
    assert transfer_times.draw(context(tmp_path)) is not None


def test_the_busiest_pairs_are_drawn_first(experiment: Path) -> None:
    shown = context(experiment)
    rows = shown.rows("wan_throughput")
    own = shown.select_series(rows, shown.series[0])
    pairs = wan_throughput._rank_pairs(own.filter(own["run"] == "farm-base"))
    assert len(pairs) == 3
    assert len({frozenset(pair) for pair in pairs}) == 3
