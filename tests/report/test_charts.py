"""A chart is the Vega-Lite specification that Altair would make from the same calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from valid_charts import valid

from flowsweep.render import charts, page
from flowsweep.render import sections as parts
from flowsweep.render.figure import Context, Figure
from flowsweep.warehouse import Warehouse, reports_folder

ROWS = [{"x": 1, "y": 2.5, "high": 3.0, "name": "a"}, {"x": 2, "y": None, "high": 4.0, "name": "b"}]
OTHERS = [{"x": 3}]


def drawn(directory: Path) -> Iterator[Figure]:
    warehouse = Warehouse(directory, is_anew=True)
    with warehouse.reading():
        context = Context(warehouse, page._series(warehouse, []))
        for section in parts.sections(reports_folder()):
            if not section.is_left_out(context):
                made = [part.draw(context) for part in section.parts]
                yield from (one for one in made if isinstance(one, Figure))


@pytest.mark.parametrize(("experiment", "least"), [("one_app", 12), ("full", 3)])
def test_every_figure_is_one_of_vega_lite(experiment: str, least: int, request: Any) -> None:
    figures = list(drawn(request.getfixturevalue(experiment)))
    assert len(figures) >= least
    for figure in figures:
        valid(figure.chart)


def specify_by_altair(chart: Any) -> dict[str, Any]:
    """Returns Altair's specification of a chart, with inline rows and without Altair's settings."""
    spec = chart.to_dict()
    del spec["config"], spec["$schema"]
    return with_rows(spec, spec.pop("datasets"), None)


def with_rows(spec: dict[str, Any], datasets: dict[str, Any], outer: Any) -> dict[str, Any]:
    """Moves the rows of a specification to the innermost charts, which use them."""
    data = spec.pop("data", outer)
    kinds = [kind for kind in ("layer", "concat", "hconcat", "vconcat") if kind in spec]
    for kind in kinds:
        spec[kind] = [with_rows(one, datasets, data) for one in spec[kind]]
    return spec if kinds else {**spec, "data": datasets[data["name"]]}


def test_a_chart_is_what_altair_would_make() -> None:
    import altair as alt  # takes two seconds, so only this test imports it

    scale = {"type": "log", "domain": [1, 8]}
    rows, others = alt.InlineData(values=ROWS), alt.InlineData(values=OTHERS)
    x, y = alt.X("x:Q", title=None, scale=scale), alt.Y("y:Q")
    base = alt.Chart(rows).transform_filter("datum.x > 1")
    layers = alt.layer(
        base.mark_area(opacity=0.5).encode(x=x, y=y, y2="high:Q"),
        base.mark_point().encode(x=x, y=alt.value("height"), color=alt.Color("name:N")),
    ).properties(width=80, title=alt.TitleParams("two", color="red"), description="both")
    rule = alt.Chart(others).mark_rule(strokeDash=[2, 2]).encode(x=x)
    alike = alt.vconcat(
        alt.concat(layers, rule, columns=2, align="all"), alt.hconcat(rule), spacing=4
    )

    x, y = charts.field("x:Q", title=None, scale=scale), charts.field("y:Q")
    own = charts.Chart(ROWS).filtered("datum.x > 1")
    stack = charts.layer(
        own.mark("area", opacity=0.5).encode(x=x, y=y, y2="high:Q"),
        own.mark("point").encode(x=x, y=charts.value("height"), color=charts.field("name:N")),
    ).properties(width=80, title=charts.title("two", color="red"), description="both")
    line = charts.Chart(OTHERS).mark("rule", strokeDash=[2, 2]).encode(x=x)
    made = charts.vconcat(
        charts.concat(stack, line, columns=2, align="all"), charts.hconcat(line), spacing=4
    ).specification()
    assert list(made["datasets"].values()) == [ROWS, OTHERS]
    assert with_rows(made, made.pop("datasets"), None) == specify_by_altair(alike)


def test_a_chart_is_left_as_it_is_by_those_made_of_it() -> None:
    base = charts.Chart(ROWS).mark("line").encode(x="x:Q")
    before = base.specification()
    base.mark("bar").encode(y="y:Q").properties(width=3).filtered("true")
    assert base.specification() == before


def test_a_report_loads_no_altair(full: Path) -> None:
    """With Altair, charts would take two thirds of the time of a report."""
    code = (
        "import sys, pathlib; from flowsweep.render import page\n"
        "made = page.build(pathlib.Path(sys.argv[1]))\n"
        "print(len(made.figures), {'altair', 'jsonschema'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", code, str(full)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, _, loaded = done.stdout.strip().partition(" ")
    assert int(count) >= 3
    assert loaded == "set()"
