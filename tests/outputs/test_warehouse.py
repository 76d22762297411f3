"""A warehouse answers from tables of one ingest, and again when they have changed."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from writing import make_run

from flowsweep.errors import FlowsweepError
from flowsweep.warehouse import Warehouse


@pytest.fixture
def experiment(nursery, tmp_path) -> Path:
    make_run(tmp_path / "runs/r1", 20)
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", tmp_path / "runs/r1", "-o", tables]).codes == [0]
    assert nursery.run(["runs", tmp_path / "runs", "-o", tables / "runs.parquet"]).codes == [0]
    return tmp_path


def packets(warehouse: Warehouse) -> int:
    return warehouse.select("select sum(packets)::bigint from file_captures").item()


def test_what_has_changed_is_read_again(nursery, experiment):
    warehouse = Warehouse(experiment)
    assert packets(warehouse) == 2 * 20
    make_run(experiment / "runs/r1", 30)
    command = ["ingest", experiment / "runs/r1", "-o", experiment / "tables"]
    assert nursery.run(command).codes == [0]
    assert packets(warehouse) == 2 * 30
    with warehouse.reading():
        assert packets(warehouse) == 2 * 30


def test_a_change_that_no_lock_kept_away_is_reported(experiment):
    """Another machine could change them over NFS."""
    warehouse = Warehouse(experiment)
    tables = experiment / "tables"
    with pytest.raises(FlowsweepError, match="replaced while they were read"), warehouse.reading():
        (tables / "run=r1").rename(tables / "run=r2")
    assert [path.name for path in tables.glob("run=*")] == ["run=r2"]


def without_override() -> None:
    """Makes root subject to file permissions."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_folder_in_which_nothing_may_be_made_or_removed_is_read(experiment):
    tables = experiment / "tables"
    places = [tables, *tables.rglob("*")]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = (
        "import sys, flowsweep, polars, pathlib, flowsweep.warehouse as w\n"
        "tables = pathlib.Path(sys.argv[1])\n"
        "try: (tables / 'new').touch()\n"
        "except PermissionError: print('refused')\n"
        "print(polars.DataFrame(flowsweep.read_captures(tables))['packets'].to_list())\n"
        "print(w.Warehouse(tables.parent).rows('run_table').height)"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, tables],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=without_override,
        )
    finally:
        for path in places:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert done.stdout.splitlines() == ["refused", "[20, 20]", "1"], done.stderr
