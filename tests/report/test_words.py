"""What a reader meets: numbers that stay with their units, tables that fit, captions that end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from markupsafe import Markup

from flowsweep.render import distributions, plain, templates
from flowsweep.render.figure import Context

NBSP = templates.NBSP


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("55.2 Mbit/s and 95 % of 10 ms", "55.2~Mbit/s and 95~% of 10~ms"),
        ("16 KiB, 1.66 MB, 3 µs, 25 MB/s", "16~KiB, 1.66~MB, 3~µs, 25~MB/s"),
        ("12.3 k runs, 4 M bins", "12.3~k runs, 4~M bins"),
        ("4 kinds, 3 messages, 2 sites, r 10 Mbit", "4 kinds, 3 messages, 2 sites, r 10 Mbit"),
    ],
)
def test_a_number_stays_on_one_line_with_its_unit(text: str, bound: str) -> None:
    assert templates.bind_units(text) == bound.replace("~", NBSP)


def test_markup_stays_markup() -> None:
    assert isinstance(templates.bind_units(Markup("<b>1 ms</b>")), Markup)
    assert not isinstance(templates.bind_units("<b>"), Markup)


def test_a_cell_of_several_columns_leaves_an_unknown_line_out() -> None:
    rows = pl.DataFrame({"value": [3.0, 4.5], "low": [2.5, None], "high": [3.5, None]})

    class Answers:
        def rows(self, _: str) -> pl.DataFrame:
            return rows

    context: Any = Context(Answers(), ())  # type: ignore[arg-type]
    made = plain.draw(context, "need", {"{value}|{low} to {high}": "median"})
    assert made is not None
    assert "<td>3.00<small>2.50 to 3.50</small></td>" in made
    assert "<td>4.50</td>" in made


def test_fewer_than_20_values_are_no_distribution() -> None:
    assert distributions.is_small_sample(pl.DataFrame({"of_flows": [19, 3]}), "of_flows")
    assert distributions.is_small_sample(pl.DataFrame({"of_flows": []}), "of_flows")
    assert not distributions.is_small_sample(pl.DataFrame({"of_flows": [3, 20]}), "of_flows")


@pytest.mark.parametrize("name", ["requirement", "need", "totals", "lightpaths"])
@pytest.mark.parametrize("width", [1000])
def test_no_table_is_wider_than_a_small_window(
    name: str, width: int, browser: Any, one_app_report: Path
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(one_app_report.as_uri())
    table = page.locator(f"#{name}-table")
    if table.count():
        ends = table.evaluate("one => [one.scrollWidth, one.parentElement.clientWidth]")
        assert ends[0] <= ends[1]
    page.close()
