"""Each panel and mark of an SVG carries what the script of the page reads."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from flowsweep.render import axes, charts, svg
from flowsweep.render.figure import values
from flowsweep.render.panels import TIP, about, tip

HOSTILE = "\"><img src=x onerror=alert(1)> & 'lu' url(#a) 1.23456"


def panel(mark: str, tips: list[str], **attributes: str) -> Any:
    rows = [{"x": x, "y": x, TIP: words} for x, words in enumerate(tips, start=1)]
    log = axes.scale(type="log", domain=[1, 8], nice=False)
    linear = axes.scale(domain=[0, 8], nice=False)
    made = (
        charts.Chart(values(rows))
        .mark(mark)
        .encode(
            x=charts.field("x:Q", title="time (s)", scale=log),
            y=charts.field("y:Q", title=None, scale=linear),
        )
    )
    return charts.layer(made).properties(
        width=80, height=40, description=about(y="share", **attributes)
    )


def carried(picture: str, key: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(f' {key}="([^"]*)"', picture)]


def test_a_panel_has_the_ends_of_its_axes_and_what_it_shows() -> None:
    rows = [panel("point", ["a", "b"], application=name, point="4 ms") for name in ("lu", HOSTILE)]
    chart = charts.vconcat(charts.concat(rows[0], columns=2), charts.concat(rows[1]))
    picture = svg.render(chart, "made")
    assert [json.loads(one) for one in carried(picture, "data-of")] == [
        {"application": "lu", "point": "4 ms"},
        {"application": HOSTILE, "point": "4 ms"},
    ]
    assert carried(picture, "data-x") == ["log 1 8 time (s)"] * 2
    assert carried(picture, "data-y") == ["linear 0 8 share"] * 2
    assert "<img" not in picture


def test_a_point_has_the_words_of_its_row() -> None:
    words = [tip("first", None, "1.23456 s"), HOSTILE, "NaN undefined"]
    picture = svg.render(panel("point", words), "made")
    assert carried(picture, "data-tip") == ["first; 1.23456 s", HOSTILE, "NaN undefined"]
    assert not svg.is_broken(picture)


@pytest.mark.parametrize(("words", "labels"), [(["baseline"] * 3, ["baseline"]), (["a", "b"], [])])
def test_a_line_has_words_that_all_its_rows_share(words: list[str], labels: list[str]) -> None:
    assert carried(svg.render(panel("line", words), "made"), "data-tip") == labels


def test_a_line_keeps_the_points_at_which_it_turns() -> None:
    """Steps below a hundredth of a pixel would be a third of the page."""
    steps = [{"x": x, "y": y} for x, y in enumerate([0.0, 0.0, 1.0, 1.00001, 0.5])]
    line = charts.Chart(steps).mark("line", interpolate="step-after").encode(x="x:Q", y="y:Q")
    text = svg.render(line.properties(width=100, height=100), "steps")
    assert re.findall(r' d="(M[^"]+)" stroke', text) == ["M0,100H50V9.09H100V54.55"]
