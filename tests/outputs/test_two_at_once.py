"""Two of each command at once: one waits, or both end with complete tables."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from writing import hidden_of, in_place, make_run

import flowsweep
from flowsweep.files.owned import REPORT_MARK

#: 200 if there is time.
TIMES = int(os.environ.get("FLOWSWEEP_TWO_AT_ONCE", "10"))


def test_parse_into_one_folder(nursery, captures, tmp_path):
    whole = []
    for number, path in enumerate(captures):
        assert nursery.run(["parse", path, "-o", tmp_path / f"whole{number}"]).codes == [0]
        whole.append(in_place(tmp_path / f"whole{number}"))
    for time in range(TIMES):
        # Into a new folder, and over older tables.
        out = tmp_path / f"out{time // 2}"
        done = nursery.run(*(["parse", path, "-o", out] for path in captures))
        assert done.codes == [0, 0], done.errors
        assert in_place(out) in whole
        assert hidden_of(tmp_path) == []


def test_ingest_of_one_run(nursery, tmp_path):
    run, other = make_run(tmp_path / "r1", 20), make_run(tmp_path / "r2", 30)
    for folder in (run, other):
        assert nursery.run(["ingest", folder, "-o", tmp_path / "whole"]).codes == [0]
    whole = in_place(tmp_path / "whole")
    assert len(whole) == 24
    for time in range(TIMES):
        tables = tmp_path / f"tables{time // 2}"
        done = nursery.run(*(["ingest", folder, "-o", tables] for folder in (run, run, other)))
        assert done.codes == [0, 0, 0], done.errors
        assert in_place(tables) == whole
        assert hidden_of(tmp_path) == []


def test_runs_and_report(nursery, tmp_path):
    (tmp_path / "runs/a").mkdir(parents=True)
    table, page = tmp_path / "tables/runs.parquet", f"{REPORT_MARK.decode()} page"
    for _ in range(TIMES):
        done = nursery.run(*[["runs", tmp_path / "runs", "-o", table]] * 2)
        assert done.codes == [0, 0], done.errors
        assert pl.read_parquet(table)["run"].to_list() == ["a"]
        done = nursery.run(*[["report", tmp_path]] * 2, page=page)
        assert done.codes == [0, 0], done.errors
        assert (tmp_path / "report.html").read_text() == page
        assert hidden_of(tmp_path) == []


def test_a_reader_sees_one_writing(nursery, tmp_path):
    """The hosts' tables of a run that is ingested again and again."""
    runs = [make_run(tmp_path / f"{packets}/r1", packets) for packets in (20, 30)]
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", runs[0], "-o", tables]).codes == [0]

    def write() -> None:
        for time in range(2 * TIMES):
            assert nursery.run(["ingest", runs[time % 2], "-o", tables]).codes == [0]

    seen = set()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        while not written.done():
            rows = pl.DataFrame(flowsweep.read_captures(tables))
            assert sorted(rows["packets"]) in ([20, 20], [30, 30])
            seen |= set(rows["packets"])
        written.result()
    assert seen == {20, 30}


SUM = "select sum(packets)::bigint from '{}/*/*/{}.parquet'"


def plainly_in_python(tables: Path) -> list[int]:
    """Returns the packets in three tables, read by DuckDB by file name."""
    with flowsweep.reading(tables.parent), duckdb.connect() as connection:
        return [connection.execute(SUM.format(tables, one)).fetchall()[0][0] for one in COUNTED]


def plainly_in_a_shell(tables: Path) -> list[int]:
    queries = [SUM.format(tables, one) for one in COUNTED]
    script = f"import duckdb\nfor one in {queries}: print(duckdb.sql(one).fetchall()[0][0])"
    command = ["flock", "--shared", tables, sys.executable, "-c", script]
    return [int(line) for line in subprocess.check_output(command).split()]


COUNTED = ("captures", "flows", "throughput")


@pytest.mark.parametrize("counted", [plainly_in_python, plainly_in_a_shell])
def test_a_plain_reader_that_shares_the_lock_sees_one_writing(nursery, tmp_path, counted):
    runs = [make_run(tmp_path / f"{packets}/r1", packets, hosts=4) for packets in (20, 30)]
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", runs[0], "-o", tables]).codes == [0]

    def write() -> None:
        for time in range(2 * TIMES):
            assert nursery.run(["ingest", runs[time % 2], "-o", tables]).codes == [0]

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        while not written.done():
            assert counted(tables) in ([80] * 3, [120] * 3)
        written.result()


def test_a_stream_keeps_its_files_until_it_is_read(nursery, tmp_path):
    """Otherwise the second host's rows would come from a later ingest, or be missing."""
    runs = [make_run(tmp_path / f"{packets}/r1", packets, hosts=20) for packets in (20, 30)]
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", runs[0], "-o", tables]).codes == [0]
    reader = pa.RecordBatchReader.from_stream(flowsweep.read_captures(tables))
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(nursery.run, ["ingest", runs[1], "-o", tables])
        sleep(0.5)
        assert not written.done()
        table = reader.read_all()
        assert table.column("packets").to_pylist() == [20] * 20
        reader.close()
        del reader
        assert written.result().codes == [0]
    packets = pl.DataFrame(flowsweep.read_captures(tables))["packets"].to_list()
    assert packets == [30] * 20


def test_the_second_writer_says_for_whom_it_waits(captures, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "flowsweep", "parse"]
    with subprocess.Popen([*command, "-", "-o", out], stdin=subprocess.PIPE) as first:
        first.stdin.write(captures[0].read_bytes())
        first.stdin.flush()
        while not list(tmp_path.rglob("*.parquet")):
            pass
        with subprocess.Popen(
            [*command, captures[1], "-o", out], stderr=subprocess.PIPE, text=True
        ) as second:
            line = second.stderr.readline()
            first.stdin.close()
            assert second.wait() == 0
        assert first.wait() == 0
    assert line.startswith("waiting: ")
    assert f"(process {first.pid})" in line
    assert "parse" in line
    packets = pl.DataFrame(flowsweep.read_captures(out))["packets"].to_list()
    assert packets == [30]


@pytest.mark.parametrize("holder", ["reader", "dead"])
def test_a_lock_is_free_when_its_owner_is_gone(captures, nursery, tmp_path, holder):
    out = tmp_path / "out"
    assert nursery.run(["parse", captures[0], "-o", out]).codes == [0]
    script = (
        "import sys, pathlib, flowsweep.files.file_sets as sets\n"
        "with sets.reading(pathlib.Path(sys.argv[1])):\n"
        "    print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        reader.stdout.readline()
        if holder == "dead":
            reader.kill()
        else:
            with subprocess.Popen(
                [sys.executable, "-m", "flowsweep", "parse", captures[1], "-o", out],
                stderr=subprocess.PIPE,
                text=True,
            ) as writer:
                line = writer.stderr.readline()
                assert line.startswith(f"waiting: {out} is used by ")
                assert f"(process {reader.pid})" in line
                reader.stdin.close()
                assert writer.wait() == 0
    assert nursery.run(["parse", captures[1], "-o", out]).codes == [0]
    assert Path(out, "flows.parquet").exists()
