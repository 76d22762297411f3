"""Absolute limits of outcomes: at which points they hold, by recomputed intervals."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import limit, load
from flowsweep.render import page
from flowsweep.warehouse import Warehouse

SCATTER = (0.97, 1.0, 1.03)
RTTS = (1, 2, 4, 16)


def runs(outcome: str = "latency", better: str = "less", **more: Any) -> list[dict[str, Any]]:
    """Makes runs with an outcome of 2 ms plus the RTT, or 20 minus the RTT if more is better."""
    return [
        tiny.run(
            f"{rtt}-{number}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, completion_s=None,
            outcomes=[{
                "name": outcome, "unit": "ms", "better": better,
                "value": factor * (2 + rtt if better == "less" else 20 - rtt),
            }], **more,
        )
        for rtt in RTTS
        for number, factor in enumerate(SCATTER)
    ]  # fmt: skip


def need_rows(
    directory: Path, need: str, rows: list[dict[str, Any]]
) -> dict[float, dict[str, Any]]:
    """Returns the rows of the query, by RTT."""
    tiny.runs(directory, rows)
    (directory / "experiment.yaml").write_text(f"need: {need}\ncaptured: .\n")
    found = Warehouse(directory).rows("need").rows(named=True)
    return {row["rtt_asked_ms"]: row for row in found}


def test_a_limit_holds_where_the_whole_interval_keeps_it(tmp_path: Path) -> None:
    found = need_rows(tmp_path, '{latency: "< 6 ms"}', runs())
    assert {rtt: row["state"] for rtt, row in found.items()} == {
        1: "holds", 2: "holds", 4: "cannot tell", 16: "fails"
    }  # fmt: skip
    assert found[4]["reason"] == "its interval lies on both sides of the limit"
    assert (found[4]["runs_within"], found[4]["runs_used"]) == (1, 3)
    assert found[4]["low"] < 6 < found[4]["high"]


def quantile_of_4(probability: float) -> float:
    """Returns a quantile of Student's t with 4 degrees of freedom, from its closed-form CDF."""
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        square = middle**2 / (1 + middle**2 / 4)
        below = 0.5 + 0.375 * math.sqrt(square) * (1 - square / 12)
        low, high = (middle, high) if below < probability else (low, middle)
    return low


def test_the_interval_is_students_of_the_pooled_logarithms(tmp_path: Path) -> None:
    """All points scatter alike, so the pooled variance equals that of each point."""
    found = need_rows(tmp_path, '{latency: "< 6 ms"}', runs())
    logs = [math.log(factor) for factor in SCATTER]
    mean = sum(logs) / 3
    variance = sum((one - mean) ** 2 for one in logs) / 2
    half = quantile_of_4(1 - 0.0125) * math.sqrt(variance / 3)
    for rtt, row in found.items():
        middle = math.log(2 + rtt) + mean
        assert row["noise"] == "pooled"
        assert row["low"] == pytest.approx(math.exp(middle - half), rel=2e-3)
        assert row["high"] == pytest.approx(math.exp(middle + half), rel=2e-3)


@pytest.mark.parametrize(
    ("need", "states"),
    [
        ('{latency: "< 0.006 s"}', ["holds", "holds", "cannot tell", "fails"]),
        ('{latency: ">= 6000 us"}', ["fails", "fails", "cannot tell", "holds"]),
        ('{latency: "<= 30 ms"}', ["holds"] * 4),
        ('{latency: "< 6 1/s"}', ["cannot tell"] * 4),
    ],
)
def test_units_of_time_are_converted_and_others_refused(
    tmp_path: Path, need: str, states: list[str]
) -> None:
    found = need_rows(tmp_path, need, runs())
    assert [found[rtt]["state"] for rtt in RTTS] == states
    if "1/s" in need:
        assert found[1]["reason"] == "the limit has 1/s, the outcome ms"
        assert "cannot be determined: the limit has 1/s" in page.build(tmp_path).html.replace(
            "\u00a0", " "
        )


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    found = need_rows(tmp_path, '{latency: "< 6 ms"}', runs()[::3])
    assert {row["state"] for row in found.values()} == {"cannot tell"}
    assert found[1]["reason"] == "1 run, where an interval needs 3"
    assert [found[rtt]["runs_within"] for rtt in RTTS] == [1, 1, 1, 0]


def test_completion_time_has_limits_too_and_invalid_runs_do_not_count(tmp_path: Path) -> None:
    rows = [row | {"completion_s": row["outcomes"][0]["value"], "outcomes": None} for row in runs()]
    rows[0]["status"] = "invalid"
    found = need_rows(tmp_path, '{completion_time: "< 10 s"}', rows)
    assert (found[1]["state"], found[1]["runs_used"]) == ("holds", 2)
    assert found[16]["state"] == "fails"


def test_the_verdict_names_the_points_with_their_intervals(tmp_path: Path) -> None:
    need_rows(tmp_path, '{latency: "< 6 ms"}', runs())
    made = page.build(tmp_path)
    assert not made.contradictions
    html = made.html.replace("\u00a0", " ")
    text = re.sub("<[^>]+>", "", html[html.index('id="verdict"') :])
    assert (
        "app keeps latency &lt; 6 ms at 2 of 4 points (baseline: 3.00 [2.82, 3.19]; "
        "RTT 2 ms: 4.00 [3.76, 4.25]); it does not at RTT 16 ms: 18.0 [16.9, 19.1]; "
        "it cannot be determined at RTT 4 ms: 6.00 [5.65, 6.37]."
    ) in " ".join(text.split())


def test_without_a_limit_there_is_no_row_and_no_table(tmp_path: Path) -> None:
    assert need_rows(tmp_path, "{}", runs()) == {}
    assert 'id="need' not in page.build(tmp_path).html.replace("\u00a0", " ")


def test_a_changed_limit_is_asked_anew_of_the_same_tables(tmp_path: Path) -> None:
    need_rows(tmp_path, '{latency: "< 6 ms"}', runs())
    page.write(tmp_path)
    (tmp_path / "experiment.yaml").write_text('need: {latency: "< 1 ms"}\ncaptured: .\n')
    assert set(Warehouse(tmp_path).rows("need")["state"]) == {"fails"}


@pytest.mark.parametrize("text", ["10 ms", "< ms", "< 1e999 s", "= 3", "<> 3"])
def test_what_is_no_limit_is_refused(tmp_path: Path, text: str) -> None:
    assert limit.parse(text) is None
    path = tmp_path / "own.yaml"
    path.write_text(f"captured: .\nneed: {{latency: {text!r}}}\n")
    with pytest.raises(FlowsweepError, match="not a limit"):
        load(path)
