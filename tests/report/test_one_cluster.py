"""One cluster against the grid: what `placement` and the papers' items compare."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

GRID: dict[str, Any] = {"ranks": 8, "ranks_per_host": 1, "links": 1}
CLUSTER: dict[str, Any] = {"placement": "vu", "ranks": 8, "ranks_per_host": None, "links": 1}
#: Seconds of three runs each: on the grid, and on one cluster.
AWARI = {None: ((3.0, 3.3, 3.1), (2.9, 2.8, 3.0)), "none": ((5.0, 5.1, 4.9), (2.5, 2.6, 2.4)),
         "no-tree": ((3.4, 3.5, 3.3), (2.8, 2.7, 2.9))}  # fmt: skip
HALF = (5.5, 5.6, 5.4)  # awari with half of the ranks, on one cluster
CHECK = {"one": (4.0, 4.2, 4.1), "two": (3.3, 3.2, 3.4), "cluster": (3.0, 3.1, 3.2)}


def rows() -> list[dict[str, Any]]:
    found = []
    for variant, both in AWARI.items():
        for where, times in zip((GRID, CLUSTER), both, strict=True):
            base = where is GRID and variant is None
            found += [("awari", base, {**where, "variant": variant}, time) for time in times]
    found += [("awari", False, {**CLUSTER, "ranks": 4, "variant": None}, time) for time in HALF]
    for name, times in CHECK.items():
        where = {"one": GRID, "two": {**GRID, "links": 2}, "cluster": CLUSTER}[name]
        found += [("modelcheck", name == "one", {**where, "variant": None}, time) for time in times]
    return [
        tiny.run(f"r{number}", app=app, baseline=base, completion_s=time,
                 **{"placement": None, **axes})
        for number, (app, base, axes, time) in enumerate(found)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tiny.runs(tmp_path_factory.mktemp("placed"), rows())
    (folder / "experiment.yaml").write_text("papers: [maassen, verstoep]\n")
    return Warehouse(folder)


def median(pair: tuple[float, ...]) -> float:
    return statistics.median(pair)


def test_a_cluster_stands_beside_the_grid_with_the_same_variant(placed: Warehouse) -> None:
    found = {
        (row["app"], row["variant"]): row
        for row in placed.rows("side_by_side").rows(named=True)
        if row["axis"] == "placement"
    }
    assert set(found) == {("awari", name) for name in AWARI} | {("modelcheck", None)}
    for variant, (grid, cluster) in AWARI.items():
        row = found["awari", variant]
        assert (row["name"], row["reference_name"]) == ("vu", None)
        assert row["ratio"] == pytest.approx(median(cluster) / median(grid), rel=1e-3)
        # "ranks a host unset" is left out, as it follows from the placement.
        assert row["beside"] == ("baseline" if variant is None else f"variant {variant}")
    labels = set(placed.select("select label from points where placement = 'vu'")["label"])
    assert labels == {
        "placement vu", "variant none, placement vu", "variant no-tree, placement vu",
        "ranks 4, placement vu",
    }  # fmt: skip


def test_the_page_says_where_the_ranks_are(placed: Warehouse) -> None:
    html = page.build(placed.directory).html.replace("\u00a0", " ")
    part = html[html.index('id="side_by_side-table"') :]
    table = part[: part.index("</table>")]
    assert "all at vu" in table
    assert "This report contradicts" not in html


def test_variants_on_the_cluster_stand_beside_the_cluster(placed: Warehouse) -> None:
    found = {
        (row["placement"], row["variant"]): row["ratio"]
        for row in placed.rows("side_by_side").rows(named=True)
        if row["axis"] == "variant"
    }
    for place, column in ((None, 0), ("vu", 1)):
        for variant in ("none", "no-tree"):
            expected = median(AWARI[variant][column]) / median(AWARI[None][column])
            assert found[place, variant] == pytest.approx(expected, rel=1e-3)


def test_the_papers_items_compare_like_with_like(placed: Warehouse) -> None:
    ours = {
        (row["paper"], row["item"], row["key"]): (row["ours"], row["verdict"])
        for row in placed.rows("published").rows(named=True)
    }
    grid, cluster = ([median(pair[place]) for pair in AWARI.values()] for place in (0, 1))
    every, none, tree = 0, 1, 2
    expected = {
        ("maassen", "figure 2", "lightpaths"): 4.1 / 3.3,
        ("maassen", "figure 2", "cluster"): 3.3 / 3.1,
        ("verstoep", "figure 2", "double"): median(HALF) / cluster[every],
        # The runs with half of the ranks are in none of the following values.
        ("verstoep", "figure 4", "grid"): grid[none] / cluster[none],
        ("verstoep", "figure 7", "all"): grid[every] / cluster[every] - 1,
        # The runs on the cluster are in none of the following values.
        ("verstoep", "section 5 gain", "none"): grid[none] / grid[every] - 1,
        ("verstoep", "section 5 parts", "no-tree"): (
            (grid[tree] - grid[every]) / (grid[none] - grid[every])
        ),
    }
    for key, value in expected.items():
        assert ours[key][0] == pytest.approx(value, abs=2e-4), key
    assert ours["maassen", "figure 2", "cluster"][1] == "same shape"
    assert ours["verstoep", "figure 2", "double"][1] == "reproduced"
    assert ours["verstoep", "figure 4", "grid"][1] == "reproduced"
    assert ours["verstoep", "figure 7", "all"][1] == "reproduced"
