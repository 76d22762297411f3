"""The database that is left beside a report, opened by plain DuckDB."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from recomputed import table

from flowsweep.errors import FlowsweepError
from flowsweep.files.owned import DATABASE_MARK, is_database
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, database_file, figure_names


@pytest.fixture
def path(one_app: Path, one_app_report: Path) -> Path:
    """Returns the database beside the report."""
    assert one_app_report.parent == one_app
    return one_app / f"{one_app.name}.duckdb"


def tables(connection: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    found = connection.execute(
        "select table_name from information_schema.tables where table_schema = ? order by all",
        [schema],
    )
    return [row[0] for row in found.fetchall()]


def test_it_has_the_rows_of_every_query(path: Path, warehouse: Warehouse) -> None:
    with duckdb.connect(path, read_only=True) as connection:
        assert tables(connection, "main") == figure_names()
        for name in ("thresholds", "throughput_cdf", "run_table"):
            rows = warehouse.rows(name)
            found = connection.execute(f"from {name}").fetchall()
            assert len(found) == rows.height > 0
            assert [row[0] for row in found] == rows[rows.columns[0]].to_list()


def test_a_copy_that_was_moved_reads_the_files_beside_it(
    one_app: Path, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows = table(one_app, "flows")
    moved = tmp_path / "moved"
    shutil.copytree(one_app, moved)
    monkeypatch.chdir(moved)
    with duckdb.connect(moved / path.name, read_only=True) as connection:
        for name in ("flows", "messages", "throughput"):
            count = connection.execute(f"select count(*) from files.{name}").fetchall()[0][0]
            assert count == table(one_app, name).height > 0
        hosts = connection.execute("select distinct host from files.flows order by all").fetchall()
        assert [row[0] for row in hosts] == sorted(set(flows["host"]))
        runs = connection.execute("select count(*) from models.runs").fetchall()[0][0]
        assert runs == pl.read_parquet(moved / "tables" / "runs.parquet").height
        facts = tables(connection, "facts")
        assert len(facts) > 3
        for name in facts:
            connection.execute(f"select * from facts.{name}").fetchall()


def test_from_elsewhere_the_folder_is_reported(one_app: Path, path: Path) -> None:
    with duckdb.connect(path, read_only=True) as connection:
        with pytest.raises(duckdb.IOException):
            connection.execute("select count(*) from files.flows")
        connection.execute(f"set file_search_path = '{one_app}'")
        count = connection.execute("select count(*) from files.flows").fetchall()[0][0]
    assert count == table(one_app, "flows").height


def test_it_is_recognised_where_a_mark_is_divided(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    # one of the five marks may already be split
    assert content.count(DATABASE_MARK) >= 4
    copy = tmp_path / "copy.duckdb"
    for _ in range(content.count(DATABASE_MARK) - 1):
        # as if a block of DuckDB's catalog ended within the mark
        at = content.find(DATABASE_MARK) + 8
        content[at : at + 8] = b"\xff" * 8
        copy.write_bytes(content)
        assert is_database(copy)


def test_columns_are_described(path: Path) -> None:
    with duckdb.connect(path, read_only=True) as connection:
        words = connection.execute(
            "select comment from duckdb_columns() where table_name = 'thresholds' and"
            " column_name = 'level'"
        ).fetchall()
        missing = connection.execute(
            "select table_name, column_name from duckdb_columns()"
            " where schema_name = 'main' and not internal and comment is null"
        ).fetchall()
    assert words[0][0]
    assert missing == []


def test_the_same_results_give_the_same_rows(one_app: Path, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / one_app.name
    shutil.copytree(one_app, copy)
    again = database_file.write(Warehouse(copy))
    assert again == copy / path.name
    with (
        duckdb.connect(path, read_only=True) as one,
        duckdb.connect(again, read_only=True) as other,
    ):
        for schema in ("main", "models"):
            for name in tables(one, schema):
                rows = [
                    repr(each.execute(f'from {schema}."{name}"').fetchall())
                    for each in (one, other)
                ]
                assert rows[0] == rows[1], name


def test_a_file_of_somebody_else_is_not_replaced(one_app: Path, tmp_path: Path) -> None:
    copy = tmp_path / "mine"
    shutil.copytree(one_app, copy, ignore=shutil.ignore_patterns("*.html", "*.duckdb"))
    foreign = copy / "mine.duckdb"
    with duckdb.connect(foreign) as connection:
        connection.execute("create table notes as select 'keep me' as text")
    before = foreign.read_bytes()
    with pytest.raises(FlowsweepError, match="not removed because flowsweep did not write it"):
        page.write(copy)
    assert foreign.read_bytes() == before
    assert not (copy / "report.html").exists()


@pytest.mark.parametrize("size", [0, 5_000, 100_000, -1])
def test_a_file_that_nobody_can_read_is_replaced(
    one_app: Path, path: Path, tmp_path: Path, size: int
) -> None:
    copy = tmp_path / "mine"
    shutil.copytree(one_app, copy, ignore=shutil.ignore_patterns("*.html", "*.duckdb"))
    broken = copy / "mine.duckdb"
    content = path.read_bytes().replace(DATABASE_MARK, b"x" * len(DATABASE_MARK))
    broken.write_bytes(content[:size])
    page.write(copy)
    with duckdb.connect(broken, read_only=True) as connection:
        assert connection.execute("select count(*) > 0 from models.runs").fetchall() == [(True,)]


def test_an_older_duckdb_can_open_it(path: Path) -> None:
    """DuckDB 1.4 reads storage versions 64 to 67, and has no TIMESTAMPTZ_NS."""
    header = path.read_bytes()[:20]
    assert header[8:12] == b"DUCK"
    assert 64 <= int.from_bytes(header[12:20], "little") <= 67
    with duckdb.connect(path, read_only=True) as connection:
        types = connection.execute("select distinct data_type from duckdb_columns()").fetchall()
    assert ("TIMESTAMP_NS",) in types
    assert ("TIMESTAMPTZ_NS",) not in types
