"""The kept rows of whole experiments: their origin, and the verdicts of the current rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from flowsweep.experiment.load import about
from flowsweep.warehouse import kept_papers, reports_folder
from flowsweep.warehouse.paper_items import cells

PAPERS = reports_folder() / "papers"
EXPERIMENTS = Path(__file__).parents[2] / "workflows" / "experiments"
KEPT = kept_papers.folders()
NAMES = [folder.name for folder in KEPT]
KEYS = ("paper", "item", "key")


def stated(experiment: str) -> dict[tuple[str, ...], dict[str, object]]:
    """Returns the cells that an experiment's papers state, by paper, item and key."""
    text = (EXPERIMENTS / f"{experiment}.yaml").read_text(encoding="utf-8")
    found = [cell for paper in about(text).papers for cell in cells(PAPERS / paper)]
    return {tuple(str(cell[key]) for key in KEYS): cell for cell in found}


def test_some_are_kept() -> None:
    assert KEPT


@pytest.mark.parametrize("folder", KEPT, ids=NAMES)
def test_each_value_of_the_papers_has_a_verdict_of_today(folder: Path) -> None:
    rows = kept_papers.rows(folder)
    assert {*rows.select(KEYS).rows()} == {*stated(folder.name)}
    assert rows.height == len(stated(folder.name))
    kept = {row[:3]: row[3] for row in _published(folder).select(*KEYS, "ours").rows()}
    left = {
        (paper, item, key)
        for paper, items in _superseded().items()
        for item, keys in items.items()
        for key in keys
    }
    for row in rows.iter_rows(named=True):
        name = tuple(row[key] for key in KEYS)
        assert (row["ours"] is None) == row["verdict"].startswith("not here, because"), row
        if kept.get(name) is not None and name not in left:
            assert row["ours"] == kept[name]
        elif name not in kept and row["ours"] is None:
            assert kept_papers.NOT_YET in row["verdict"] or stated(folder.name)[name]["absent"]


@pytest.mark.parametrize("folder", KEPT, ids=NAMES)
def test_kept_values_are_beside_what_the_papers_state(folder: Path) -> None:
    """For every value that a paper still lists, both numbers and their ratio agree."""
    for row in _published(folder).iter_rows(named=True):
        cell = stated(folder.name).get(tuple(row[key] for key in KEYS))
        if cell is None or row["published"] is None:
            continue
        assert row["published"] == pytest.approx(float(str(cell["published"])))
        if row["ours"] is not None:
            # `ours` and `ratio` are rounded to four decimals.
            near = 5e-5 + 5e-5 / abs(row["published"])
            assert abs(row["ours"] / row["published"] - row["ratio"]) <= 1.001 * near, row


def test_what_is_superseded_was_kept() -> None:
    every = pl.concat(_published(folder).select(KEYS) for folder in KEPT)
    known = {*every.rows()}
    for paper, items in _superseded().items():
        for item, keys in items.items():
            assert {(paper, item, key) for key in keys} <= known


@pytest.mark.parametrize("folder", KEPT, ids=NAMES)
def test_the_runs_behind_them_are_those_of_the_table(folder: Path) -> None:
    runs = pl.read_csv(folder / "run_table.csv")
    assert runs["run"].n_unique() == runs.height
    invalid = runs.filter(pl.col("status") != "valid").height
    row = f"| `{folder.name}` | {runs.height} | {invalid} |"
    assert row in (PAPERS / "measured" / "README.md").read_text(encoding="utf-8")


def test_messages_take_as_long_by_their_runs_as_by_the_application() -> None:
    """Checks the model that replaces the application's own times, on the cells without loss."""
    folder = PAPERS / "measured" / "uklight"
    rows = {row[1:3]: row[3] for row in _published(folder).select(*KEYS, "ours").rows()}
    own = kept_papers.model(folder, "message_times").filter(pl.col("jitter_ms") == 0)
    plain = own.filter(pl.col("loss_percent") == 0)
    assert plain.height == 10
    for row in plain.iter_rows(named=True):
        name = ("table 1", f"{row['message_mb']:g} 0 {row['latency_ms']:g}")
        assert row["transfer_s"] == pytest.approx(rows[name], rel=0.01)


def test_the_paper_itself_tells_the_unit_of_its_jitter() -> None:
    published = {
        (cell["item"], cell["key"]): cell["published"] for cell in cells(PAPERS / "uklight")
    }
    added = {
        latency: published["table 2", f"16 0.8 ms {latency}"]
        - published["table 1", f"16 0 {latency}"]
        for latency in (2, 16)
    }
    rows = kept_papers.rows(PAPERS / "measured" / "uklight").filter(
        pl.col("item") == "reading of jitter"
    )
    ours = dict(rows.select("key", "ours").rows())
    bound = 2.8
    assert added[16] / added[2] == pytest.approx(1.26, abs=0.005)
    assert added[16] / added[2] < bound
    assert ours["ms"] < bound < ours["share"]


def test_counts_of_the_kept_rows_are_those_of_the_page() -> None:
    page = (PAPERS / "measured" / "README.md").read_text(encoding="utf-8")
    assert kept_papers.table() in page, kept_papers.table()


def test_a_kept_value_that_changes_changes_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    folder = reports / "papers" / "measured" / "uklight"
    name = ("uklight", "table 1", "16 0 16")
    assert _verdict(folder, name) == "reproduced"
    rows = _published(folder)
    changed = pl.when(pl.struct(KEYS) == dict(zip(KEYS, name, strict=True)))
    rows.with_columns(ours=changed.then(2 * pl.col("ours")).otherwise("ours")).write_csv(
        folder / "published.csv"
    )
    assert _verdict(folder, name) == "not reproduced"


def _verdict(folder: Path, name: tuple[str, ...]) -> str:
    rows = kept_papers.rows(folder).filter(pl.struct(KEYS) == dict(zip(KEYS, name, strict=True)))
    return str(rows["verdict"].item())


def _published(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "published.csv", infer_schema_length=None)


def _superseded() -> dict[str, dict[str, list[str]]]:
    text = (PAPERS / "measured" / "superseded.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, list[str]]] = yaml.safe_load(text)
    return loaded
