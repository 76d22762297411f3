"""Errors for tables that cannot be queried, with their remedies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import SYSTEM, FlowsweepError

if TYPE_CHECKING:
    import duckdb


def check_folder(directory: Path) -> None:
    """Raises unless a folder contains an experiment's tables, including `runs`."""
    tables = directory / "tables"
    if not directory.exists():
        raise FlowsweepError(
            f"{directory}: no such file or folder",
            expected="results/<experiment>; flowsweep report takes captures too",
            remedy="check the path",
        )
    if not tables.is_dir():
        raise FlowsweepError(
            f"{directory}: there are no tables here",
            found=f"no folder {tables}",
            expected="results/<experiment> with tables/runs.parquet and tables/run=*/",
            remedy="snakemake --configfile EXPERIMENT.yaml makes them; those of captures: "
            "flowsweep report CAPTURES",
        )
    if not (tables / "runs.parquet").is_file():
        runs = directory / "runs" if (directory / "runs").is_dir() else "FOLDER_OF_RUNS"
        raise FlowsweepError(
            f"{directory}: the table of the runs is missing",
            found=f"no file {tables / 'runs.parquet'}",
            expected="one row per run, made from runs/*/run.json",
            remedy=f"flowsweep runs {runs} --output {tables}/runs.parquet",
        )


def replaced(tables: Path) -> FlowsweepError:
    """Returns the error for tables that another program wrote while they were read."""
    return FlowsweepError(
        f"{tables}: the tables were replaced while they were read",
        expected="those of one writing",
        remedy="ask again when nobody writes there",
    )


def damaged(path: Path, error: duckdb.Error) -> FlowsweepError:
    """Returns the error for a damaged file of flowsweep, which was removed."""
    return FlowsweepError(
        f"{path}: damaged",
        found=str(error).splitlines()[0],
        expected="what flowsweep wrote there",
        remedy="it was removed: the same command makes it anew",
    )


def unreachable(directory: Path, error: duckdb.Error, number: int) -> FlowsweepError:
    """Returns the error for tables that the system did not let DuckDB read."""
    expected, remedy = SYSTEM[number]
    return FlowsweepError(
        f"{directory}: the tables cannot be read",
        found=str(error).splitlines()[0],
        expected=expected,
        remedy=remedy,
    )


def unreadable(directory: Path, error: duckdb.Error) -> FlowsweepError:
    """Returns the error for a query over the tables that DuckDB refused."""
    return FlowsweepError(
        f"{directory}: the tables cannot be queried",
        found=str(error).splitlines()[0],
        expected="the tables of the contract, as `flowsweep ingest` writes them",
        remedy="write damaged ones again: flowsweep ingest RUN_DIR --output TABLES; "
        "flowsweep runs for runs.parquet",
    )
