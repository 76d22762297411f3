"""What a figure leaves out is stated, and no application disappears."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from test_demand_page import context, experiment
from valid_charts import valid

from flowsweep.render import cuts, points, tables
from flowsweep.render.figure import Context
from flowsweep.render.figures import (
    completion_by_rate,
    lightpaths,
    mpi_costs,
    packet_intervals,
    peak_by_ranks,
    run_quality,
    run_table,
    transfer_activity,
    transfer_raster,
    transfer_times,
    wan_throughput,
)
from flowsweep.render.theme import Series

__all__ = ["experiment"]


@given(st.lists(st.integers(0, 100), max_size=12), st.integers(0, 80))
def test_places_are_shared_fairly(wanted: list[int], room: int) -> None:
    given_ = cuts.share_room(wanted, room)
    assert all(min(one, 1) <= got <= one for got, one in zip(given_, wanted, strict=True))
    assert sum(given_) == min(sum(wanted), max(room, sum(min(one, 1) for one in wanted)))
    # anyone short of the wanted places has at most one place fewer than anyone else
    short = [got for got, one in zip(given_, wanted, strict=True) if got < one]
    assert not short or max(given_) <= min(short) + 1


@given(st.integers(1, 500), st.integers(1, 60))
def test_points_are_taken_evenly_from_the_first_to_the_last(total: int, room: int) -> None:
    places = cuts.choose_evenly(total, room)
    assert len(set(places)) == len(places) == min(total, room)
    assert places[0] == 0
    assert room == 1 or places[-1] == total - 1


def test_nothing_is_reported_where_all_is_shown() -> None:
    assert cuts.describe(60, 60, "rows", "lightpaths") is None
    assert cuts.describe(60, 1800, "rows", "lightpaths") == (
        "60 of 1,800 rows; all: flowsweep query lightpaths DIR."
    )


def widened(given_: Context, name: str, apps: int, copies: int) -> Context:
    """Copies the rows of one application's baseline to `copies` RTTs and to many applications.

    The first application has ten times as many rows as each of the others.
    """
    rows = given_.select_series(given_.rows(name), given_.series[0]).filter("is_baseline")
    frames = [
        rows.with_columns(
            pl.lit(f"app{app}").alias("app"),
            pl.lit(float(rtt)).alias("rtt_asked_ms"),
            pl.lit(float(rtt)).alias("rtt_ms"),
            pl.lit(rtt == 1).alias("is_baseline"),
        )
        for app in range(apps)
        for rtt in range(1, (copies * 10 if app == 0 else copies) + 1)
    ]
    problem = given_.series[0].problem
    series = [Series(f"app{app}", problem, f"app{app}", app) for app in range(apps)]
    return Context(given_.warehouse, series, {name: pl.concat(frames)})


@pytest.mark.parametrize(
    ("name", "make"),
    [("lightpaths", lightpaths.draw), ("mpi_costs", mpi_costs.draw)],
)
def test_a_table_keeps_every_application_and_says_how_many_rows(
    experiment: Path, name: str, make: Any
) -> None:
    given_ = widened(context(experiment), name, apps=4, copies=12)
    html = make(given_)
    for app in range(4):
        assert f">app{app}<" in html, app
    pairs = 3 if name == "lightpaths" else 1
    total = pairs * 12 * 13
    shown = re.search(r'<p class="note">(\d+) of (\d+) rows; all: flowsweep query (\w+) DIR', html)
    assert shown is not None
    assert shown.groups() == ("60", str(total), name)
    assert html.count("<tr") - html[: html.index("<tbody")].count("<tr") == 60


def test_a_table_that_fits_says_nothing(experiment: Path) -> None:
    assert "rows; all:" not in str(lightpaths.draw(context(experiment)))
    assert "rows; all:" not in str(mpi_costs.draw(context(experiment)))


@pytest.mark.parametrize(
    ("name", "draw", "special"),
    [
        ("run_table", run_table.draw, {"status": "failed"}),
        ("run_quality", run_quality.draw, {"grade": "C"}),
    ],
)
def test_of_too_many_runs_those_that_are_special_stay(
    experiment: Path, monkeypatch: pytest.MonkeyPatch, name: str, draw: Any, special: dict[str, str]
) -> None:
    monkeypatch.setattr(tables, "MAX_LISTED", 3)
    given_ = context(experiment)
    fine = given_.rows(name).head(1).with_columns(status=pl.lit("valid"))
    if name == "run_quality":
        fine = fine.with_columns(grade=pl.lit("A"))
    last = fine.with_columns(run=pl.lit("the last"), **{k: pl.lit(v) for k, v in special.items()})
    given_.cache[name] = pl.concat([fine] * 5 + [last])
    html = str(draw(given_))
    assert html.count("<tr") - html[: html.index("<tbody")].count("<tr") == 3
    assert "the last" in html
    assert f"3 of 6 rows; all: flowsweep query {name} DIR." in html


def test_a_reason_that_only_the_last_of_many_captures_has_is_drawn(experiment: Path) -> None:
    given_ = context(experiment)
    fine = given_.rows("run_quality").head(1).with_columns(reason=pl.lit(None, pl.String))
    last = fine.with_columns(status=pl.lit("invalid"), reason=pl.lit("the host was busy"))
    given_.cache["run_quality"] = pl.concat([fine] * 200 + [last])
    html = str(run_quality.draw(given_))
    assert html.count("<tr") - html[: html.index("<tbody")].count("<tr") == 201


def test_more_applications_than_panels_have_one_each(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wan_throughput, "MAX_PANELS", 1)
    figure = wan_throughput.draw(context(experiment))
    assert figure is not None
    assert "2 of 6 pairs of sites are drawn; all: flowsweep query wan_throughput DIR." in (
        figure.caption
    )
    assert all(name in str(valid(figure.chart)) for name in ("farm", "grid"))


def test_pairs_with_little_traffic_are_reported(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wan_throughput._rank_pairs, "__defaults__", (0.34,))
    figure = wan_throughput.draw(context(experiment))
    assert figure is not None
    assert " of 6 pairs of sites are drawn; all: " in figure.caption
    assert "of the traffic of their run are not drawn." in figure.caption


def test_the_last_application_keeps_its_panels_of_transfers(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = transfer_activity.draw(context(experiment))
    assert everything is not None
    assert "sites are drawn" not in everything.caption
    monkeypatch.setattr(transfer_activity, "MAX_PANELS", 4)
    figure = transfer_activity.draw(context(experiment))
    assert figure is not None
    assert " sites are drawn; all: flowsweep query transfer_activity DIR." in figure.caption
    assert "farm-base" in figure.caption
    assert "grid-base" in figure.caption


def test_ranks_without_a_row_are_reported(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = transfer_raster.draw(context(experiment))
    assert everything is not None
    assert "ranks are drawn" not in everything.caption
    monkeypatch.setattr(transfer_raster, "MOST_ROWS", 4)
    figure = transfer_raster.draw(context(experiment))
    assert figure is not None
    assert " ranks are drawn; all: flowsweep query transfer_raster DIR." in figure.caption


def test_an_application_with_few_transfers_is_named(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_ = context(experiment)
    given_.query_figure("transfer_activity", "select count(*) from figure_rows")
    given_.warehouse.connection.execute(
        "update rows_of_transfer_activity set transfers = 3 where app = 'grid'"
    )
    given_.cache["transfer_raster"] = given_.rows("transfer_raster").with_columns(
        transfers=pl.when(pl.col("app") == "grid").then(0).otherwise("transfers")
    )
    label = next(one.label for one in given_.series if one.app == "grid")
    for make in (transfer_activity.draw, transfer_times.draw, transfer_raster.draw):
        figure = make(given_)
        assert figure is not None
        assert f"Not drawn: {label} (no run has 10 transfers that come and go)" in figure.caption


def test_points_off_the_line_of_the_ranks_are_reported(experiment: Path) -> None:
    figure = peak_by_ranks.draw(context(experiment))
    assert figure is not None
    assert "4 of 8 points are drawn; all: flowsweep query peak_by_ranks DIR." in figure.caption


def test_points_and_round_trip_times_are_reported() -> None:
    frames = [pl.DataFrame({"x": range(count)}) for count in (points.MAX_ROWS + 6, 4)]
    assert points.note_left_out(frames, "limits") == (
        "28 of 34 points are drawn; all: flowsweep query limits DIR."
    )
    assert points.note_left_out(frames[1:], "limits") is None
    assert packet_intervals.MAX_ROWS < points.MAX_ROWS


def test_a_rate_without_limit_has_no_place_on_the_axis_and_is_reported(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True, rate_asked_bit_s=None, rate_measured_bit_s=None),
        tiny.run("b", rate_asked_bit_s=1e7, rate_measured_bit_s=1e7),
        tiny.run("c", rate_asked_bit_s=1e6, rate_measured_bit_s=1e6, completion_s=2.0),
    ])  # fmt: skip
    figure = completion_by_rate.draw(context(tmp_path))
    assert figure is not None
    assert "2 of 3 points are drawn, those without a valid run or without a rate are not" in (
        figure.caption
    )
