"""Variants of a program against the baseline on the same network, and in one sentence."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.render.verdict import plain
from flowsweep.warehouse import Warehouse

REPETITIONS = 4
# Slowdown of each variant at each RTT (ms).
FACTORS = {None: {1: 1.0, 8: 1.5}, "no-flush": {1: 1.2, 8: 3.0}, "no-tree": {1: 1.0, 8: 1.5}}
SCATTER = (0.98, 1.0, 1.01, 1.03, 0.99, 1.02, 0.97, 1.0)


def rows(repetitions: int = REPETITIONS) -> list[dict[str, Any]]:
    return [
        tiny.run(
            f"{variant}-{rtt}-{number}", baseline=not variant and rtt == 1, variant=variant,
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
            completion_s=10 * factor * SCATTER[number],
        )
        for variant, factors in FACTORS.items()
        for rtt, factor in factors.items()
        for number in range(repetitions * (1 if variant or rtt > 1 else 2))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.runs(tmp_path_factory.mktemp("varied"), rows())


def test_each_point_stands_beside_the_one_without_the_variant(varied: Path) -> None:
    found = Warehouse(varied).rows("side_by_side").rows(named=True)
    assert {(row["name"], row["rtt_asked_ms"]) for row in found} == {
        (name, rtt) for name in FACTORS if name for rtt in (1, 8)
    }
    made = rows()

    def median(variant: str | None, rtt: float) -> float:
        return statistics.median(
            row["completion_s"]
            for row in made
            if row["variant"] == variant and row["rtt_asked_ns"] == rtt * tiny.MS
        )

    for row in found:
        rtt = row["rtt_asked_ms"]
        expected = median(row["name"], rtt) / median(None, rtt)
        assert row["ratio"] == pytest.approx(expected, rel=1e-4)
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
        assert row["beside"] == ("baseline" if rtt == 1 else "RTT 8 ms")
        assert row["axis"] == "variant"
        assert (row["runs_used"], row["reference_runs"]) == (4, 8 if rtt == 1 else 4)


def test_variants_share_the_thresholds_of_their_application(varied: Path) -> None:
    found = Warehouse(varied).rows("thresholds").rows(named=True)
    assert len(found) == 2
    # The slowdown at 8 ms is that of the runs without a variant.
    assert found[0]["largest_slowdown"] == pytest.approx(1.5, rel=0.02)


def test_the_verdict_has_one_sentence_for_the_variants(varied: Path) -> None:
    made = page.build(varied)
    verdict = made.html.replace("\u00a0", " ").split('<div class="verdict">')[1].split("</div>")[0]
    assert verdict.count("<p>") <= 3
    assert "Its 2 variants take from" in verdict
    assert "<b>2.00 times</b> (no-flush, RTT 8 ms)" in verdict
    assert "a difference is sure at 2 of 4 points" in verdict
    assert 'id="side_by_side-table"' in made.html


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [row for row in rows(1) if row["rtt_asked_ns"] == tiny.MS])
    found = Warehouse(tmp_path).rows("side_by_side").rows(named=True)
    assert [row["ratio_low"] for row in found] == [None, None]
    assert "too few runs for an interval" in page.build(tmp_path).html.replace("\u00a0", " ")


def test_a_list_of_parameters_has_a_short_verdict_too(tmp_path: Path) -> None:
    """As in an older file, each set of parameters is a problem with its own baseline."""
    base = '"stones": 7'
    switches = [f'"switch_number_{letter}": false' for letter in "abcdef"]
    problems = [base, *(f"{base}, {switch}" for switch in switches)]
    made = [
        tiny.run(
            f"{place}-{rtt}-{number}", baseline=rtt == 1, problem=f"{{{problem}}}",
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
            completion_s=(10 + place * rtt) * SCATTER[number],
        )
        for place, problem in enumerate(problems, 1)
        for rtt in (1, 2, 4, 8)
        for number in range(6 if place == 1 else 4)
    ]  # fmt: skip
    tiny.runs(tmp_path, made)
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    verdict = html.split('<div class="verdict">')[1].split("</div>")[0]
    assert "switch" not in verdict
    assert verdict.count("<p>") <= 3
    thresholds = [
        row for row in Warehouse(tmp_path).rows("thresholds").rows(named=True)
        if "switch" in row["problem"] and row["level"] < 1.3 and row["estimate"] is not None
    ]  # fmt: skip
    assert len(thresholds) == 6
    assert "6 other problems of it tolerate an RTT of about" in plain(verdict)
