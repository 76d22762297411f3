"""Thresholds along loss, jitter, queue and buffer, on lines whose crossing is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

SCATTER = (0.999, 1.0, 1.001, 1.0005, 0.9995)


def made(
    directory: Path, column: str, slowdowns: dict[Any, float], base: Any
) -> list[dict[str, Any]]:
    tiny.runs(directory, [
        tiny.run(f"{value}-{number}", baseline=value == base, completion_s=10 * slowdown * factor,
                 **{column: value})
        for value, slowdown in slowdowns.items()
        for number, factor in enumerate(SCATTER)
    ])  # fmt: skip
    return Warehouse(directory).rows("axis_thresholds").rows(named=True)


def test_loss_is_harder_the_more_there_is(tmp_path: Path) -> None:
    gradual, severe = made(tmp_path, "loss", {None: 1.0, 0.001: 1.05, 0.01: 1.2}, None)
    assert (gradual["axis"], gradual["state"]) == ("loss", "found")
    assert (gradual["easier"], gradual["harder"]) == (0.001, 0.01)
    # Linear in loss: 1.05 + 0.15 * (x - 0.001) / 0.009 = 1.1
    assert gradual["estimate"] == pytest.approx(0.004, rel=0.02)
    assert (gradual["low"], gradual["high"]) == (0.001, 0.01)
    assert (severe["state"], severe["hardest"]) == ("never", 0.01)


def test_a_bracket_may_begin_at_none(tmp_path: Path) -> None:
    gradual, _ = made(tmp_path, "loss", {0.0: 1.0, 0.01: 1.2, 0.1: 3.0}, 0.0)
    assert (gradual["easier"], gradual["harder"]) == (0.0, 0.01)


def test_a_queue_is_harder_the_smaller_it_is(tmp_path: Path) -> None:
    gradual, severe = made(
        tmp_path, "queue_bytes", {128_000: 1.0, 64_000: 1.02, 16_000: 1.3, 4_000: 2.0}, 128_000
    )
    assert (gradual["axis"], gradual["unit"]) == ("queue", "bytes")
    assert (gradual["easier"], gradual["harder"]) == (64_000, 16_000)
    # Linear in 1/queue.
    part = (1.1 - 1.02) / (1.3 - 1.02)
    expected = 1 / (1 / 64_000 + part * (1 / 16_000 - 1 / 64_000))
    assert gradual["estimate"] == pytest.approx(expected, rel=0.02)
    assert (severe["easier"], severe["harder"]) == (16_000, 4_000)


def test_a_buffer_that_the_kernel_chooses_is_compared_with_and_has_no_place(tmp_path: Path) -> None:
    gradual, _ = made(
        tmp_path, "buffer_bytes", {None: 1.0, 65_536: 1.02, 16_384: 1.5, 4_096: 4.0}, None
    )
    assert (gradual["easier"], gradual["harder"]) == (65_536, 16_384)
    assert gradual["mildest"] == 65_536


def test_axes_without_a_mild_end_have_none(tmp_path: Path) -> None:
    assert made(tmp_path, "links", {1: 1.0, 2: 0.8, 4: 0.7}, 1) == []


def test_a_line_without_valid_runs_is_reported(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True, loss=0.0),
        tiny.run("b", loss=0.1, status="invalid", reason="late"),
    ])  # fmt: skip
    found = Warehouse(tmp_path).rows("axis_thresholds").rows(named=True)
    assert {row["state"] for row in found} == {"cannot tell"}


@pytest.mark.parametrize(
    ("column", "mild", "hard", "place"),
    [
        ("loss", 0.0, 0.001, "0.100 %"),
        ("jitter_ns", 0, 1_500_000, "1.50 ms"),
        ("queue_bytes", 128_000, 16_000, "16.0 kB"),
        ("buffer_bytes", 262_144, 65_536, "64 KiB"),
    ],
)
def test_why_nothing_can_be_reported_names_values_as_the_verdict_does(
    tmp_path: Path, column: str, mild: float, hard: float, place: str
) -> None:
    tiny.runs(tmp_path, [
        *(tiny.run(f"a{number}", baseline=True, **{column: mild}) for number in range(2)),
        tiny.run("b", **{column: hard}),
    ])  # fmt: skip
    found = Warehouse(tmp_path).rows("axis_thresholds").rows(named=True)
    assert {row["reason"] for row in found} == {
        f"1 valid run at {place} and 2 valid runs at the baseline, where an interval needs 3"
    }


def test_the_page_has_values_in_the_units_of_the_verdict(tmp_path: Path) -> None:
    made(tmp_path, "loss", {None: 1.0, 0.001: 1.05, 0.01: 1.2}, None)
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    start = html.index('id="axis_thresholds-table"')
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html[start : html.index("</table>", start)])
    # The first row is for 10 %; its first cell names the application.
    values = ["0.4 %", "0.100 %", "1.00 %", "0.100 %", "1.00 %"]
    assert cells[1:9] == ["loss", "by 10 %", "found", *values]
