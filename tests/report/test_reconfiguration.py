"""Links that change while a program runs: what they offered, against sums by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import reconfigured
import tiny
from valid_charts import valid

from flowsweep.render import page, svg
from flowsweep.render.figure import Context, Figure
from flowsweep.render.figures import wan_throughput
from flowsweep.warehouse import Warehouse

#: By schedule: seconds, links and Mbit/s of each part of the run, as in `reconfigured.RUNS`.
PARTS = {
    None: [(1.0, 1, 100.0)],
    "at-start": [(0.3, 1, 100.0), (0.7, 1, 10.0)],
    "on-demand": [(0.25, 2, 100.0), (0.5, 1, 100.0), (0.25, 3, 50.0)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reconfigured.make(tmp_path_factory.mktemp("reconfigured"))


def test_links_and_what_they_offered_are_summed_over_the_run(folder: Path) -> None:
    found = {row["schedule"]: row for row in Warehouse(folder).rows("reconfiguration").to_dicts()}
    assert set(found) == set(PARTS)  # without the application whose links do not change
    carried = 8e-6 * 1.1 * sum(reconfigured.BYTES.values())
    times = {schedule: time for schedule, time, _ in reconfigured.RUNS.values()}
    for schedule, parts in PARTS.items():
        row = found[schedule]
        link_s = sum(time * links for time, links, _ in parts)
        offered = sum(time * links * rate for time, links, rate in parts)
        assert row["link_s"] == pytest.approx(link_s)
        assert row["offered_mbit"] == pytest.approx(offered)
        assert (row["link_share"], row["offered_share"]) == (
            pytest.approx(link_s), pytest.approx(offered / 100)
        )  # fmt: skip
        assert row["carried_mbit"] == pytest.approx(carried)
        assert row["used_share"] == pytest.approx(carried / 2 / offered, rel=1e-3)
        assert row["slowdown"] == pytest.approx(times[schedule])
        assert row["changes"] == len(parts) - 1


def test_what_a_link_without_a_limit_offers_is_unknown(tmp_path: Path) -> None:
    rows = [reconfigured._run(name, *reconfigured.RUNS[name]) for name in ("base", "slow")]
    record = json.loads(rows[1]["json"])
    del record["emulator"]["changes"][0]["rate_bit_s"]
    tiny.runs(tmp_path, [rows[0], rows[1] | {"json": json.dumps(record)}])
    for row in rows:
        tiny.table(tmp_path, "captures", row["run"], "pc1", [tiny.capture()])
    found = {row["schedule"]: row for row in Warehouse(tmp_path).rows("reconfiguration").to_dicts()}
    assert (found[None]["offered_mbit"], found["at-start"]["offered_mbit"]) == (100, None)


def test_stretches_cover_the_run_without_a_gap(folder: Path) -> None:
    rows = Warehouse(folder).select("select * from link_stretches order by run, start_s").to_dicts()
    for name, (schedule, _, _) in reconfigured.RUNS.items():
        own = [row for row in rows if row["run"] == name]
        assert [row["start_s"] for row in own[1:]] == [row["end_s"] for row in own[:-1]]
        assert (own[0]["start_s"], own[-1]["end_s"]) == (0, 1)
        lengths = [row["end_s"] - row["start_s"] for row in own]
        assert lengths == pytest.approx([time for time, _, _ in PARTS[schedule]])


def test_a_run_whose_links_change_is_drawn_with_what_they_carry(folder: Path) -> None:
    warehouse = Warehouse(folder)
    figure = wan_throughput.draw(Context(warehouse, page._series(warehouse, ())))
    assert figure is not None
    assert "Besides, of points whose links change in mid-run: slow, both." in figure.caption
    titles = json.dumps(valid(figure.chart))
    assert "schedule at-start: " in titles or '"farm, schedule at-start"' in titles
    assert "A dotted line with steps" in figure.caption
    assert _dotted(figure) == 4  # two runs, each way; runs whose links do not change have none


def _dotted(figure: Figure) -> int:
    return svg.render(figure.chart, "made").count("stroke-dasharray")


def test_without_changes_nothing_is_stated_of_them(tmp_path: Path) -> None:
    one = reconfigured._run("base", None, 1.0, [])
    tiny.runs(tmp_path, [one])
    for host in ("pc1", "pc3"):
        tiny.table(tmp_path, "captures", "base", host, [tiny.capture()])
        tiny.table(tmp_path, "throughput", "base", host,
                   tiny.bins(reconfigured.WEST, reconfigured.EAST, reconfigured.BYTES))  # fmt: skip
    warehouse = Warehouse(tmp_path)
    assert "no link changed" in str(warehouse.lack("reconfiguration"))
    figure = wan_throughput.draw(Context(warehouse, page._series(warehouse, ())))
    assert figure is not None
    assert "links change" not in figure.caption
    assert "A dotted line" not in figure.caption
    assert _dotted(figure) == 0


def test_the_page_has_both(folder: Path) -> None:
    html = page.build(folder).html.replace("\u00a0", " ")
    assert "This report contradicts" not in html
    part = html[html.index('id="reconfiguration-table"') :]
    assert "on-demand" in part[: part.index("</table>")]
