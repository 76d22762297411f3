"""Facts are a cache: whatever happens to them, the rows are those of the tables."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sending import add_tables, experiment, sent

from flowsweep.errors import FlowsweepError
from flowsweep.files import owned
from flowsweep.warehouse import Warehouse, database_file, facts, parts

WHOLE = {"r0": 300, "r1": 600, "r2": 900}


def files(directory: Path) -> list[Path]:
    return sorted((directory / owned.FACTS).glob("*/*.parquet"))


def list_of(directory: Path) -> Path:
    return directory / owned.FACTS / parts.PARTS


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Makes three runs whose facts are kept."""
    experiment(tmp_path)
    assert sent(tmp_path) == WHOLE
    assert files(tmp_path)
    return tmp_path


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "gone": lambda path: path.unlink(),
    "no table": lambda path: path.write_bytes(b"PAR1" * 99),
    "of another": lambda path: path.write_bytes(path.read_bytes()[:4] + b"\0" * 8 + b"PAR1"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_is_not_whole_is_made_anew(
    kept: Path, damage: Callable[[Path], object]
) -> None:
    for path in files(kept):
        damage(path)
    assert sent(kept) == WHOLE
    assert sent(kept) == WHOLE


def test_a_file_that_is_damaged_inside_is_reported_once(kept: Path) -> None:
    for path in files(kept):
        data = path.read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        path.write_bytes(b"PAR1" + b"\xff" * (len(data) - length - 12) + data[-8 - length :])
    with pytest.raises(FlowsweepError, match="damaged") as caught:
        sent(kept)
    assert "makes it anew" in str(caught.value)
    assert sent(kept) == WHOLE


ODD: dict[str, Callable[[dict[str, Any]], object]] = {
    "runs a list": lambda listed: listed["parts"][0].update(runs=["r0"]),
    "runs null": lambda listed: listed["parts"][0].update(runs=None),
    "no runs": lambda listed: listed["parts"][0].update(runs={}),
    "a sign of another kind": lambda listed: listed["parts"][0]["runs"].update(r0=7),
    "a name of another kind": lambda listed: listed["parts"][0].update(name=7),
    "another key": lambda listed: listed["parts"][0].update(more=1),
    "a part twice": lambda listed: listed.update(parts=listed["parts"] * 2),
    "a run twice": lambda listed: listed["parts"].append(listed["parts"][0] | {"name": "0" * 16}),
    "a part without files": lambda listed: listed["parts"][0].update(name="0" * 16),
    "parts null": lambda listed: listed.update(parts=None),
    "facts a list": lambda listed: listed.update(facts=[]),
    "a state of another kind": lambda listed: listed.update(state=[]),
    "half a character": lambda listed: listed["parts"][0]["runs"].update({"\ud800": "a"}),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_odd_values_in_the_list_of_parts_are_made_anew(
    kept: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    listed = json.loads(list_of(kept).read_text())
    change(listed)
    list_of(kept).write_text(json.dumps(listed))
    assert sent(kept) == WHOLE
    add_tables(kept, "r1", 7)
    assert sent(kept) == WHOLE | {"r1": 21}


def nine_parts(directory: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Makes an experiment whose ninth part must be rebuilt, after which all parts are joined."""
    many = facts.CLASS_PARTS + 1
    experiment(directory, many)
    with monkeypatch.context() as patch:
        patch.setattr(facts, "BATCH_RUNS", 1)
        patch.setattr(facts.Kept, "_join_small", lambda _: None)
        whole = sent(directory)
    assert len(json.loads(list_of(directory).read_text())["parts"]) == many
    add_tables(directory, "r8", 5)
    return whole | {"r8": 15}


def test_a_file_that_is_damaged_inside_is_joined_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first query joins the parts before it has read any fact."""
    whole = nine_parts(tmp_path, monkeypatch)
    path = files(tmp_path)[0]
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    path.write_bytes(b"PAR1" + b"\xff" * (len(data) - length - 12) + data[-8 - length :])
    assert sent(tmp_path) == whole
    assert not path.exists()
    assert sent(tmp_path) == whole
    assert len(json.loads(list_of(tmp_path).read_text())["parts"]) <= facts.CLASS_PARTS


def test_a_file_system_without_hard_links_gets_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment(tmp_path)
    sent(tmp_path)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(self))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    add_tables(tmp_path, "r1", 7)
    assert sent(tmp_path) == WHOLE | {"r1": 21}
    assert all(path.stat().st_nlink == 1 for path in files(tmp_path))


@pytest.mark.parametrize("name", ["notes.txt", "host_totals/mine.parquet"])
def test_what_somebody_else_put_beside_facts_is_left_alone(kept: Path, name: str) -> None:
    foreign = kept / owned.FACTS / name
    foreign.write_text("mine")
    add_tables(kept, "r1", 7)
    assert sent(kept) == WHOLE | {"r1": 21}
    assert foreign.read_text() == "mine"
    foreign.unlink()
    assert sent(kept) == WHOLE | {"r1": 21}


def test_a_disk_that_is_full_when_the_list_is_written_costs_no_more_than_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = nine_parts(tmp_path, monkeypatch)
    before = list_of(tmp_path).read_bytes()

    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(facts.outputs, "write_file", full)
        assert sent(tmp_path) == whole
    assert list_of(tmp_path).read_bytes() == before
    assert sent(tmp_path) == whole
    assert list_of(tmp_path).read_bytes() != before


def test_a_disk_that_is_full_when_a_fact_is_written_costs_no_more_than_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment(tmp_path)
    execute = Warehouse._execute

    def full(self: Warehouse, sql: str) -> None:
        if sql.startswith("copy"):
            error = duckdb.IOException("IO Error: Could not write file: No space left on device")
            raise self._refused(error) from error
        execute(self, sql)

    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "_execute", full)
        assert sent(tmp_path) == WHOLE
    assert sent(tmp_path) == WHOLE
    assert files(tmp_path)


# Imports flowsweep once and forks for every folder, as starting Python takes half a second.
KILLED = """\
import itertools, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sending import sent
def step(original):
    def counting(*arguments, **named):
        if next(seen) == kill:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)
    return counting
for line in sys.stdin:
    if process := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
        continue
    number, _, directory = line.rstrip("\\n").partition(" ")
    kill, seen = int(number), itertools.count(1)
    for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
        setattr(os, name, step(getattr(os, name)))
    sent(Path(directory))
    break
"""


def test_who_is_killed_while_parts_are_joined_leaves_what_all_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = []
    whole = nine_parts(tmp_path / "0", monkeypatch)
    before = counted(path := database_of(tmp_path / "0"))
    assert before != whole
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, Path(__file__).parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        # Every third step; `query, ninth part` of `make trials` is killed at every step.
        for kill in range(1, 200, 3):
            directory = tmp_path / str(kill)
            shutil.copytree(tmp_path / "0", directory)
            killed.stdin.write(f"{kill} {directory}\n")
            killed.stdin.flush()
            codes.append(int(killed.stdout.readline()))
            assert counted(directory / path.name) in (before, whole), kill
            assert sent(directory) == whole, kill
            assert counted(directory / path.name) == whole, kill
            assert [*directory.glob(".*")] == []
            assert len(json.loads(list_of(directory).read_text())["parts"]) <= facts.CLASS_PARTS
            if codes[-1] == 0:
                break
        killed.stdin.close()
    assert codes[-1] == 0
    assert codes.count(-9) == len(codes) - 1 > 10


def database_of(directory: Path) -> Path:
    """Makes a database with only the views of the facts, which any program may open."""
    path = directory / "views.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create schema facts")
        connection.execute(f"set file_search_path = '{directory}'")
        view = parts.view(owned.FACTS, "host_totals")
        connection.execute(f"create view facts.host_totals as {view}")
    return path


def counted(path: Path) -> dict[str, int]:
    """Returns the wire bytes by run from the views of a database, read without a lock."""
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute(f"set file_search_path = '{path.parent}'")
        rows = "select run, sum(wire_bytes)::bigint from facts.host_totals group by run"
        return dict(connection.execute(rows).fetchall())


def test_the_views_of_the_database_count_no_run_twice(kept: Path) -> None:
    """Also after a run was ingested again, and with files that a killed command left."""
    path = database_file.write(Warehouse(kept))
    assert counted(path) == WHOLE
    add_tables(kept, "r1", 7)
    assert sent(kept) == WHOLE | {"r1": 21}
    assert counted(path) == WHOLE | {"r1": 21}
    assert database_file.write(Warehouse(kept)) == path
    assert counted(path) == WHOLE | {"r1": 21}
    (kept / owned.FACTS / "host_totals" / f"{'0' * 16}-{'0' * 16}.parquet.part").touch()
    one, *_ = (kept / owned.FACTS / "host_totals").glob("[0-9a-f]*.parquet")
    one.with_name(f"{'0' * 16}-{'0' * 16}.parquet").write_bytes(one.read_bytes())
    assert counted(path) == WHOLE | {"r1": 21}


def test_what_a_killed_writer_of_an_older_database_left_does_not_harm_the_new_one(
    kept: Path,
) -> None:
    path = database_file.write(Warehouse(kept))
    script = (
        "import duckdb, os, signal, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "connection.execute('create table mine as select 1 as one')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=False)
    log = path.with_name(f"{path.name}.wal")
    assert log.exists()
    database_file.write(Warehouse(kept))
    assert not log.exists()
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("select count(*) from models.runs").fetchall() == [(3,)]


def test_a_file_of_another_fact_is_made_anew(kept: Path) -> None:
    Warehouse(kept).keep_facts()
    (one,) = (kept / owned.FACTS / "host_totals").iterdir()
    (other,) = (kept / owned.FACTS / "flow_histogram").iterdir()
    shutil.copyfile(other, one)
    assert sent(kept) == WHOLE
    (anew,) = (kept / owned.FACTS / "host_totals").iterdir()
    assert owned.is_table(anew, "host_totals")


def test_a_folder_in_the_place_of_a_log_is_named(kept: Path) -> None:
    log = kept / f"{kept.name}.duckdb.wal"
    log.mkdir()
    with pytest.raises(FlowsweepError, match=f"cannot remove {log}"):
        database_file.write(Warehouse(kept))
