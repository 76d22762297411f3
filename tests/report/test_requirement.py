"""What the strip of thresholds and its table say for each state, and for no other."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import tiny
from valid_charts import valid

from flowsweep.render import page
from flowsweep.render.figure import Context, Figure
from flowsweep.render.figures import requirement, thresholds
from flowsweep.warehouse import Warehouse

BARS, THIN = "Bars: 95 % intervals", "Thin line: the tried points beside it"


def row(state: str, **changes: Any) -> dict[str, Any]:
    found = {
        "outcome": "completion_time", "state": state, "axis": "rtt",
        "estimate": 11.3, "low": 4.06, "high": 16.06,
        "easier": 4.06, "harder": 16.06, "mildest": 0.36, "hardest": 64.06, "reason": "why",
        "runs_beside": 2,
    }  # fmt: skip
    return found | changes


NOTHING = {"estimate": None, "low": None, "high": None}


@pytest.mark.parametrize(("one", "strip", "cell"), [
    (row("found"), "11 ms (4.06 to 16.1)", "11 4.06 to 16.1"),
    (row("found", low=10.0, high=12.0), "11.3 ms (10.0 to 12.0)", "11.3 10.0 to 12.0"),
    (row("found", low=0.36, high=64.06), "0.360 to 64.1 ms, no closer",
     "0.360 to 64.1 no closer"),
    (row("found", axis="rate", low=None, high=None, easier=None, mildest=None, harder=5.0,
         hardest=5.0), "5.00 Mbit/s or more, no closer", "5.00 or more no closer; n = 2"),
    (row("found", low=None, high=None), "11 ms (4.06 to 16.1)",
     "11 tried: 4.06 to 16.1; n = 2"),
    (row("found", low=None, high=None, easier=11.0, harder=12.0), "11.3 ms (11.0 to 12.0)",
     "11.3 tried: 11.0 to 12.0; n = 2"),
    (row("one-sided", high=None), "10 ms (4.06 or more)", "10 4.06 or more"),
    (row("never", **NOTHING), "> 64.1 ms: not reached", "&gt; 64.1 not reached"),
    (row("never", axis="rate", **NOTHING), "< 64.1 Mbit/s: not reached", "&lt; 64.1 not reached"),
    (row("at once", **NOTHING), "already at the mildest point", "at once at the mildest point"),
    (row("not monotone", **NOTHING), "faster again", "no single faster again"),
    (row("cannot tell"), "4.06 to 16.1 ms, no closer", "cannot tell [4.06, 16.1]: why"),
    (row("cannot tell", high=None), "cannot tell", "cannot tell why"),
    (row("cannot tell", high=None, reason="2 valid runs at 1 ms, where an interval needs 3"),
     "cannot tell", "cannot tell too few runs: n = 2"),
])  # fmt: skip
def test_each_state_has_its_words(one: dict[str, Any], strip: str, cell: str) -> None:
    unit = "ms" if one["axis"] == "rtt" else "Mbit/s"
    assert thresholds.describe(one, unit) == strip
    text = requirement._threshold_cell([one])
    for tag in ("<small>", "</small>", '<span class="badge note">', "</span>"):
        text = text.replace(tag, " ")
    assert " ".join(text.split()) == cell


@pytest.mark.parametrize(("way", "cause"), [
    ("out", "the host's capture sees a burst before it queues for the link"),
    ("in", "the emulator or the host delivered packets late and caught up"),
])  # fmt: skip
def test_a_peak_above_the_link_has_the_cause_of_its_direction(way: str, cause: str) -> None:
    rows = pl.DataFrame(
        {
            "peak_mbit_s": [120.0],
            "mean_mbit_s": [50.0],
            "shortest_ms": [None],
            "baseline_rate_mbit_s": [100.0],
            "busier_direction": [way],
            "better": ["less"],
        }
    )
    context: Any = SimpleNamespace(rows=lambda _: rows)
    assert requirement.note(context) == (
        f"A peak can exceed the rate of the link (100 Mbit/s): {cause}, and traffic within a site "
        "never crosses it."
    )


def strip(directory: Path, slowdowns: dict[int, float], runs: int) -> Figure:
    """Draws a sweep with these slowdowns by RTT (ms), each run 0.001 s slower than the last."""
    tiny.runs(directory, [
        tiny.run(
            f"{rtt}-{n}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, completion_s=slowdown + 0.001 * n,
        )
        for rtt, slowdown in slowdowns.items()
        for n in range(runs)
    ])  # fmt: skip
    warehouse = Warehouse(directory)
    found = thresholds.draw(Context(warehouse, page._series(warehouse, "")))
    assert found is not None
    return found


@pytest.mark.parametrize(("slowdowns", "runs", "bars", "thin"), [
    ({1: 1.0, 4: 1.02, 16: 1.3}, 3, True, False),
    ({1: 1.0, 4: 1.02, 16: 1.3}, 2, True, False),
    ({1: 1.0, 4: 1.02, 16: 1.3}, 1, False, True),
    # No threshold is crossed, so nothing is drawn although there are enough runs.
    ({1: 1.0, 4: 1.0, 16: 1.0}, 3, False, False),
    ({1: 1.0, 4: 1.0, 16: 1.0}, 2, False, False),
])  # fmt: skip
def test_the_caption_explains_what_is_drawn_and_nothing_else(
    tmp_path: Path, slowdowns: dict[int, float], runs: int, bars: bool, thin: bool
) -> None:
    figure = strip(tmp_path, slowdowns, runs)
    assert (BARS in figure.caption, THIN in figure.caption) == (bars, thin)
    drawn = str(valid(figure.chart))
    assert ("'type': 'bar'" in drawn, "'type': 'rule'" in drawn) == (bars, thin)


def test_a_bump_on_the_way_is_no_promise_in_the_report(tmp_path: Path) -> None:
    """Medians of 1, 1.3, 1, 1, 1 must not become 'within 10 %' in the first sentence."""
    strip(tmp_path, {1: 1.0, 2: 1.3, 4: 1.0, 16: 1.0, 64: 1.0}, 3)
    first = page.build(tmp_path).first
    assert first.startswith("app gets faster again between 1.00 and 64.0 ms (at 2.00 ms it takes ")


def test_captures_alone_have_their_runs_and_grade(tmp_path: Path) -> None:
    """As for `watch`: no completion time is known, and drops come from a manifest."""
    tiny.runs(tmp_path, [{"run": run, "status": "no record"} for run in ("a", "b")])
    for run, dropped in (("a", 0), ("b", 50)):
        capture = tiny.capture(file="x.pcap", dropped_kernel=dropped)
        tiny.table(tmp_path, "captures", run, "n7", [capture])
        tiny.table(tmp_path, "flows", run, "n7", [tiny.flow("192.0.2.7", "192.0.2.9")])
    rows = Warehouse(tmp_path).rows("requirement").rows(named=True)
    grades = dict(Warehouse(tmp_path).rows("run_quality").select("run", "grade").rows())
    assert [(row["run"], row["runs_used"], row["runs_left_out"]) for row in rows] == [
        ("a", 1, 0),
        ("b", 1, 0),
    ]
    assert {row["run"]: row["worst_grade"] for row in rows} == grades
    assert grades["b"] != grades["a"]
