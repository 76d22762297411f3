"""The query `completion`: every axis that was varied, against medians worked out in Python."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
import tiny
from valid_charts import valid

from flowsweep import numbers
from flowsweep.experiment.axes import AXES
from flowsweep.render import page, svg
from flowsweep.render.figure import Context
from flowsweep.render.figures import completion, completion_by_rtt
from flowsweep.warehouse import Warehouse

# What each axis changes in a run, mildest first; the baseline has none of these changes.
VARIED: dict[str, list[dict[str, Any]]] = {
    "rtt": [{"rtt_asked_ns": rtt * tiny.MS, "rtt_measured_ns": rtt * tiny.MS} for rtt in (4, 16)],
    "rate": [{"rate_asked_bit_s": rate, "rate_measured_bit_s": rate} for rate in (5e7, 1e7)],
    "loss": [{"loss": 0.001}, {"loss": 0.01}],
    "jitter": [{"jitter_ns": 1 * tiny.MS}, {"jitter_ns": 3 * tiny.MS}],
    "queue": [{"queue_bytes": 64_000}, {"queue_bytes": 16_000}],
    "buffer": [{"buffer_bytes": 65_536}, {"buffer_bytes": 16_384}],
    "links": [{"links": 2}, {"links": 4}],
    "hosts": [{"hosts_per_site": 1, "ranks": 2}],
    "ranks": [{"ranks": 3, "ranks_per_host": None}, {"ranks": 6, "ranks_per_host": None}],
    "ranks_per_host": [{"ranks_per_host": 2, "ranks": 8}],
    "congestion": [{"congestion": "bbr"}, {"congestion": "reno"}],
    "beside": [{"beside_app": "jigsaw"}, {"beside_app": "lu"}],
    "placement": [{"placement": "west", "ranks_per_host": None}],
    "schedule": [{"schedule": "at-start"}, {"schedule": "on-demand"}],
    "variant": [{"variant": "no-flush"}, {"variant": "no-tree"}],
}
BASE: dict[str, Any] = {
    "loss": None, "jitter_ns": None, "queue_bytes": 128_000, "buffer_bytes": None, "links": 1,
    "hosts_per_site": 2, "ranks": 4, "ranks_per_host": 1, "congestion": "cubic",
    "variant": None, "placement": None, "schedule": None, "beside_app": None,
}  # fmt: skip
REPETITIONS = 3


def times(place: int, repetitions: int) -> list[float]:
    """Returns the completion times of a point, 1 % apart."""
    return [(2.0 + 0.2 * place) * (1 + 0.01 * number) for number in range(repetitions)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Varies one axis at a time; one run is invalid, and one differs in two axes."""
    rows = [
        tiny.run(f"base-{number}", baseline=True, completion_s=time, **BASE)
        for number, time in enumerate(times(0, 2 * REPETITIONS))
    ]
    for axis, values in VARIED.items():
        for place, changes in enumerate(values, start=1):
            rows += [
                tiny.run(f"{axis}-{place}-{number}", completion_s=time, **BASE | changes)
                for number, time in enumerate(times(place, REPETITIONS))
            ]
    rows.append(
        tiny.run("late", status="invalid", reason="late", completion_s=90.0, **BASE | {"links": 2})
    )
    rows.append(tiny.run("both", completion_s=70.0, **BASE | {"links": 2, "loss": 0.01}))
    rows += [
        tiny.run(f"large-{number}", baseline=True, problem='{"n": 2}', completion_s=time, **BASE)
        for number, time in enumerate(times(5, 2 * REPETITIONS))
    ]
    return tiny.runs(tmp_path_factory.mktemp("swept"), rows)


@pytest.fixture(scope="module")
def found(swept: Path) -> list[dict[str, Any]]:
    return Warehouse(swept).rows("completion").rows(named=True)


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_is_a_line_of_its_points_and_the_baseline(
    axis: str, found: list[dict[str, Any]]
) -> None:
    line = [row for row in found if row["axis"] == axis]
    reference = [row for row in line if row["is_reference"]]
    assert len(reference) == 1
    assert reference[0]["is_baseline"]
    base = statistics.median(times(0, 2 * REPETITIONS))
    expected = {1.0}
    for place in range(1, len(VARIED[axis]) + 1):
        expected.add(round(statistics.median(times(place, REPETITIONS)) / base, 4))
    assert {round(row["slowdown"], 4) for row in line} == expected
    assert all(row["slowdown"] * row["baseline_s"] == pytest.approx(row["completion_s"], rel=1e-3)
               for row in line)  # fmt: skip


def test_the_problems_of_an_application_are_compared_with_each_other(
    found: list[dict[str, Any]],
) -> None:
    line = [row for row in found if row["axis"] == "problem"]
    assert [(row["shown"], row["is_reference"], round(row["slowdown"], 3)) for row in line] == [
        ("n 1", True, 1.0),
        ("n 2", False, 1.5),
    ]


