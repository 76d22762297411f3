"""After a kill at any step all tables come from one command, and the next one cleans up."""

from __future__ import annotations

import shutil

import polars as pl
import pytest
from writing import capture, files_of, hidden_of, in_place, make_run

import flowsweep
from flowsweep.files import staging
from flowsweep.files.owned import REPORT_MARK


def is_of_one(found: dict[str, bytes], *writings: dict[str, bytes]) -> bool:
    """Returns whether all files come from one of the writings; some may be missing."""
    return any(found.items() <= writing.items() for writing in writings)


@pytest.fixture
def parsed(nursery, captures, tmp_path) -> list[dict[str, bytes]]:
    """The tables of both captures; the first set includes packets."""
    found = []
    for path, more in zip(captures, (["--packets"], []), strict=True):
        out = tmp_path / path.stem
        assert nursery.run(["parse", path, "-o", out, *more]).codes == [0]
        found.append(in_place(out))
    assert not found[0].items() & found[1].items()
    return found


def test_parse_over_an_older_parse(nursery, captures, parsed, tmp_path):
    first, second = parsed
    seen = []
    for step in range(1, 100):
        out = tmp_path / f"out{step}"
        nursery.run(["parse", captures[0], "-o", out, "--packets"])
        assert in_place(out) == first
        done = nursery.run(["parse", captures[1], "-o", out], kill=step)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        assert is_of_one(in_place(out), first, second)
        # The next process is either a reader or a writer.
        if step % 2:
            packets = pl.DataFrame(flowsweep.read_captures(out))["packets"].to_list()
            seen += packets
            assert in_place(out) in (first, second)
        else:
            assert nursery.run(["parse", captures[1], "-o", out]).codes == [0]
            assert in_place(out) == second
        assert hidden_of(tmp_path) == []
    assert step > 20
    assert set(seen) == {20, 30}


def test_parse_into_a_folder_that_is_removed_after_a_kill(nursery, captures, parsed, tmp_path):
    """Tables that a killed writer had prepared are used; their folder is created again."""
    out, ready = tmp_path / "out", 0
    for step in range(1, 100):
        nursery.run(["parse", captures[0], "-o", out])
        if nursery.run(["parse", captures[1], "-o", out], kill=step).codes == [0]:
            break
        ready += staging.is_ready(staging.beside(out, "tables"))
        shutil.rmtree(out)
        done = nursery.run(["parse", captures[1], "-o", out])
        assert done.codes == [0], done.errors
        assert in_place(out) == parsed[1]
        assert hidden_of(tmp_path) == []
    assert ready > 3


def test_parse_into_a_new_folder(nursery, captures, parsed, tmp_path):
    for step in range(1, 100):
        out = tmp_path / "new" / f"out{step}"
        done = nursery.run(["parse", captures[1], "-o", out], kill=step)
        if done.codes == [0]:
            break
        assert in_place(out) in ({}, parsed[1])
        assert nursery.run(["parse", captures[1], "-o", out]).codes == [0]
        assert files_of(out) == parsed[1]
        assert hidden_of(tmp_path) == []
    assert step > 8


def test_ingest_over_an_older_one(nursery, tmp_path):
    runs = [make_run(tmp_path / "old/r1", 20, hosts=1), make_run(tmp_path / "new/r1", 30, hosts=1)]
    other = make_run(tmp_path / "r2", 40, hosts=1)
    writings = []
    for number, run in enumerate(runs):
        tables = tmp_path / f"whole{number}"
        assert nursery.run(["ingest", other, "-o", tables]).codes == [0]
        assert nursery.run(["ingest", run, "-o", tables]).codes == [0]
        writings.append(in_place(tables))
    for step in range(1, 400):
        tables = tmp_path / f"tables{step}"
        shutil.copytree(tmp_path / "whole0", tables)
        done = nursery.run(["ingest", runs[1], "-o", tables], kill=step)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        assert is_of_one(in_place(tables), *writings)
        if step % 2:
            found = pl.DataFrame(flowsweep.read_captures(tables)).filter(run="r1")
            assert sorted(found["packets"]) in ([20], [30])
            assert in_place(tables) in writings
        else:
            # Another run is ingested now; the tables of this one must still come from one ingest.
            assert nursery.run(["ingest", other, "-o", tables]).codes == [0]
            assert in_place(tables) in writings
        assert hidden_of(tmp_path) == []
    assert step > 20


def test_runs(nursery, tmp_path):
    runs = tmp_path / "runs"
    table = tmp_path / "tables/runs.parquet"
    for name in ("a", "b"):
        (runs / name).mkdir(parents=True)
    command = ["runs", runs, "-o", table]
    assert nursery.run(command).codes == [0]
    old = table.read_bytes()
    (runs / "c").mkdir()
    for step in range(1, 100):
        table.write_bytes(old)
        done = nursery.run(command, kill=step)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        assert pl.read_parquet(table)["run"].to_list() in (["a", "b"], ["a", "b", "c"])
        assert nursery.run(command).codes == [0]
        assert pl.read_parquet(table)["run"].to_list() == ["a", "b", "c"]
        assert hidden_of(tmp_path) == []
    assert step > 3


def test_report(nursery, tmp_path):
    page = tmp_path / "report.html"
    old, new = f"{REPORT_MARK.decode()} old", f"{REPORT_MARK.decode()} new"
    for step in range(1, 100):
        page.write_text(old)
        done = nursery.run(["report", tmp_path], kill=step, page=new)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        assert page.read_text() in (old, new)
        assert nursery.run(["report", tmp_path], page=new).codes == [0]
        assert page.read_text() == new
        assert list(tmp_path.iterdir()) == [page]
    assert step > 2


def test_show(nursery, tmp_path):
    (tmp_path / "a.pcap").write_bytes(capture(20))
    for step in range(1, 100):
        done = nursery.run(["show", tmp_path / "a.pcap"], kill=step)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        assert nursery.run(["show", tmp_path / "a.pcap"]).codes == [0]
        assert list(nursery.temporary.iterdir()) == []
    assert step > 3
