"""The page as text: complete, self-contained, the same every time."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
import pytest
import synthetic
import tiny
from valid_charts import valid

from flowsweep import numbers
from flowsweep.errors import FlowsweepError
from flowsweep.render import axes, charts, markup, page, svg
from flowsweep.render.figure import Context, Figure
from flowsweep.render.figures import (
    completion_by_rate,
    completion_by_rtt,
    flow_sizes,
    limits,
    message_rate,
    packet_intervals,
    thresholds,
    throughput_cdf,
    throughput_series,
    wan_throughput,
)
from flowsweep.warehouse import Warehouse, reports_folder

DAY_NS = 86_400 * 10**9
FIGURES = (
    thresholds.draw, completion_by_rtt.draw, completion_by_rate.draw, throughput_series.draw,
    throughput_cdf.draw, wan_throughput.draw, flow_sizes.draw, packet_intervals.draw, limits.draw,
    message_rate.draw,
)  # fmt: skip


@pytest.fixture(scope="module")
def html(one_app_report: Path) -> str:
    return one_app_report.read_text(encoding="utf-8").replace("\u00a0", " ")


def test_a_second_build_of_the_same_results_elsewhere_gives_the_same_bytes(
    one_app: Path, html: str, tmp_path: Path
) -> None:
    copy = tmp_path / one_app.name
    shutil.copytree(one_app, copy)
    assert page.build(copy).html.replace("\u00a0", " ") == html


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in html.replace("url(#", "")


def test_no_path_of_this_machine_is_in_the_page(one_app: Path, html: str) -> None:
    assert str(one_app.parent) not in html


def test_every_section_is_there_and_linked(html: str) -> None:
    for anchor in ("verdict", "requirement", "sensitivity", "traffic", "wan", "flows", "limits",
                   "messages", "intervals", "runs", "quality", "provenance"):  # fmt: skip
        assert f'<section id="{anchor}"' in html
        assert f'href="#{anchor}"' in html


def test_tables_say_yes_and_no(html: str) -> None:
    cells = set(re.findall(r"<td[^>]*>([^<]*)</td>", html))
    assert {"yes", "no"} <= cells
    assert not {"True", "False"} & cells


def test_every_id_is_unique(html: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_no_place_in_a_picture_is_no_number(html: str) -> None:
    pictures = re.findall(r"<svg .*?</svg>", html, re.DOTALL)
    assert len(pictures) > 5
    assert not [picture[:80] for picture in pictures if svg.is_broken(picture)]


def test_the_sql_of_every_figure_is_under_it(html: str) -> None:
    for name in ("completion_by_rtt", "throughput_cdf", "packet_intervals", "totals"):
        sql = (
            jinja2.Environment(autoescape=True)
            .from_string("{{ x }}")
            .render(x=(reports_folder() / "figures" / f"{name}.sql").read_text(encoding="utf-8"))
        )
        assert sql in html


def test_an_invalid_run_is_named_with_its_reason(html: str) -> None:
    assert "emulator late 3.1 ms" in html
    assert "timed out after 120 s" in html


def test_the_report_is_written_whole_or_not_at_all(
    one_app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(one_app, copy, ignore=shutil.ignore_patterns("report.html"))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(FlowsweepError, match="cannot write"):
        page.write(copy)
    assert not [path for path in copy.iterdir() if "report" in path.name]


def test_a_page_without_captures_names_what_is_missing(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("a", baseline=True)])
    made = page.build(tmp_path)
    html, first = made.html.replace("\u00a0", " "), made.first
    assert "not what it needs" in first
    assert "No packet intervals" in html
    assert '<section id="traffic"' not in html


def test_a_page_of_one_hand_recorded_capture_is_built(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "mine", "rtt_asked_ns": 5 * tiny.MS, "completion_s": 12.0}])
    tiny.table(
        tmp_path,
        "captures",
        "mine",
        "node7",
        [tiny.capture(dropped_kernel=None, dropped_interface=None)],
    )
    tiny.table(tmp_path, "flows", "mine", "node7", [tiny.flow("192.0.2.7", "192.0.2.9")])
    tiny.table(
        tmp_path, "throughput", "mine", "node7", tiny.bins("192.0.2.7", "192.0.2.9", {2: 900})
    )
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert '<figure id="figure-throughput_series"' in html
    assert "drops unknown" in html


def test_a_legend_names_what_is_drawn(tmp_path: Path) -> None:
    """Two runs without a record: there is no baseline, and no runs are pooled."""
    tiny.runs(tmp_path, [{"run": run, "status": "no record"} for run in ("a", "b")])
    for run in ("a", "b"):
        tiny.table(tmp_path, "flows", run, "n7", [tiny.flow("192.0.2.7", "192.0.2.9")])
        bins = tiny.bins("192.0.2.7", "192.0.2.9", {2: 900})
        tiny.table(tmp_path, "throughput", run, "n7", bins)
        missing = tiny.capture(dropped_kernel=None, dropped_interface=None)
        tiny.table(tmp_path, "captures", run, "n7", [missing])
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    # There are too few flows for a distribution: only that of the throughput is drawn.
    assert html.count("Coloured: the run in the title.") == 1
    assert "Solid: the busiest window; dashed" in html
    # The day of captures without a record is that of their first packet.
    assert "captured 2026-01-01" in html
    assert f"2 captures: 2 of grade {numbers.NONE} (drops unknown)" in html
    for absent in ("grey: the baseline", "the run with the least", "runs with the least"):
        assert absent not in html


def test_a_capture_that_jumps_in_time_is_drawn_and_reported_to_jump(tmp_path: Path) -> None:
    days = 1529
    late = {"first_time": tiny.T0 + days * DAY_NS, "last_time": tiny.T0 + days * DAY_NS}
    bins = {2: 900, days * DAY_NS // (10 * tiny.MS): 900}
    ends = ("192.0.2.7", "192.0.2.9")
    tiny.runs(tmp_path, [{"run": "mine"}])
    tiny.table(
        tmp_path, "captures", "mine", "node7", [tiny.capture(last_time=tiny.T0 + days * DAY_NS)]
    )
    tiny.table(tmp_path, "flows", "mine", "node7", [tiny.flow(*ends, end="open")])
    tiny.table(tmp_path, "throughput", "mine", "node7", tiny.bins(*ends, bins))
    tiny.table(
        tmp_path, "messages", "mine", "node7", [tiny.message(700), tiny.message(700, **late)]
    )
    made = page.build(tmp_path)
    drawn = dict(re.findall(r'<figure id="figure-(\w+)">(.*?)</figure>', made.html, re.DOTALL))
    assert {"throughput_series", "wan_throughput", "message_rate"} <= drawn.keys()
    for name, figure in drawn.items():
        assert not svg.is_broken(figure), name
        assert "not drawn" not in figure, name
    assert "1,529 days cut" in drawn["throughput_series"]
    assert "a silence is cut out of the axis" in drawn["throughput_series"]
    assert "mine, node7: packets of" in drawn["throughput_series"]
    assert "none for 1,529 days" in drawn["throughput_series"]
    # 2 messages in 1,529 days are not rounded to none.
    rate = Warehouse(tmp_path).rows("message_rate")["messages_s"][0]
    assert rate == pytest.approx(2 / (days * 86_400), rel=0.01)


def test_a_value_without_a_place_on_its_axis_is_reported_and_not_drawn(one_app: Path) -> None:
    rows = pl.DataFrame({"x": [0.0, 5.0]})
    x = charts.field("x:Q", scale=axes.scale(type="log", domain=[1, 10]))
    chart = charts.Chart(rows.to_dicts()).mark("rule").encode(x=x, x2={"datum": 0})
    assert svg.is_broken(svg.render(chart, "made"))
    drawn = str(page._Picture(Figure(name="made", heading="", caption="", chart=chart, rows=rows)))
    assert not svg.is_broken(drawn)
    assert "not drawn: a value has no place on its axis" in drawn


@pytest.mark.parametrize(
    ("end_s", "unit", "ticks"),
    [
        (9_999, "s", None),
        (10_800, "h", [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        (100_000, "h", [0, 5, 10, 15, 20, 25]),
        (86_400 * 1529, "days", [0, 500, 1000, 1500]),
    ],
)
def test_long_times_are_in_hours_or_days(end_s: float, unit: str, ticks: list[float]) -> None:
    found, options = axes.since_start(end_s)
    assert found == unit
    size = {"s": 1, "h": 3600, "days": 86_400}[unit]
    values = options.get("values")
    assert (values and [value / size for value in values]) == ticks


def test_a_label_has_only_what_tells_problems_apart() -> None:
    long = ", ".join(f"switch_{letter} off" for letter in "abcdefgh")
    rows = [("a", "n 8, p 3"), ("a", "limit 9, n 8, p 3"), ("b", "n 8"), ("c", "n 1"), ("c", "n 2"),
            ("d", long), ("d", ""), ("e", f"{long}, x 1"), ("e", f"{long[:-4]}, x 2")]  # fmt: skip
    names = page.labels(rows)
    assert list(names.values())[:5] == ["a", "a limit 9", "b", "c n 1", "c n 2"]
    assert names["d", long] == f"d {long}"[:39] + "…"
    assert len(set(names.values())) == len(rows)


def test_every_figure_survives_no_data(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    context = Context(Warehouse(tmp_path), [])
    for make in FIGURES:
        assert make(context) is None, make


def test_a_sweep_without_valid_runs_is_drawn_empty(tmp_path: Path) -> None:
    rows = [
        tiny.run(f"{rtt}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS, status="failed",
                 completion_s=None, reason="crashed")
        for rtt in (1, 4)
    ]  # fmt: skip
    tiny.runs(tmp_path, rows)
    made = page.build(tmp_path)
    html, first = made.html.replace("\u00a0", " "), made.first
    assert "no valid run to compare" in html
    assert "no run is valid at the baseline" in first


def test_invalid_runs_are_reported_from_the_tables_alone(tmp_path: Path, command: Any) -> None:
    row = tiny.run("a", baseline=True, status="invalid", reason="other programs")
    tiny.runs(tmp_path, [row, tiny.run("b", status="invalid", warmup=True)])
    (tmp_path / "runs/a").mkdir(parents=True)
    (tmp_path / "runs/a/run.json").write_text('{"cut off')
    result = command("flowsweep", "report", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "note: 1 run does not count, being invalid; a: other programs" in result.stderr
    assert f"flowsweep retry {tmp_path}" in result.stderr


@pytest.fixture(scope="module")
def two(two_apps: Path) -> Context:
    """Returns the context of the figures of two applications."""
    warehouse = Warehouse(two_apps)
    return Context(warehouse, page._series(warehouse, ""))


@pytest.mark.parametrize("make", FIGURES)
def test_every_chart_is_valid_vega_lite(two: Context, make: object) -> None:
    figure = make(two)  # type: ignore[operator]
    valid(figure.chart)


def test_no_mark_falls_off_a_log_axis(two: Context) -> None:
    """A single 0 on a log scale moves every mark of its layer to the edge, silently."""
    for make in FIGURES:
        figure = make(two)
        for data in walk(valid(figure.chart)):
            for row in data:
                # time is linear, and the first bin may begin before the run
                assert row.get("x", 1) > 0 or figure.name == "wan_throughput", figure.name
                if figure.name.startswith(("completion", "flow")):
                    assert row.get("y", 1) > 0
                    assert row.get("slowdown", 1) > 0


def test_an_application_with_fewer_points_leaves_its_places_empty(two: Context) -> None:
    rows = two.rows("packet_intervals")
    once = (pl.col("app") == "taskgraph") & (pl.col("rtt_ms") > rows["rtt_ms"].min() + 1)
    kept = rows.filter(~once)
    figure = packet_intervals.draw(Context(two.warehouse, two.series, {"packet_intervals": kept}))
    panels = valid(figure.chart)["concat"]
    drawn = [panel for panel in panels if "title" in panel]
    # nqueens: four RTTs and the lowest rate; taskgraph: the baseline and the lowest rate
    assert (len(drawn), len(panels)) == (7, 10)


def test_the_strip_has_rows_only_where_an_axis_was_varied(two: Context) -> None:
    rows = two.rows("thresholds")
    kept = rows.filter((pl.col("app") == "nqueens") | (pl.col("axis") == "rate"))
    figure = thresholds.draw(Context(two.warehouse, two.series, {"thresholds": kept}))
    domains = [
        {name.partition(",")[0] for name in panel["layer"][0]["encoding"]["y"]["scale"]["domain"]}
        for panel in valid(figure.chart)["vconcat"]
    ]
    assert domains == [{"nqueens", "taskgraph"}, {"nqueens"}]


def test_a_name_in_the_verdict_may_break_and_a_number_keeps_its_unit() -> None:
    text = markup.to_html("**a name of 7 words** needs **1,000 Mbit/s** [[ [9, 2000] ]]")
    assert text.startswith(f"<b>a name of 7 words</b> needs <b>1,000{markup.NBSP}Mbit/s</b>")


def walk(spec: object) -> list[list[dict[str, float]]]:
    """Returns all inline data of a specification."""
    found = []
    if isinstance(spec, dict):
        rows = spec.get("values")
        if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], dict):
            found.append(rows)
        for key, value in spec.items():
            if key == "datasets":
                found += [rows for rows in value.values() if isinstance(rows, (list, tuple))]
            found += walk(value)
    elif isinstance(spec, list):
        for value in spec:
            found += walk(value)
    return found


def test_what_holds_it_back_is_stated_above_the_bars(html: str) -> None:
    figure = html[html.index('<figure id="figure-limits">') :]
    finding = re.search(r'<p class="finding">(.*?)</p>\s*<div class="scroll picture">', figure)
    assert finding
    assert finding[1].startswith("At the baseline the application itself set the pace of nqueens")
    # the made-up tables give the network a third at the lowest rate
    assert "the network held it most at 1.06 ms · 4.99 Mbit/s, for 33 %." in finding[1]


def test_tables_without_limits_get_a_grey_bar_and_a_plain_answer(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow("10.77.2.1", "10.77.1.1")])
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert "cannot be determined (limits not in the tables)" in html
    assert "cannot tell 100 %" in html
    assert "No messages: no message tables hold a row." in html


@pytest.mark.parametrize(("evidence", "filled"), [("turn+short", True), ("pause", False)])
def test_points_are_open_where_the_ends_of_messages_are_guessed(
    tmp_path: Path, evidence: str, filled: bool
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])
    tiny.table(tmp_path, "throughput", "r", "pc3", tiny.bins("10.77.2.1", "10.77.1.1", {0: 1}))
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow("10.77.2.1", "10.77.1.1")])
    tiny.table(tmp_path, "messages", "r", "pc3", [tiny.message(5, evidence=evidence)])
    warehouse = Warehouse(tmp_path)
    figure = message_rate.draw(Context(warehouse, page._series(warehouse, "")))
    assert figure is not None
    assert ("Open points" in figure.caption) is not filled
    rows = walk(valid(figure.chart))
    assert {row["filled"] for data in rows for row in data} == {filled}


def test_runs_that_the_plan_has_no_more_are_in_no_figure_but_named(tmp_path: Path) -> None:
    def build(*rows: dict[str, object]) -> str:
        tiny.runs(tmp_path, [tiny.run("a", baseline=True, planned=True), *rows])
        return page.build(tmp_path).html.replace("\u00a0", " ")

    def traffic(run: str) -> None:
        tiny.table(tmp_path, "captures", run, "pc3", [tiny.capture()])
        tiny.table(tmp_path, "flows", run, "pc3", [tiny.flow("10.77.2.1", "10.77.1.1")])

    traffic("a")
    alone = build()
    traffic("old")
    html = build(tiny.run("old", planned=False, rtt_asked_ns=9 * tiny.MS, completion_s=5.0))
    # Only the lines that name the old run differ, and the hash of the table of runs.
    head = r' · <a href="#left-out">1 more left out</a>\n'
    assert len(re.findall(head, html)) == 1
    left_out = re.search(r' *<details id="left-out".*?</details>\n', html, re.DOTALL)
    assert "<code>old</code>" in left_out[0]
    rest = re.sub(head, "", html).replace(left_out[0], "")
    row = r'<tr><td class="words">runs</td>.*?</tr>'
    assert re.sub(row, "", rest) == re.sub(row, "", alone)


def test_a_page_over_its_budget_names_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.runs(tmp_path, [tiny.run("a", baseline=True)])
    monkeypatch.setattr(page, "BUDGET_BYTES", 1000)
    with pytest.raises(FlowsweepError, match="budget") as caught:
        page.build(tmp_path)
    assert "largest part is " in str(caught.value.found)


def test_the_made_up_tables_are_the_same_every_time(tmp_path: Path) -> None:
    plan = synthetic.Plan(rtts_ms=(1, 4), rates_mbit_s=(100,), repetitions=1, warmup=0)
    first, second = (synthetic.make(tmp_path / name, plan) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*.parquet"))
    assert len(files) > 20
    assert all((first / path).read_bytes() == (second / path).read_bytes() for path in files)
