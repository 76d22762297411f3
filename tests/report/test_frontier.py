"""The query `frontier`: lines of equal slowdown on a known surface."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

RTTS, RATES = (1.0, 4.0, 16.0, 64.0), (100.0, 50.0, 20.0, 5.0)


def slowdown(rtt: float, rate: float) -> float:
    """Returns a slowdown bilinear in RTT and 1/rate: linear interpolation is exact."""
    return 1 + 0.02 * (rtt - 1) + 3 * (1 / rate - 0.01) + 0.1 * (rtt - 1) * (1 / rate - 0.01)


def rows(**more: Any) -> list[dict[str, Any]]:
    return [
        tiny.run(
            f"{rtt:g}-{rate:g}-{number}", baseline=(rtt, rate) == (1, 100),
            rtt_asked_ns=round(rtt * tiny.MS), rtt_measured_ns=round(rtt * tiny.MS),
            rate_asked_bit_s=rate * 1e6, rate_measured_bit_s=rate * 1e6,
            completion_s=8 * slowdown(rtt, rate) * (1 + 0.01 * (number - 1)), **more,
        )
        for rtt in RTTS
        for rate in RATES
        for number in range(3)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    off = [
        tiny.run("bad", status="invalid", completion_s=99.0, rtt_asked_ns=4 * tiny.MS),
        tiny.run("lossy", loss=0.1, completion_s=99.0, rtt_asked_ns=4 * tiny.MS,
                 rtt_measured_ns=4 * tiny.MS),
    ]  # fmt: skip
    return tiny.runs(tmp_path_factory.mktemp("grid"), rows() + off)


def test_tried_points_are_there(grid: Path) -> None:
    found = Warehouse(grid).rows("frontier").rows(named=True)
    tried = {
        (row["rtt_asked_ms"], row["rate_asked_mbit_s"]): row
        for row in found
        if row["kind"] == "tried"
    }
    assert set(tried) == set(itertools.product(RTTS, RATES))
    for (rtt, rate), row in tried.items():
        assert row["slowdown"] == pytest.approx(slowdown(rtt, rate), rel=1e-4)
        assert row["runs_used"] == 3
    assert [row["point"] for row in tried.values() if row["is_baseline"]] == [
        tried[1, 100]["point"]
    ]


def test_every_line_lies_on_the_surface(grid: Path) -> None:
    """Recomputed in closed form, and by numpy between neighbours."""
    found = [row for row in Warehouse(grid).rows("frontier").rows(named=True)
             if row["kind"] == "line"]  # fmt: skip
    assert found
    for row in found:
        exact = slowdown(row["rtt_ms"], row["rate_mbit_s"])
        assert exact == pytest.approx(row["level"], rel=2e-3)
    expected = []
    for level in (1.1, 1.5):
        for rate in RATES:
            values = [slowdown(rtt, rate) for rtt in RTTS]
            if values[0] < level <= values[-1]:
                expected.append((level, float(np.interp(level, values, RTTS)), rate))
        for rtt in RTTS:
            values = [slowdown(rtt, rate) for rate in RATES]
            if values[0] < level <= values[-1]:
                inverse = [1 / rate for rate in RATES]
                expected.append((level, rtt, 1 / float(np.interp(level, values, inverse))))
    got = sorted((row["level"], row["rtt_ms"], row["rate_mbit_s"]) for row in found)
    assert len(got) == len(expected)
    for one, other in zip(got, sorted(expected), strict=True):
        assert one == pytest.approx(other, rel=1e-3)


def test_one_at_a_time_is_no_plane(tmp_path: Path) -> None:
    cross = [row for row in rows()
             if row["rtt_asked_ns"] == tiny.MS or row["rate_asked_bit_s"] == 1e8]  # fmt: skip
    tiny.runs(tmp_path, cross)
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("frontier").is_empty()
    assert "not varied together" in (warehouse.lack("frontier") or "")


def test_a_rate_without_a_limit_is_the_end_of_a_line(tmp_path: Path) -> None:
    made = rows()
    for row in made:
        if row["rate_asked_bit_s"] == 1e8:
            row["rate_asked_bit_s"] = row["rate_measured_bit_s"] = None
    tiny.runs(tmp_path, made)
    found = Warehouse(tmp_path).rows("frontier").rows(named=True)
    lines = [row for row in found if row["kind"] == "line"]
    assert any(row["rate_mbit_s"] is None for row in lines)
    assert any(row["rate_mbit_s"] is not None for row in lines)
    assert "Slowdown over RTT and link rate" in page.build(tmp_path).html.replace("\u00a0", " ")


def test_it_is_drawn(grid: Path) -> None:
    made = page.build(grid)
    assert 'id="frontier"' in made.html
    assert not made.contradictions


def test_each_tried_pair_has_a_cell_as_dark_as_it_is_slow(grid: Path) -> None:
    text = page.write(grid)[0].read_text()
    figure = re.search(r'<figure id="figure-frontier">.*?</figure>', text, re.DOTALL)
    assert figure
    cells = re.findall(r'fill="var\(--seq-(\d)\)"', figure[0])
    steps = (1.03, 1.1, 1.5, 2.0, 4.0)
    expected = [
        1 + sum(slowdown(rtt, rate) >= step for step in steps)
        for rtt, rate in itertools.product(RTTS, RATES)
    ]
    assert sorted(map(int, cells)) == sorted(expected)
    assert len(set(expected)) > 3