def test_names_have_no_number_and_numbers_their_unit(found: list[dict[str, Any]]) -> None:
    kinds = {row["axis"]: (row["kind"], row["unit"]) for row in found}
    assert kinds["congestion"] == ("name", "")
    assert kinds["problem"] == ("name", "")
    assert kinds["buffer"] == ("number", "bytes")
    assert kinds["rtt"] == ("number", "ms")
    assert all(row["x"] is None for row in found if row["kind"] == "name")
    assert {row["x"] for row in found if row["axis"] == "loss"} == {0.0, 0.001, 0.01}
    # The kernel's default buffer has no size: its x is null.
    assert {row["x"] for row in found if row["axis"] == "buffer"} == {None, 65_536, 16_384}


def test_points_that_differ_in_two_axes_lie_on_no_line(found: list[dict[str, Any]]) -> None:
    assert not any(row["slowdown"] > 10 for row in found)
    left_out = [row for row in found if row["runs_left_out"]]
    assert {(row["axis"], row["left_out_because"]) for row in left_out} == {("links", "late")}


def test_intervals_hold_the_median_and_say_what_they_assume(found: list[dict[str, Any]]) -> None:
    for row in found:
        assert row["slowdown_low"] <= row["slowdown"] + 1e-9
        assert row["slowdown_high"] >= row["slowdown"] - 1e-9
        assert row["noise"] in {"pooled", "own"}
        assert (row["noise_reason"] is None) == (row["noise"] == "pooled")
    assert all(math.isclose(row["slowdown_low"], 1) for row in found if row["is_reference"])


def test_along_rtt_and_rate_it_agrees_with_their_own_queries(
    swept: Path, found: list[dict[str, Any]]
) -> None:
    for axis, x in (("rtt", "rtt_ms"), ("rate", "rate_mbit_s")):
        own = Warehouse(swept).rows(f"completion_by_{axis}").rows(named=True)
        # In those queries, each other size of the socket buffer is a line of its own.
        expected = {
            (row[x], round(row["slowdown"], 4)) for row in own if row["buffer_bytes"] is None
        }
        assert {
            (row["x"], round(row["slowdown"], 4)) for row in found if row["axis"] == axis
        } == expected


def drawing(directory: Path) -> Context:
    """Returns the context from which a figure of the experiment is drawn."""
    warehouse = Warehouse(directory)
    return Context(warehouse, page._series(warehouse, ()))


def test_every_point_on_a_line_of_numbers_is_drawn_once(
    swept: Path, found: list[dict[str, Any]]
) -> None:
    figure = completion.draw(drawing(swept))
    assert figure
    picture = svg.render(figure.chart, "made")
    groups = re.findall(r'<g class="mark symbol".*?</g>', picture)
    tips = [tip for group in groups for tip in re.findall('data-tip="([^"]*)"', group)]
    drawn = [row for row in found if row["kind"] == "number" and row["slowdown"] is not None]
    assert len(tips) == len(drawn) > 20
    for row in drawn:
        words = f"{numbers.estimate(row['slowdown'])}{numbers.TIMES} the baseline"
        assert any(words in tip for tip in tips)
    # The kernel's default and a loss of 0 have places of their own on the axis.
    assert any(tip.startswith("default buffers; ") for tip in tips)
    assert any(tip.startswith(("0; ", "0 %; ")) for tip in tips)


def test_rtt_and_rate_alone_have_their_own_figures(one_app: Path) -> None:
    assert completion.draw(drawing(one_app)) is None


def test_without_a_sweep_there_is_no_line(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("a", baseline=True), tiny.run("b", baseline=True)])
    assert Warehouse(tmp_path).rows("completion").is_empty()


def test_no_slowdown_is_drawn_at_another_place(tmp_path: Path) -> None:
    """Without room, 12.3 and 12.9 would be drawn as a plateau at 3.4, and 0.7 at 0.9."""
    slowdowns = {1: 1.0, 4: 0.7, 16: 3.4, 64: 12.3, 256: 12.9}
    tiny.runs(tmp_path, [
        tiny.run(f"{rtt}-{number}", baseline=rtt == 1, completion_s=2 * slowdown,
                 rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS)
        for rtt, slowdown in slowdowns.items() for number in range(3)
    ])  # fmt: skip
    warehouse = Warehouse(tmp_path)
    context = Context(warehouse, page._series(warehouse, ""))
    spec = valid(completion_by_rtt.draw(context).chart)
    scales = re.findall(r"'scale': ({[^}]*'domain'[^}]*})", str(spec))
    (domain,) = {scale for scale in scales if "1.6" in scale or "13.6" in scale}
    low, high = map(float, re.findall(r"[\d.]+", domain.partition("domain")[2])[:2])
    assert low < 0.7 < 12.9 < high
    assert "clamp" not in str(spec)
