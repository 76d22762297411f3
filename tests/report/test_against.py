"""Two experiments, point by point."""

from __future__ import annotations

import fcntl
import json
import math
import os
import statistics
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.analysis.slowdown import Median
from flowsweep.render import differences, page
from flowsweep.warehouse import Warehouse, facts

SCATTER = (1.0, 0.99, 1.02, 0.98, 1.01, 1.005)


def runs(
    rtts: dict[float, float], *, scatter: tuple[float, ...] = SCATTER, **more: Any
) -> list[dict[str, Any]]:
    """Makes runs from completion times by RTT (ms)."""
    return [
        tiny.run(
            f"{rtt:g}-{number}", baseline=rtt == 1, completion_s=time * factor,
            rtt_asked_ns=round(rtt * tiny.MS), rtt_measured_ns=round(rtt * tiny.MS) + 70_000,
            **more,
        )
        for rtt, time in rtts.items()
        for number, factor in enumerate(scatter)
    ]  # fmt: skip


BEFORE = {1.0: 10.0, 4.0: 11.0, 16.0: 14.0, 64.0: 30.0}
AFTER = {1.0: 10.0, 4.0: 11.0, 16.0: 11.2, 32.0: 17.0}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("both")
    return (
        tiny.runs(folder / "after", runs(AFTER, congestion="bbr")),
        tiny.runs(folder / "before", runs(BEFORE, congestion="cubic")),
    )


def compared(both: tuple[Path, Path]) -> list[dict[str, Any]]:
    return Warehouse(both[0], against=both[1]).rows("against").rows(named=True)


def test_shared_points_have_the_ratio_of_their_medians(both: tuple[Path, Path]) -> None:
    found = {row["rtt_asked_ms"]: row for row in compared(both)}
    assert set(found) == {*BEFORE, *AFTER}
    for rtt, row in found.items():
        sides = (rtt in AFTER, rtt in BEFORE)
        assert row["side"] == {(True, True): "both", (True, False): "here"}.get(sides, "there")
        if row["side"] != "both":
            assert row["ratio"] is None
            continue
        own, its = (
            statistics.median(value * factor for factor in SCATTER)
            for value in (AFTER[rtt], BEFORE[rtt])
        )
        assert row["ratio"] == pytest.approx(own / its, rel=1e-4)
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        # An axis that differs throughout does not distinguish points.
        assert row["differs"] == "congestion: bbr, cubic"
    assert found[16.0]["ratio_high"] < 1
    assert found[4.0]["ratio_low"] < 1 < found[4.0]["ratio_high"]


def test_few_points_have_an_interval_of_their_own_runs(tmp_path: Path) -> None:
    """Two points are too few to pool; recomputed from the definition."""
    a, b = (
        tiny.runs(tmp_path / name, runs({1.0: time})) for name, time in (("a", 10.0), ("b", 9.0))
    )
    row = compared((a, b))[0]
    low, high = Median.estimate([10 * one for one in SCATTER]).compared(
        Median.estimate([9 * one for one in SCATTER])
    )
    assert (row["noise"], bool(row["noise_reason"])) == ("own", True)
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((low, high), rel=1e-4)


def test_the_sentence_counts_what_the_intervals_say(both: tuple[Path, Path]) -> None:
    rows = compared(both)
    lines = differences.sentences(rows)
    assert lines[0] == (
        "Against before, of 3 shared points: faster at 1 (0.800 times as long); no difference "
        "found at 2."
    )
    assert lines[1] == "They differ in congestion: bbr, cubic (here, there)."
    assert lines[2] == "1 point of this experiment alone: app, RTT 32 ms."
    assert lines[3] == "1 point of before alone: app, RTT 64 ms."


def test_the_same_experiment_has_no_difference(both: tuple[Path, Path]) -> None:
    rows = compared((both[0], both[0]))
    assert all(row["ratio"] == 1 for row in rows)
    assert differences.first(rows) == (
        "Against **after**, of 4 shared points: no difference found at 4."
    )


def test_the_other_way_round_is_the_inverse(both: tuple[Path, Path]) -> None:
    there, here = (
        {row["rtt_asked_ms"]: row["ratio"] for row in compared(pair) if row["side"] == "both"}
        for pair in (both, both[::-1])
    )
    assert all(math.isclose(there[rtt] * here[rtt], 1, rel_tol=1e-3) for rtt in there)


@pytest.mark.parametrize("earlier", [[], ["totals"], ["totals", "message_rate"]])
def test_own_facts_are_not_locked_while_those_of_the_other_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: list[str]
) -> None:
    """Making facts waits for readers: two comparisons that hold read locks could deadlock."""
    here = tiny.runs(tmp_path / "here", runs(AFTER, scatter=(1.0,)))
    there = tiny.runs(tmp_path / "there", runs(BEFORE, scatter=(1.0,)))
    update = facts.Kept._update
    updated, locked = [], []

    def update_and_look(kept: facts.Kept, *inputs: Any) -> bool:
        updated.append(kept._directory)
        if kept._directory == there:
            folder = os.open(here, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(here)
            os.close(folder)
        return update(kept, *inputs)

    monkeypatch.setattr(facts.Kept, "_update", update_and_look)
    warehouse = Warehouse(here, against=there)
    with warehouse.reading():
        for name in earlier:
            warehouse.rows(name)
        assert warehouse.rows("against").height
    assert {here, there} == {*updated}
    assert not locked


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    a, b = (
        tiny.runs(tmp_path / name, runs({1.0: time}, scatter=(1.0,)))
        for name, time in (("a", 10.0), ("b", 20.0))
    )
    assert "no interval at 1, of too few runs" in (differences.first(compared((a, b))) or "")


def test_nothing_in_common_is_stated(tmp_path: Path) -> None:
    a = tiny.runs(tmp_path / "a", runs({1.0: 1.0}))
    b = tiny.runs(tmp_path / "b", runs({1.0: 1.0}, app="other"))
    assert differences.first(compared((a, b))) == (
        "No point can be compared with **b**: none has valid runs in both."
    )


def test_the_page_has_a_section_where_it_is_asked_for(both: tuple[Path, Path]) -> None:
    made = page.build(both[0], both[1])
    assert 'id="against"' in made.html
    assert "no difference found at 2" in made.html
    assert not made.contradictions
    plain = page.build(both[0])
    assert 'id="against"' not in plain.html
    assert "comparison" not in plain.html
    assert not plain.contradictions


def test_the_command_prints_the_rows(both: tuple[Path, Path], command) -> None:
    done = command("flowsweep", "query", "against", both[0], "--against", both[1],
                   "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 5
    without = command("flowsweep", "query", "against", both[0])
    assert without.returncode == 0
    assert "--against results/OTHER" in without.stderr
    missing = command("flowsweep", "report", both[0], "--against", both[0] / "no")
    assert missing.returncode == 2
    assert "no such file or folder" in missing.stderr
