"""Builds the table `runs` from run.json files: one row per run, axes in base units.

A user's own run.json may contain only the axes and `completion_s`; missing values
are null, and a folder without run.json still gives a row. The application's own record
is `application` in run.json, or else the file app.json in the same folder.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import printing
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.axes import AXES, raw_columns
from flowsweep.files import inputs, names
from flowsweep.files.file_sets import one_file
from flowsweep.files.owned import TABLE_MARK
from flowsweep.runs import applications, link_balance, outcomes, record_fields, records
from flowsweep.runs.record_fields import checked

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.experiment.model import Experiment


# Spark reads types from this key first: it does not support the file's nanosecond type.
SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"


def with_status(directory: Path, statuses: Collection[str]) -> dict[str, str]:
    """Returns flowsweep's runs in `directory` with one of these statuses, and the reasons.

    Warm-ups are left out: they are never evaluated.

    Raises:
        FlowsweepError: There is no such folder, or a run.json in it cannot be read.
    """
    found = {}
    for path in _run_folders(directory):
        read = records.read(path / "run.json")
        if read is None:
            continue
        run = checked(records.Run, read[0], path / "run.json")
        if run.spec_hash is not None and not run.warmup and run.status in statuses:
            found[path.name] = str(run.reason)
    return found


def find_misspelt(directory: Path) -> list[str]:
    """Returns a line for each probably misspelt key in records that flowsweep did not write."""
    lines = []
    for folder in _run_folders(directory):
        for name, kind in (("run.json", records.Run), ("app.json", applications.Application)):
            read = records.read(folder / name)
            if read is None:
                continue
            if "spec_hash" in read[0]:
                # Flowsweep's own record contains more keys than the report reads, and the
                # program's, which may be unusable, was checked when the run was made.
                break
            faults = record_fields.find_misspelt(kind, read[0])
            lines += [f"{folder / name}: {fault}" for fault in faults]
    return lines


def _run_folders(directory: Path) -> list[Path]:
    """Returns the runs' folders, sorted by name; hidden ones are leftovers of killed runs."""
    if not directory.is_dir():
        raise FlowsweepError(
            f"{directory}: no such folder",
            expected="the folder `runs` of an experiment, with a folder for each run",
        )
    folders = [
        path
        for path in sorted(directory.iterdir())
        if path.is_dir() and not path.name.startswith(".")
    ]
    for path in folders:
        names.check(path.name, "a run", path)
    return folders


def read_rows(directory: Path, experiment_file: Path | None = None) -> list[dict[str, Any]]:
    """Returns one row per folder of `directory`, sorted by name.

    If the experiment file has a plan, `planned` says whether the run is in it and matches it:
    after an edit of the file, older runs are kept, but no figure uses them.

    Raises:
        FlowsweepError: A run.json cannot be read; with file, place and remedy.
    """
    folders = _run_folders(directory)
    loaded = None
    if experiment_file is not None:
        from flowsweep import experiment

        loaded = experiment.load(experiment_file, directory)
    default_app = loaded.workloads[0].name if loaded and loaded.workloads else None
    # `/runs` has no parent folder with a name.
    name = loaded.name if loaded else directory.absolute().parent.name or directory.name
    names.check(name, "an experiment's folder", directory)
    rows = [_row(path, name, default_app) for path in folders]
    outcomes.check_alike(rows)
    plan = {run.id: run.spec_hash() for run in loaded.plan()} if loaded else {}
    sited = _hosts(loaded) if loaded and loaded.captured is not None else None
    for row in rows:
        row["hosts"] = row["hosts"] or sited
        row["planned"] = _is_planned(row, plan) if plan else None
    return rows


def without_site(directory: Path, experiment_file: Path) -> list[str]:
    """Returns hosts with recordings that no site of a captured experiment names, if it has sites.

    Raises:
        FlowsweepError: The experiment file cannot be read.
    """
    from flowsweep import experiment
    from flowsweep.runs.run_folder import recorded_files

    loaded = experiment.load(experiment_file, directory)
    named = {host for described in loaded.sites.values() for host in described.hosts}
    if loaded.captured is None or not named:
        return []
    found = {host for path in _run_folders(directory) for host in recorded_files(path)}
    return sorted(found - named)


def _hosts(captured: Experiment) -> list[dict[str, str | None]] | None:
    """Returns the hosts of a captured experiment's sites; captures show their addresses."""
    return [
        {"name": host, "site": site, "address": None}
        for site, described in captured.sites.items()
        for host in described.hosts
    ] or None


def _is_planned(row: dict[str, Any], plan: dict[str, str]) -> bool:
    """Returns whether a run is in the plan (id to hash) and has its hash, or none."""
    return row["run"] in plan and row["spec_hash"] in (plan[row["run"]], None)


def write_table(directory: Path, output: Path, experiment_file: Path | None) -> list[str]:
    """Writes the table `runs` as Parquet, whole or not at all.

    Returns:
        The runs that the report leaves out.
    """
    import polars as pl

    rows = read_rows(directory, experiment_file)
    frame = pl.DataFrame(rows, schema=_schema(), orient="row")
    spark = json.dumps(_spark_type(pl.Struct(frame.schema)))
    marks = {TABLE_MARK.decode(): "runs", SPARK_SCHEMA: spark}
    # Via memory: on a full disk, Polars would raise its own errors.
    written = io.BytesIO()
    frame.write_parquet(written, compression="zstd", metadata=marks)
    with one_file(output) as stream:
        stream.write(written.getbuffer())
    return [row["run"] for row in rows if row["planned"] is False]


