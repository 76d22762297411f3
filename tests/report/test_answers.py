"""Rows that an earlier report left are reused while they still match the tables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from flowsweep.warehouse import Warehouse, database_file, figure_names, reports_folder

NAME = "thresholds"


@pytest.fixture
def results(one_app: Path, one_app_report: Path, tmp_path: Path) -> Path:
    """Copies an experiment with its report."""
    assert one_app_report.parent == one_app
    return Path(shutil.copytree(one_app, tmp_path / one_app.name))


def change(results: Path, statement: str) -> None:
    """Changes the database next to the report, which no user should do."""
    with duckdb.connect(results / f"{results.name}.duckdb") as connection:
        connection.execute(statement)


def is_taken(results: Path, name: str = NAME) -> bool:
    """Tells whether the rows of a query come from the database, after deleting them there."""
    change(results, f"delete from {name}")
    return Warehouse(results).rows(name).is_empty()


def test_they_are_the_rows_of_every_query(results: Path, warehouse: Warehouse) -> None:
    kept = Warehouse(results)
    for name in figure_names():
        assert kept.rows(name).equals(warehouse.rows(name)), name
        assert kept.rows(name).schema == warehouse.rows(name).schema, name


def test_they_are_taken(results: Path) -> None:
    assert is_taken(results)
    assert not Warehouse(results, is_anew=True).rows(NAME).is_empty()


def test_they_are_not_taken_of_other_tables(results: Path) -> None:
    path = next((results / "tables").glob("*/*/flows.parquet"))
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert not is_taken(results)


def test_they_are_not_taken_of_other_sql(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = Path(shutil.copytree(reports_folder(), tmp_path / "reports"))
    query = changed / "figures" / f"{NAME}.sql"
    query.write_text(f"-- changed\n{query.read_text()}")
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(changed))
    assert not is_taken(results)


def test_they_are_not_taken_where_another_experiment_counts(results: Path) -> None:
    catalog = Warehouse(results).catalog
    others = {name for name in figure_names() if not catalog.reads_tables_alone(name)}
    # These need more than the tables: the experiment's file names papers and states needs.
    assert others == {
        "against", "need", "paper_answers", "paper_figures", "published", "transfer_errors",
        "transfer_setups",
    }  # fmt: skip
    change(results, f"delete from {NAME}")
    assert not Warehouse(results, against=results).rows(NAME).is_empty()


def test_a_view_is_not_taken(results: Path) -> None:
    change(results, f"drop table {NAME}; create view {NAME} as select 'of another file' as app")
    assert "of another file" not in Warehouse(results).rows(NAME)["app"].to_list()


@pytest.mark.parametrize("content", [b"", b"no database", b"\0" * 4096])
def test_a_damaged_database_is_left_alone(
    results: Path, warehouse: Warehouse, content: bytes
) -> None:
    path = results / f"{results.name}.duckdb"
    path.write_bytes(content)
    assert Warehouse(results).rows(NAME).equals(warehouse.rows(NAME))
    assert path.read_bytes() == content


def test_a_new_report_takes_nothing(results: Path) -> None:
    change(results, f"delete from {NAME}")
    database_file.write(Warehouse(results, is_anew=True))
    assert not Warehouse(results).rows(NAME).is_empty()
