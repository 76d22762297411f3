"""States where a report's numbers come from: versions, seeds, hashes, the experiment file."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.parsing import TABLES

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

LIBRARIES = ("duckdb", "polars", "vl-convert-python", "numpy")


def provenance(context: Context, directory: Path, source: str) -> dict[str, Any]:
    """Returns all that is needed to repeat the report."""
    records = [
        json.loads(text)
        for text in context.warehouse.select(
            "select json from stg_runs where json is not null order by run"
        )["json"]
    ]
    catalog = context.warehouse.catalog
    modes = sorted({str(mode) for mode in context.rows("run_table")["compute"].drop_nulls()})
    return {
        "command": f"flowsweep report {_shown_path(directory)}",
        "query": f"flowsweep query NAME {_shown_path(directory)}",
        "versions": {
            **_list_versions(records),
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
            {"name": name, "sql": text}
            for name, text in sorted(catalog.models.items())
            # Papers' models are data; their queries are printed under the figures.
            if name not in catalog.paper_models
        ],
    }


def _left_out(context: Context, *, is_recorded: bool) -> list[str]:
    """Lists runs no figure uses: not in the experiment file, or without record and captures."""
    rows = context.model("left_out").iter_rows(named=True)
    return sorted(str(row["run"]) for row in rows if row["is_recorded"] == is_recorded)


def _shown_path(directory: Path) -> str:
    """Returns the last parts of a path: a page should not show where this machine keeps it."""
    parts = directory.absolute().parts[-2:]
    return str(Path(*parts)) if parts[0] == "results" else parts[-1]


def _list_versions(records: list[dict[str, Any]]) -> dict[str, str]:
    """Lists the versions that the runs were made with; all of them if they differ."""
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
    """Returns files, rows and a content hash of each table, without the runs left out."""
    runs = folder / "runs.parquet"
    rows = int(context.warehouse.select("select count(*) as rows from stg_runs")["rows"][0])
    digest = hashlib.sha256(runs.read_bytes()).hexdigest()[:16]
    found: list[dict[str, Any]] = [{"name": "runs", "files": 1, "rows": rows, "hash": digest}]
    for table in TABLES:
        # There is one file for each host and run; files without rows are not listed.
        files = context.warehouse.select(
            f"select run, host, rows, content from table_rows where kind = '{table}' order by all"  # noqa: S608
        )
        digest = hashlib.sha256(files.write_csv().encode()).hexdigest()[:16]
        found.append(
            {
                "name": table,
                "files": files.height,
                "rows": int(files["rows"].sum()),
                "hash": digest,
            }
        )
    return found
