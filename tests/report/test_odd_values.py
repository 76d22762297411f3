"""Values that users do have, and that once gave a wrong number, a wrong sentence or no report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny

from flowsweep import numbers
from flowsweep.analysis import need, noise
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import limit, load, points
from flowsweep.render import differences, verdict_need
from flowsweep.runs import run_records
from flowsweep.warehouse import Warehouse

WEST, EAST = (host["address"] for host in tiny.HOSTS)


def single_packets(directory: Path, sizes: list[int]) -> Warehouse:
    """Returns UDP flows of one packet each, such as DNS queries."""
    tiny.runs(directory, [tiny.run("r", baseline=True)])
    tiny.table(directory, "captures", "r", "pc1", [tiny.capture()])
    rows = [
        tiny.flow(
            WEST, EAST, connection=number, src_port=1024 + number, protocol="udp", start=None,
            end="open", packets=1, duration_ns=0, payload_bytes=size, wire_bytes=size + 42,
        )
        for number, size in enumerate(sizes)
    ]  # fmt: skip
    tiny.table(directory, "flows", "r", "pc1", rows)
    return Warehouse(directory)


def test_many_flows_of_one_packet_keep_their_sizes(tmp_path: Path) -> None:
    rows = single_packets(tmp_path, [30, 1400] * 1001).rows("flow_sizes").sort("payload_bytes")
    found = rows.select("payload_bytes", "flows", "share").rows()
    assert found == [(30.0, 1001, 0.5), (1400.0, 1001, 1.0)]


def test_failed_runs_are_not_in_the_rtt_of_the_baseline(tmp_path: Path) -> None:
    failed = tiny.run("b", baseline=True, status="failed", rtt_measured_ns=51 * tiny.MS,
                      rate_measured_bit_s=1e7)  # fmt: skip
    tiny.runs(tmp_path, [tiny.run("a", baseline=True), failed])
    (row,) = Warehouse(tmp_path).select("from baselines").rows(named=True)
    assert (row["rtt_ms"], row["rate_mbit_s"], row["runs_used"]) == (1.0, 100.0, 1)


def test_hosts_with_bins_of_two_widths_have_shares(tmp_path: Path) -> None:
    """One host was parsed again with `--bin 100ms`."""
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    wide = [
        row | {"bin_ns": 100 * tiny.MS, "bin_start": tiny.T0 + number * 100 * tiny.MS}
        for number, row in enumerate(tiny.bins(WEST, EAST, dict.fromkeys(range(10), 1000)))
    ]
    narrow = tiny.bins(EAST, WEST, dict.fromkeys(range(100), 10_000))
    for host, rows, ends in (("pc1", wide, (WEST, EAST)), ("pc3", narrow, (EAST, WEST))):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [tiny.flow(*ends)])
        tiny.table(tmp_path, "throughput", "r", host, rows)
    rows = Warehouse(tmp_path).rows("throughput_cdf").filter(
        (pl.col("host") == "pc3") & (pl.col("direction") == "out") & (pl.col("bin_ms") == 100)
    )  # fmt: skip
    assert rows.select("mbit_s", "share", "empty_bins").rows() == [(0.0, 0.0, 0), (8.0, 1.0, 0)]


def test_a_clock_that_begins_at_0_has_the_bins_of_any_other(tmp_path: Path) -> None:
    """A merged packet is spread over the time before it, here before 0."""
    tiny.runs(tmp_path, [tiny.run("r")])
    values = "unnest([-11, -10, -5, 0, 5, 10]) as t(value)"
    steps = Warehouse(tmp_path).select(f"select floor_steps(value, 10) as step from {values}")
    assert steps["step"].to_list() == [-2, -1, -1, 0, 0, 1]


@pytest.mark.parametrize("rate", [0, -1e6])
def test_a_link_without_a_rate_is_refused_with_its_place(tmp_path: Path, rate: float) -> None:
    record = {"axes": {"rtt": "1ms"}, "links": [{"between": ["w", "e"], "rate_bit_s": rate}]}
    (tmp_path / "runs/r").mkdir(parents=True)
    (tmp_path / "runs/r/run.json").write_text(json.dumps(record))
    with pytest.raises(FlowsweepError, match=r"rate_bit_s"):
        run_records.write_table(tmp_path / "runs", tmp_path / "runs.parquet", None)


def test_a_value_of_a_column_is_0_only_if_it_is() -> None:
    assert numbers.column([0.3, 200.0, 400.0]) == ["0.300", "200", "400"]
    assert numbers.column([0.0, 200.0, 400.0]) == ["0", "200", "400"]


@pytest.mark.parametrize("number", range(1, 200))
def test_a_limit_is_the_same_in_every_unit(number: int) -> None:
    found = limit.parse(f"<= {number} us")
    assert found is not None
    assert found.in_unit("ms") == number / 1000


def test_a_small_limit_is_written_as_it_is() -> None:
    row = {"app": "a", "problem": "", "outcome": "lat", "relation": "<", "unit": "s",
           "limit_value": 3e-7, "state": "holds", "label": "baseline", "reason": None}  # fmt: skip
    (sentence,) = verdict_need.sentences([row], {("a", ""): "a"})
    assert (
        "lat < 3 \N{MULTIPLICATION SIGN} 10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT SEVEN}" in sentence
    )


def against(side: str, label: str, outcome: str, ratio: float | None) -> dict[str, Any]:
    return {
        "against": "other", "app": "a", "problem": "", "label": label, "outcome": outcome,
        "side": side, "ratio": ratio, "ratio_low": ratio, "ratio_high": ratio, "differs": None,
    }  # fmt: skip


def test_points_are_counted_once_however_many_outcomes_they_have() -> None:
    outcomes = ("completion_time", "tps", "lat")
    rows = [against("both", label, one, 0.8) for label in ("x", "y") for one in outcomes]
    rows += [against("here", "z", one, None) for one in outcomes]
    first, alone = differences.sentences(rows)
    assert "of 6 outcomes at 2 shared points: better at 6" in first
    assert alone == "1 point of this experiment alone: a, z."


def test_times_that_lie_far_apart_have_an_interval() -> None:
    common = noise.Noise(variance=900.0, squares=9e3, freedom=10, spread=30.0)
    low, high = common.compared([1e300] * 3, [1e-300] * 3)
    assert 0 <= low <= high


def test_a_queue_of_0_without_a_valid_run_is_the_hardest_point() -> None:
    class Points:
        grows = False
        without_runs = (0.0,)
        hardness = (1 / 100, 1 / 50)

    assert need._before_a_gap(Points) == 1  # type: ignore[arg-type]


EXPERIMENT = """\
sites: {west: 1, east: 1}
link: {rtt: 1ms, rate: 100Mbit/s}
repetitions: 1
warmup: 0
"""


def test_a_problem_that_differs_in_its_type_is_another_point(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(
        EXPERIMENT + "axes: {problem: [{ratio: 1.0}, {ratio: true}]}\n"
        "workload: {command: 'true', problem: {ratio: 1}}\n"
    )
    found = load(path)
    ids = {run.id for run in found.plan()}
    assert {"command-baseline-r1", "command-ratio_1.0-r1", "command-ratio_on-r1"} <= ids
    assert not points.is_same({"ratio": 1}, "ratio", 1.0)


@pytest.mark.parametrize("axes", ["buffer: [1234567B, 1234568B]", 'problem: [{n: 2}, {n: "2"}]'])
def test_two_points_with_one_name_are_refused(tmp_path: Path, axes: str) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(
        EXPERIMENT + f"axes: {{{axes}}}\nworkload: {{command: 'true', problem: {{n: 1}}}}\n"
    )
    with pytest.raises(FlowsweepError, match="two points are called"):
        load(path)


@pytest.mark.parametrize("link", ["loss: 100%", "loss: 99.9%"])
def test_a_link_may_lose_everything(tmp_path: Path, link: str) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(
        EXPERIMENT.replace("100Mbit/s", f"100Mbit/s, {link}") + "workload: {command: 'true'}\n"
    )
    assert load(path).plan()
