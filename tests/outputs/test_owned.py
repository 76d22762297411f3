"""flowsweep does not remove foreign files, and reports them before any work."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from writing import files_of, make_run

from flowsweep.files import staging
from flowsweep.files.owned import RUNS_COLUMNS


def foreign(path: Path, kind: str) -> None:
    """Creates a foreign file of this kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "table":
        pl.DataFrame({"mine": [1, 2]}).write_parquet(path)
    elif kind == "text":
        path.write_text("years of work")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
        (path / "part-0.parquet").write_text("years of work")
    elif kind == "link":
        target = next(one for one in path.parents if one.name.startswith("test_")) / "elsewhere"
        target.write_text("years of work")
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)


KINDS = ("table", "text", "empty", "folder", "link", "pipe")


def states(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns inode and size of everything in a folder, as a pipe cannot be read."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_ino, path.lstat().st_size)
        for path in folder.rglob("*")
        if not path.is_dir()
    }


def refused(done, path: Path) -> None:
    assert done.codes == [2]
    assert done.errors[0].startswith(
        f"error: {path}: in the way, and not removed because flowsweep"
    )
    for word in ("found", "expected", "remedy"):
        assert f"\n  {word} " in done.errors[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", ["packets", "flows"])
def test_parse(nursery, captures, tmp_path, table, kind):
    """`packets` is not even requested."""
    out = tmp_path / "out"
    foreign(out / f"{table}.parquet", kind)
    before = states(tmp_path)
    refused(nursery.run(["parse", captures[0], "-o", out]), out / f"{table}.parquet")
    assert states(tmp_path) == before


def test_parse_beside_files_of_others(nursery, captures, tmp_path):
    out = tmp_path / "out"
    for name in ("notes.txt", "other.parquet", "sub/flows.parquet", ".hidden"):
        foreign(out / name, "text")
    before = files_of(out)
    for path in captures:
        assert nursery.run(["parse", path, "-o", out, "--packets"]).codes == [0]
    after = files_of(out)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 7


@pytest.mark.parametrize("kind", KINDS)
def test_ingest(nursery, tmp_path, kind):
    run, tables = make_run(tmp_path / "r1", 20), tmp_path / "tables"
    place = tables / "run=r1/host=pc9/notes"
    foreign(place, kind)
    before = states(tmp_path)
    found = place / "part-0.parquet" if kind == "folder" else place
    refused(nursery.run(["ingest", run, "-o", tables]), found)
    assert states(tmp_path) == before


def test_ingest_through_a_link(nursery, tmp_path):
    run, tables = make_run(tmp_path / "r1", 20), tmp_path / "tables"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    tables.mkdir()
    (tables / "run=r1").symlink_to(elsewhere)
    refused(nursery.run(["ingest", run, "-o", tables]), tables / "run=r1")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_runs(nursery, tmp_path, kind):
    (tmp_path / "runs/a").mkdir(parents=True)
    table = tmp_path / "tables/runs.parquet"
    foreign(table, kind)
    before = states(tmp_path)
    refused(nursery.run(["runs", tmp_path / "runs", "-o", table]), table)
    assert states(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS)
def test_report(nursery, tmp_path, kind):
    page = tmp_path / "results/report.html"
    foreign(page, kind)
    before = states(tmp_path)
    refused(nursery.run(["report", page.parent], page="a page"), page)
    assert states(tmp_path) == before


def test_tables_of_versions_without_a_mark_are_replaced(nursery, tmp_path):
    (tmp_path / "runs/a").mkdir(parents=True)
    table = tmp_path / "runs.parquet"
    pl.DataFrame({name.decode(): ["x"] for name in RUNS_COLUMNS}).write_parquet(table)
    assert nursery.run(["runs", tmp_path / "runs", "-o", table]).codes == [0]
    assert pl.read_parquet(table)["run"].to_list() == ["a"]


def test_reports_of_versions_without_a_mark_are_replaced(nursery, tmp_path):
    page = tmp_path / "report.html"
    page.write_text('<section id="provenance">Made by <code>flowsweep report</code>')
    assert nursery.run(["report", tmp_path], page="a page").codes == [0]
    assert page.read_text() == "a page"


@pytest.mark.parametrize("kind", ["file", "folder", "link", "pipe"])
def test_something_in_the_place_of_the_hidden_folder(nursery, captures, tmp_path, kind):
    out = tmp_path / "out"
    out.mkdir()
    hidden = staging.beside(out, "tables")
    if kind == "folder":
        hidden.mkdir()
        os.chown(hidden, 12345, 12345) if os.geteuid() == 0 else pytest.skip("needs another user")
    else:
        foreign(hidden, {"file": "text"}.get(kind, kind))
    before = states(tmp_path)
    done = nursery.run(["parse", captures[0], "-o", out])
    assert done.codes == [2]
    assert done.errors[0].startswith(f"error: {hidden}: in the way\n")
    assert states(tmp_path) == before
