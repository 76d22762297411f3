"""Temporary files of a command are gone when it ends, or when the next one does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from writing import make_run

from flowsweep.testbed.run_folder import RunFolder

SPILLING = """\
import os, signal, sys
from pathlib import Path
from flowsweep import signals
from flowsweep.warehouse import settings
databases = [settings.connect() for _ in range(2)]
for database in databases:
    database.execute("set memory_limit = '80MB'")
    database.execute("create table much as select range, random() from range(8_000_000)")
used = {path.parent.name for path in Path(os.environ["TMPDIR"]).rglob("duckdb_temp_*")}
assert len(used) == len(databases), used
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
signals.clean()
os._exit(0)
"""


def test_what_queries_put_on_the_disk_is_removed(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}

    def spill(*words: str) -> int:
        command = [sys.executable, "-c", SPILLING, *words]
        return subprocess.run(command, env=environment, check=False).returncode

    assert spill() == 0
    assert not list(tmp_path.iterdir())
    assert spill("killed") == -9
    assert list(tmp_path.iterdir())
    assert spill() == 0
    assert not list(tmp_path.iterdir())


@pytest.fixture
def experiment(nursery, tmp_path) -> Path:
    make_run(tmp_path / "runs/r1", 20)
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", tmp_path / "runs/r1", "-o", tables]).codes == [0]
    assert nursery.run(["runs", tmp_path / "runs", "-o", tables / "runs.parquet"]).codes == [0]
    return tmp_path


def test_a_killed_query_leaves_nothing_that_the_next_one_does_not_remove(nursery, experiment):
    command = ["query", "totals", experiment, "--format", "csv"]
    left = 0
    for step in range(1, 200, 3):
        shutil.rmtree(experiment / "facts", ignore_errors=True)
        done = nursery.run(command, kill=step)
        if done.codes == [0]:
            break
        assert done.codes == [-9]
        left += bool(list(nursery.temporary.iterdir()))
        assert nursery.run(command).codes == [0]
        assert not list(nursery.temporary.iterdir())
    assert left > 5


def test_a_killed_report_leaves_nothing_that_the_next_one_does_not_remove(experiment, tmp_path):
    """It is killed when it has written much of the database, before the rename."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    script = (
        "import os, signal, sys\n"
        "from flowsweep.warehouse import Warehouse, database_file\n"
        "if sys.argv[2:]:\n"
        "    database_file._add_views = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "database_file.write(Warehouse(__import__('pathlib').Path(sys.argv[1])))\n"
    )

    def write(*words: str) -> int:
        command = [sys.executable, "-c", script, experiment, *words]
        return subprocess.run(command, env=environment, check=False).returncode

    assert write("killed") == -9
    assert list(temporary.rglob("made.duckdb"))
    assert write() == 0
    assert not list(temporary.iterdir())


def test_a_killed_retry_leaves_nothing_that_the_next_one_does_not_remove(nursery, tmp_path):
    record = json.dumps({"spec_hash": "1", "status": "invalid", "reason": "busy"})
    for step in range(1, 100):
        runs = tmp_path / str(step) / "runs"
        for name in ("r1", "r2"):
            (runs / name).mkdir(parents=True)
            (runs / name / "run.json").write_text(record)
            (runs / name / "notes.txt").write_text("mine")
        done = nursery.run(["retry", runs.parent], kill=step)
        assert nursery.run(["retry", runs.parent]).codes == [0]
        found = sorted(str(path.relative_to(runs)) for path in runs.rglob("*"))
        assert found == ["r1", "r1/notes.txt", "r2", "r2/notes.txt"]
        if done.codes == [0]:
            break
        assert done.codes == [-9]
    assert step > 10


def test_retry_leaves_a_run_alone_that_is_being_made(nursery, tmp_path):
    folder = RunFolder(tmp_path / "runs/r1")
    staged = folder.stage()
    (staged / "pc1.pcap.zst").touch()
    assert nursery.run(["retry", tmp_path]).codes == [0]
    assert (staged / "pc1.pcap.zst").exists()
    folder.leave()
    assert not list((tmp_path / "runs").iterdir())
