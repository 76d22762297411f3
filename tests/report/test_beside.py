"""Applications that share a path: the slowdown, and the figures that leave such runs out."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import made
import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

#: Seconds of three runs of each application: alone, and beside others, at 8 Mbit/s.
ALONE = {"nqueens": (6.0, 6.2, 6.1), "taskgraph": (5.0, 5.1, 4.9), "jigsaw": (3.0, 3.1, 2.9)}
BESIDE = {
    ("nqueens", "jigsaw"): (6.3, 6.4, 6.2),
    ("nqueens", "ssor"): (9.0, 9.2, 9.1),
    ("taskgraph", "jigsaw"): (5.2, 5.3, 5.1),
    ("taskgraph", "ssor"): (7.0, 7.1, 6.9),
    ("taskgraph", "taskgraph"): (9.0, 9.1, 8.9),
    # Two copies of one application do not count as another application.
    ("jigsaw", "jigsaw"): (6.0, 6.1, 5.9),
}


def rows() -> list[dict[str, Any]]:
    found = []
    for app, times in ALONE.items():
        for rate in (200, 8):
            found += [(app, rate, None, time * (1 if rate == 8 else 0.5)) for time in times]
    found += [(app, 8, name, time) for (app, name), times in BESIDE.items() for time in times]
    found += [("nqueens", 200, None, 0.0)]  # the loop below turns 0.0 into the run at 64 ms
    made_rows = []
    for number, (app, rate, name, time) in enumerate(found):
        far = time == 0.0
        rtt = {"rtt_asked_ns": 64 * tiny.MS, "rtt_measured_ns": 64 * tiny.MS} if far else {}
        made_rows.append(
            tiny.run(
                f"r{number:02}", app=app, beside_app=name, completion_s=4.0 if far else time,
                baseline=rate == 200 and not far, rate_asked_bit_s=rate * 1e6,
                rate_measured_bit_s=rate * 1e6, **rtt,
            )
        )  # fmt: skip
    return made_rows


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tiny.runs(tmp_path_factory.mktemp("shared"), rows())
    (folder / "experiment.yaml").write_text("papers: [kitatsuji]\n")
    return Warehouse(folder)


def ratio(app: str, name: str) -> float:
    return statistics.median(BESIDE[app, name]) / statistics.median(ALONE[app])


def test_each_pair_stands_beside_the_application_alone_at_the_same_network(
    shared: Warehouse,
) -> None:
    found = {
        (row["app"], row["name"]): row
        for row in shared.rows("side_by_side").rows(named=True)
        if row["axis"] == "beside"
    }
    assert set(found) == set(BESIDE)
    for (app, name), row in found.items():
        assert row["ratio"] == pytest.approx(ratio(app, name), rel=1e-3)
        assert row["reference_name"] is None
        assert (row["beside"], row["beside_app"]) == ("rate 8 Mbit/s", name)
        assert row["reference_s"] == pytest.approx(statistics.median(ALONE[app]))
    labels = set(shared.select("select label from points where beside_app = 'ssor'")["label"])
    assert labels == {"rate 8 Mbit/s, beside ssor"}


def test_the_page_names_the_other_application(shared: Warehouse) -> None:
    html = page.build(shared.directory).html.replace("\u00a0", " ")
    part = html[html.index('id="side_by_side-table"') :]
    assert "beside ssor" in part[: part.index("</table>")]
    assert "This report contradicts" not in html


def test_lines_of_rtt_and_rate_are_those_of_the_application_alone(shared: Warehouse) -> None:
    found = shared.rows("completion_by_rate").rows(named=True)
    for app, times in ALONE.items():
        own = {row["rate_asked_mbit_s"]: row for row in found if row["app"] == app}
        assert set(own) == {200, 8}
        assert own[8]["completion_s"] == pytest.approx(statistics.median(times))
        assert own[8]["runs_used"] == 3


def test_the_papers_expectations_follow_from_the_ratios(shared: Warehouse) -> None:
    found = {
        row["key"]: (row["ours"], row["verdict"])
        for row in shared.rows("published").rows(named=True)
        if row["item"] == "section 4 sharing"
    }
    expected = {
        "nqueens": (4.0 / (6.1 * 0.5), "the paper contradicts itself"),
        "jigsaw": (max(ratio("nqueens", "jigsaw"), ratio("taskgraph", "jigsaw")), "same shape"),
        "ssor": (max(ratio("nqueens", "ssor"), ratio("taskgraph", "ssor")), "same shape"),
        "ssor over jigsaw": (
            min(ratio(app, "ssor") / ratio(app, "jigsaw") for app in ("nqueens", "taskgraph")),
            "same shape",
        ),
        "taskgraph": (ratio("taskgraph", "taskgraph"), "not reproduced"),
    }
    assert set(found) == set(expected)
    for key, (value, verdict) in expected.items():
        assert found[key][0] == pytest.approx(value, abs=2e-3), key
        assert found[key][1].split(":")[0] == verdict, key


@pytest.fixture
def captured(tmp_path: Path) -> Warehouse:
    """Makes two runs with the same packets; another application ran beside the second run."""
    alone = made.large()[0]
    axes = {**alone.axes, "beside_app": "other"}
    both = [alone, made.Run(**{**vars(alone), "axes": axes, "start_ms": alone.start_ms + 9_000})]
    return Warehouse(made.write(tmp_path, both))


def test_figures_of_traffic_leave_out_runs_that_hold_two_applications(captured: Warehouse) -> None:
    runs = captured.select("select run, is_alone, is_valid from runs order by is_alone")
    assert runs["is_alone"].to_list() == [False, True]
    assert runs["is_valid"].to_list() == [True, True]
    assert captured.select("select run from point_runs")["run"].to_list() == [runs["run"][1]]
    assert captured.select("select run from shown_runs")["run"].to_list() == [runs["run"][1]]
    for query in ("totals", "flow_sizes", "throughput_cdf", "message_rate", "wan_throughput"):
        rows = captured.rows(query)
        assert rows.height > 0, query
        if "beside_app" in rows.columns:
            assert rows["beside_app"].null_count() == rows.height, query
    listed = captured.rows("run_table").sort("beside_app", nulls_last=True)
    assert listed["beside_app"].to_list() == ["other", None]
    assert listed["is_traffic_used"].to_list() == [False, True]
    html = page.build(captured.directory).html.replace("\u00a0", " ")
    assert html.count("Left out: 1 run beside another application") >= 1
    assert "This report contradicts" not in html
