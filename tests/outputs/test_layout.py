"""Tables in an earlier version's layout by table are moved to one folder for each run."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from writing import in_place, make_run

from flowsweep.errors import FlowsweepError
from flowsweep.files import layout, staging
from flowsweep.files.owned import TABLE_MARK
from flowsweep.warehouse import Warehouse

MARKED = {TABLE_MARK.decode(): "flows"}


def lay_out_by_table(tables: Path) -> None:
    """Moves every table to its place in flowsweep 0.1."""
    for file in sorted(tables.glob("run=*/host=*/*.parquet")):
        place = tables / file.stem / file.relative_to(tables)
        place.parent.mkdir(parents=True)
        file.rename(place)
    for run in tables.glob("run=*"):
        shutil.rmtree(run)


@pytest.fixture
def results(nursery, tmp_path) -> Path:
    runs, tables = tmp_path / "runs", tmp_path / "tables"
    for name in ("r1", "r2"):
        assert nursery.run(["ingest", make_run(runs / name, 20), "-o", tables]).codes == [0]
    assert nursery.run(["runs", runs, "-o", tables / "runs.parquet"]).codes == [0]
    return tmp_path


def test_a_warehouse_moves_and_reads_them(results):
    before = in_place(results / "tables")
    lay_out_by_table(results / "tables")
    (packets,) = Warehouse(results).select("select sum(packets) from file_captures").row(0)
    assert packets == 2 * 2 * 20
    assert in_place(results / "tables") == before
    assert {path.name for path in (results / "tables").iterdir()} == {
        "run=r1", "run=r2", "runs.parquet",
    }  # fmt: skip


def test_a_run_that_is_ingested_again_is_there_once(results, nursery):
    lay_out_by_table(results / "tables")
    run = make_run(results / "runs/r1", 30)
    assert nursery.run(["ingest", run, "-o", results / "tables"]).codes == [0]
    found = pl.read_parquet(results / "tables/*/*/captures.parquet", hive_partitioning=True)
    assert sorted(found.select("run", "packets").rows()) == [
        ("r1", 30), ("r1", 30), ("r2", 20), ("r2", 20),
    ]  # fmt: skip


def test_what_cannot_be_moved_is_reported(results, monkeypatch):
    lay_out_by_table(results / "tables")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(FlowsweepError, match="laid out by table"):
        layout.bring_up_to_date(results / "tables")


def test_where_folders_cannot_be_exchanged_they_are_renamed(results, nursery, monkeypatch):
    """As on NFS, the file system refuses the exchange; a crash in between is repaired."""
    tables = results / "tables"
    monkeypatch.setattr(staging, "_exchange", lambda *_: False)
    work = staging.beside(tables, "run=r1")
    old = in_place(tables)
    for renamings in range(8):
        staged = work / staging.NEW / "run=r1"
        shutil.copytree(tables / "run=r2", staged)
        (work / staging.LOCK).touch()
        left = renamings

        def rename(path: Path, place: Path, original=Path.rename) -> None:
            nonlocal left
            if left == 0:
                raise InterruptedError
            left -= 1
            original(path, place)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            try:
                staging.commit(tables, work)
                staging.move(tables, work)
                is_done = True
            except InterruptedError:
                is_done = False
        staging.settle(tables, print)
        assert {path.name for path in tables.iterdir()} == {"run=r1", "run=r2", "runs.parquet"}
        assert in_place(tables).keys() == old.keys()
        if is_done:
            break
    assert is_done
    assert renamings > 3


def test_folders_that_hold_no_tables_stay_as_they_are(tmp_path):
    """A user may have tables written next to other files: `--output .`."""
    folders = [tmp_path / "notes/drafts", tmp_path / "empty", tmp_path / "flows/run=r/host=h"]
    for folder in folders:
        folder.mkdir(parents=True)
    (tmp_path / "flows/run=r/host=h/flows.parquet").write_text("by another program")
    elsewhere = tmp_path / "elsewhere/run=r/host=h"
    elsewhere.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    pl.DataFrame({"a": [1]}).write_parquet(elsewhere / "link.parquet", metadata=MARKED)
    before = sorted(tmp_path.rglob("*"))
    layout.bring_up_to_date(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_that_is_newer_is_not_replaced_by_one_of_the_layout_before(results, nursery):
    run = make_run(results / "runs/r1", 30)
    tables = results / "tables"
    shutil.copytree(tables, results / "before")
    lay_out_by_table(results / "before")
    assert nursery.run(["ingest", run, "-o", tables]).codes == [0]
    shutil.copytree(results / "before", tables, dirs_exist_ok=True)
    newer = in_place(tables / "run=r1")
    layout.bring_up_to_date(tables)
    assert in_place(tables / "run=r1") == newer
