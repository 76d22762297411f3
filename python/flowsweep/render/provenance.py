"""Where the numbers of a report come from: versions, seeds, hashes, the experiment file."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.files import names, parquet_files
from flowsweep.parsing import TABLES

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.render.figure import Context

LIBRARIES = ("duckdb", "polars", "altair", "vl-convert-python", "great-tables", "numpy")


def provenance(context: Context, directory: Path, source: str) -> dict[str, Any]:
    """All that is needed to repeat the report."""
    records = [
        json.loads(text)
        for text in context.warehouse.select(
            "select json from stg_runs where json is not null order by run"
        )["json"]
    ]
    modes = sorted({str(mode) for mode in context.rows("run_table")["compute"].drop_nulls()})
    return {
        "command": f"flowsweep report {_shown_path(directory)}",
        "query": f"flowsweep query NAME {_shown_path(directory)}",
        "versions": {
            **_recorded(records),
            **{f"{name} (this report)": _version(name) for name in ("flowsweep", *LIBRARIES)},
        },
        "seeds": sorted({str(record["seed"]) for record in records if "seed" in record}),
        "compute": modes,
        "left_out": _left_out(context, is_recorded=True),
        "only_tables": _left_out(context, is_recorded=False),
        "folder": f"{_shown_path(directory)}/runs",
        "experiment": source,
        "tables": _tables(context, directory / "tables"),
        "models": [
            {"name": name, "sql": text} for name, text in sorted(context.warehouse.models.items())
        ],
    }


def _left_out(context: Context, *, is_recorded: bool) -> list[str]:
    """Runs that no figure uses: not in the experiment file, or without a record and captures."""
    rows = context.model("left_out").iter_rows(named=True)
    return sorted(str(row["run"]) for row in rows if row["is_recorded"] == is_recorded)


def _shown_path(directory: Path) -> str:
    """The last two parts: where a checkout lies on this machine is nobody's business."""
    parts = directory.absolute().parts[-2:]
    return str(Path(*parts)) if parts[0] == "results" else parts[-1]


def _recorded(records: list[dict[str, Any]]) -> dict[str, str]:
    """Versions that the runs were made with; several values are all shown."""
    found: dict[str, set[str]] = {}
    for record in records:
        versions = record.get("versions")
        for name, value in versions.items() if isinstance(versions, dict) else ():
            found.setdefault(f"{name} (runs)", set()).add(str(value))
    return {name: ", ".join(sorted(values)) for name, values in sorted(found.items())}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _tables(context: Context, folder: Path) -> list[dict[str, Any]]:
    """Files, rows and a hash over the files of each table, without the runs left out."""
    found = []
    left_out = {names.partition("run", run) for run in context.model("left_out")["run"]}
    for table in ("runs", *TABLES):
        paths = (
            [folder / "runs.parquet"]
            if table == "runs"
            else [
                path
                for path in sorted(
                    folder.glob(f"{table}/{parquet_files.PARTITIONS}/{table}.parquet")
                )
                if path.parts[-3] not in left_out
            ]
        )
        digest = hashlib.sha256()
        for path in paths:
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        rows = context.warehouse.select(f"select count(*) as rows from stg_{table}")  # noqa: S608
        count: pl.Series = rows["rows"]
        found.append(
            {
                "name": table,
                "files": len(paths),
                "rows": int(count[0]),
                "hash": digest.hexdigest()[:16],
            }
        )
    return found