def _spark_type(kind: object) -> Any:
    """Returns a type as in Spark's own Parquet files; times are nanoseconds since 1970."""
    import polars as pl

    if isinstance(kind, pl.Struct):
        fields = [
            {
                "name": field.name,
                "type": _spark_type(field.dtype),
                "nullable": True,
                "metadata": {},
            }
            for field in kind.fields
        ]
        return {"type": "struct", "fields": fields}
    if isinstance(kind, pl.List):
        return {"type": "array", "elementType": _spark_type(kind.inner), "containsNull": True}
    return {"String": "string", "Boolean": "boolean", "Float64": "double"}.get(str(kind), "long")


def _schema() -> dict[str, pl.DataType]:
    import polars as pl

    time = pl.Datetime("ns", "UTC")
    kinds: dict[str, pl.DataType]
    kinds = {"bigint": pl.Int64(), "double": pl.Float64(), "varchar": pl.String()}
    host = pl.Struct({"name": pl.String, "site": pl.String, "address": pl.String})
    outcome = pl.Struct(
        {"name": pl.String, "unit": pl.String, "better": pl.String, "value": pl.Float64}
    )
    return {
        "run": pl.String(),
        "experiment": pl.String(),
        "app": pl.String(),
        "problem": pl.String(),
        "compute": pl.String(),
        "repetition": pl.Int64(),
        "block": pl.Int64(),
        "baseline": pl.Boolean(),
        "warmup": pl.Boolean(),
        **{name: kinds[kind] for name, kind in raw_columns().items()},
        "start": time,
        "end": time,
        "completion_s": pl.Float64(),
        "outcomes": pl.List(outcome),
        "status": pl.String(),
        "reason": pl.String(),
        "hosts": pl.List(host),
        "spec_hash": pl.String(),
        "planned": pl.Boolean(),
        "emulator_late_p99_ns": pl.Int64(),
        "emulator_dropped": pl.Int64(),
        "json": pl.String(),
    }


def _row(path: Path, experiment: str, default_app: str | None) -> dict[str, Any]:
    record, text = _record(path)
    run = checked(records.Run, record, path / "run.json")
    lateness = run.emulator.lateness_ns if run.emulator else None
    row: dict[str, Any] = {
        "run": path.name,
        "experiment": run.experiment or experiment,
        "app": run.app or default_app or experiment,
        "problem": json.dumps(record["problem"], sort_keys=True) if "problem" in record else None,
        "compute": run.compute,
        "repetition": run.repetition,
        "block": run.block,
        "baseline": run.baseline,
        "warmup": bool(run.warmup),
        "start": run.start,
        "end": run.end,
        "completion_s": run.completion_s,
        "outcomes": outcomes.rows(run.outcomes) or None,
        # A user's own run without a status is valid.
        "status": run.status or ("valid" if record else "no record"),
        # The reason may quote a program's output.
        "reason": printing.visible(run.reason or "") or (None if record else "no run.json"),
        "hosts": [
            {"name": host.name, "site": host.site, "address": host.address}
            for host in run.hosts or ()
        ]
        or None,
        "spec_hash": run.spec_hash,
        "emulator_late_p99_ns": lateness.p99 if lateness else None,
        "emulator_dropped": _dropped(record.get("emulator")),
        "json": text,
        "jitter_share": None,
    }
    row |= _axes(run.axes or {}, path / "run.json")
    if isinstance(row["jitter_ns"], float):
        row["jitter_share"], row["jitter_ns"] = row["jitter_ns"], None
        if row["rtt_asked_ns"] is not None:
            # of the delay of one direction
            row["jitter_ns"] = round(row["jitter_share"] * row["rtt_asked_ns"] / 2)
    if run.queue_bytes is not None:
        row["queue_bytes"] = run.queue_bytes
    return row


def _axes(axes: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns the columns of the axes, in base units; null for axes that the record lacks."""
    for axis in axes:
        if axis not in AXES:
            raise FlowsweepError(
                f"{path}: axes: unknown axis",
                found=inputs.shorten_value(axis),
                expected=f"some of {', '.join(AXES)}",
                remedy='name a setting of your own as a variant: {"axes": {"variant": "mtu9000"}}',
            )
    row: dict[str, Any] = {}
    for axis, entry in AXES.items():
        value, remedy = axes.get(axis), f"correct axes.{axis}, or leave it out"
        both = value if isinstance(value, dict) else {"asked": value}
        for column, key in zip(entry.raw_columns, ("asked", "measured"), strict=True):
            if column is None:
                continue
            given = both.get(key)
            try:
                row[column] = None if given is None else entry.recorded(given)
            except FlowsweepError as error:
                error.what = f"{path}: axes.{axis}: {error.what}"
                error.remedy = error.remedy or remedy
                raise
            if isinstance(row[column], int | float) and row[column] < 0:
                raise FlowsweepError(
                    f"{path}: axes.{axis}: a negative value has no meaning",
                    found=inputs.shorten_value(given),
                    expected="0 or more",
                    remedy=remedy,
                )
    return row


def _record(path: Path) -> tuple[dict[str, Any], str | None]:
    """Reads run.json, and adds the application's own record to it."""
    read = records.read(path / "run.json")
    if read is None:
        return {}, None
    record, text = read
    if not record or "application" in record:
        return record, text
    application_record = records.read(path / "app.json")
    if application_record is not None and application_record[0]:
        application = application_record[0]
        checked(applications.Application, application, path / "app.json")
        keys = ("problem", "compute", "completion_s", "outcomes")
        own = {key: application[key] for key in keys if key in application}
        record = own | record | {"application": application}
        text = json.dumps(record)
    return record, text


def _dropped(emulator: Any) -> int | None:
    found = link_balance.balances(emulator)
    return sum(link.dropped for link in found) if found else None
