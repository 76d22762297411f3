"""Where tables are prepared: next to their folder, or in it if that is impossible."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest
from writing import hidden_of, in_place, make_run

from flowsweep.files import staging

SUM = "select sum(packets)::bigint from '{}/**/captures.parquet'"


def test_a_reader_of_all_below_the_tables_meets_no_half_run(nursery, tmp_path):
    """DuckDB's `**` enters hidden folders. The only file comes from one ingest or the other."""
    runs = [make_run(tmp_path / f"{packets}/r1", packets, hosts=1) for packets in (20, 30)]
    tables = tmp_path / "tables"
    assert nursery.run(["ingest", runs[0], "-o", tables]).codes == [0]

    def write() -> None:
        for time in range(20):
            assert nursery.run(["ingest", runs[time % 2], "-o", tables]).codes == [0]

    seen = set()
    with ThreadPoolExecutor(1) as pool, duckdb.connect() as connection:
        written = pool.submit(write)
        while not written.done():
            seen |= {connection.execute(SUM.format(tables)).fetchall()[0][0]}
        written.result()
    assert seen == {20, 30}


def test_names_of_all_lengths(nursery, captures, tmp_path):
    wanted = None
    for length in (1, 99, 100, 101, 200, 255):
        out = tmp_path / ("n" * length)
        for _ in range(2):
            assert nursery.run(["parse", captures[0], "-o", out]).codes == [0]
            wanted = wanted or in_place(out)
            assert in_place(out) == wanted
    assert hidden_of(tmp_path) == []


def test_a_name_like_that_of_a_hidden_folder_is_no_set_of_another(nursery, captures, tmp_path):
    nursery.run(["parse", captures[0], "-o", tmp_path / "out"])
    before = in_place(tmp_path / "out")
    assert nursery.run(["parse", captures[1], "-o", tmp_path / "out.flowsweep-set-x"]).codes == [0]
    nursery.run(["parse", captures[1], "-o", tmp_path / "out.flowsweep-set-x"])
    assert in_place(tmp_path / "out") == before
    assert staging.beside(tmp_path / "a.flowsweep-set-b", "tables").parent.name.startswith("a.")


def test_through_a_link_the_hidden_folder_is_beside_what_it_leads_to(tmp_path):
    (tmp_path / "disk/tables").mkdir(parents=True)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/tables").symlink_to("../disk/tables")
    assert staging.beside(tmp_path / "results/tables", "run=r").parent == tmp_path / "disk"


NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def test_a_folder_that_is_mounted_holds_its_own_hidden_folder(captures, tmp_path):
    """A rename cannot cross mounts, even on the same device."""
    tried = subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"needs a mount namespace: {tried.stderr.strip()}")
    (tmp_path / "disk").mkdir()
    out = tmp_path / "out put"
    out.mkdir()
    parse = [sys.executable, "-m", "flowsweep", "parse", captures[0], "-o", "out put"]
    script = 'mount --bind disk "out put" && "$@" && "$@" && ls -A "out put" | grep -c parquet'
    done = subprocess.run(
        [*NAMESPACE, "sh", "-euc", script, "sh", *map(str, parse)],
        check=False, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(in_place(tmp_path / "disk")) == int(done.stdout.split()[-1]) > 3
    assert hidden_of(tmp_path) == []
    assert not list(out.iterdir())
