"""Proposes points that narrow the brackets of a sweep's thresholds: `flowsweep plan --refine`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import numbers, printing
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.axes import AXES
from flowsweep.files.file_sets import scratch_folder
from flowsweep.outcome_names import word_level

if TYPE_CHECKING:
    from flowsweep.analysis.refine import Left, Proposal
    from flowsweep.experiment import Experiment, Workload

WIDTH = 80


def refine(directory: Path, experiment: Path | None, output_format: str, keep: int | None) -> None:
    """Prints the points, or keeps them as a pass of the experiment.

    Args:
        directory: results/<experiment>.
        experiment: Its file; default: the copy in the results.
        output_format: table, json or yaml.
        keep: The number of the pass; None to print the points.
    """
    from flowsweep import experiment as experiments
    from flowsweep.experiment import refined

    file = experiment or directory / "experiment.yaml"
    runs = directory / "runs"
    loaded = None
    try:
        if experiment or keep is not None or file.is_file():
            loaded = experiments.load(file, runs)
    except FlowsweepError as error:
        # In the copy, the path `captured` is still relative to the original file.
        if experiment or keep is not None:
            raise
        print(f"note: {error.what}: further values stand alone below", file=sys.stderr)
    made, left = _find_proposals(directory, file if loaded else None)
    if keep is not None:
        points = [
            refined.Point(settings=settings, why=_explain(one))
            for one in made
            if loaded and (settings := _settings(one, loaded))
        ]
        refined.keep(runs, keep, points)
        text = numbers.plural(len(points), "point")
        print(f"{refined.path(runs, keep)}: {text}", file=sys.stderr)
        return
    if output_format == "json":
        rows = [_row(one, _settings(one, loaded) if loaded else None) for one in made]
        printing.exact(json.dumps(rows, indent=2) + "\n")
    elif output_format == "yaml":
        printing.exact(_snippet(made, loaded))
    else:
        _show(made, left, loaded)


def _find_proposals(directory: Path, file: Path | None) -> tuple[list[Proposal], list[Left]]:
    """Returns the points to try next, from the records of the runs, else from the tables."""
    from flowsweep.analysis.refine import proposals
    from flowsweep.runs import run_records
    from flowsweep.warehouse import Warehouse

    def ask(results: Path) -> tuple[list[Proposal], list[Left]]:
        warehouse = Warehouse(results)
        others = _keep_first_outcome(warehouse.rows("axis_thresholds").rows(named=True))
        points = warehouse.select(
            "select app, problem, axis, if(axis = 'rtt', 'ms', 'Mbit/s') as unit, buffer_bytes, "
            "x_asked, x from sweep_points group by all "
            "union all by name "
            "select app, problem, axis, unit, null as buffer_bytes, x as x_asked, x "
            "from axis_points where axis not in ('rtt', 'rate') order by all"
        )
        return proposals(
            [
                *_keep_first_outcome(warehouse.rows("thresholds").rows(named=True)),
                *({**row, "buffer_bytes": None} for row in others),
            ],
            points.rows(named=True),
        )

    if not (directory / "runs").is_dir():
        return ask(directory)
    # The tables may be older than the runs; thresholds need only the records.
    with scratch_folder() as folder:
        tables = Path(folder, directory.absolute().name, "tables")
        tables.mkdir(parents=True)
        run_records.write_table(directory / "runs", tables / "runs.parquet", file)
        return ask(tables.parent)


def _keep_first_outcome(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keeps the first outcome of each application and problem: completion time, if it has one."""
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        first.setdefault((row["app"], row["problem"]), row["outcome"])
    return [row for row in rows if row["outcome"] == first[row["app"], row["problem"]]]


def _text(one: Proposal, value: float) -> str:
    """Writes a value as in an experiment file: 8ms."""
    axis = AXES[one.axis]
    if one.unit in ("ms", ""):
        return axis.format(axis.parse(f"{value:.6g}ms" if one.unit else f"{100 * value:.6g}%"))
    return axis.format(round(value * (axis.columns[0].scale or 1)))


def _word_levels(one: Proposal) -> str:
    return " and ".join(word_level(one.better, level) for level in one.levels)


def _explain(one: Proposal) -> str:
    low, high = (_text(one, end) for end in one.bracket)
    return f"the threshold of {_word_levels(one)} lies between {low} and {high}"


def _row(one: Proposal, settings: dict[str, str] | None) -> dict[str, Any]:
    low, high = (_text(one, end) for end in one.bracket)
    return {
        "app": one.app,
        "problem": one.problem,
        "axis": one.axis,
        "value": _text(one, one.value),
        "levels": list(one.levels),
        "between": [low, high],
        "factor": one.factor if one.bracket[0] > 0 else None,
        "factor_after": one.factor_after if one.bracket[0] > 0 else None,
        "set": settings,
    }


def _settings(one: Proposal, experiment: Experiment) -> dict[str, str] | None:
    """Returns the point as settings of `--set`; None if the experiment has no such workload."""
    from flowsweep.experiment import points

    for workload in experiment.workloads:
        if workload.name != one.app:
            continue
        base = points.baseline(experiment, workload)
        for point in [base, *points.list_points(experiment, workload)]:
            if _strip_app(point.problem) != one.problem:
                continue
            changed = {
                f"problem.{key}": json.dumps(value)
                for key, value in point.parameters.items()
                if not points.is_same(base.parameters, key, value)
            }
            found = {"workload": workload.name, one.axis: _text(one, one.value), **changed}
            if one.buffer_bytes != base.buffer_bytes and one.buffer_bytes is not None:
                found["buffer"] = AXES["buffer"].format(one.buffer_bytes)
            return found
    return None


def _strip_app(problem: str) -> str:
    """Writes a problem as the tables do: see the model `runs`."""
    return problem.translate(str.maketrans("", "", '{}"')).replace(": ", " ")


def _snippet(made: Sequence[Proposal], experiment: Experiment | None) -> str:
    """Returns each workload's axes with the new values, to paste into the experiment file."""
    workloads = list(dict.fromkeys(one.app for one in made))
    lines = []
    for name in workloads:
        own = [one for one in made if one.app == name]
        same_name = [one for one in experiment.workloads if one.name == name] if experiment else []
        lines.append(f"# {name}")
        lines.append("axes:")
        for axis in dict.fromkeys(one.axis for one in own):
            values = [_text(one, one.value) for one in own if one.axis == axis]
            given = _list_given(experiment, same_name[0], axis) if experiment and same_name else []
            merged = sorted({*given, *values}, key=AXES[axis].parse)
            lines.append(f"  {axis}: [{', '.join(merged)}]")
    return "\n".join(lines) + "\n" if lines else "# nothing to refine\n"


def _list_given(experiment: Experiment, workload: Workload, axis: str) -> Iterable[str]:
    values = experiment.axes_of(workload).get(axis, [])
    return [AXES[axis].format(value) for value in values]


def _show(made: Sequence[Proposal], left: Sequence[Left], experiment: Experiment | None) -> None:
    """Prints the points as a table, the brackets left alone, and the snippet, in 80 columns."""
    if made:
        rows = [
            (
                f"{one.axis}={_text(one, one.value)}",
                _word_levels(one),
                " to ".join(_text(one, end) for end in one.bracket),
                "from 0" if one.bracket[0] <= 0 else f"{one.factor:.3g} to {one.factor_after:.3g}",
                one.app + (f" {one.problem}" if one.problem else ""),
            )
            for one in made
        ]
        heads = ("try", "threshold", "lies between", "factor", "application")
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            line = printing.line("  ".join(padded).rstrip())
            print(line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ...")
    else:
        print("nothing to refine")
    for one in left:
        axis = f"{one.app} {one.axis} {word_level(one.better, one.level)}"
        text = textwrap.wrap(f"{axis}: {one.why}", WIDTH, subsequent_indent="  ")
        print(printing.line(text[0]), *map(printing.line, text[1:]), sep="\n")
    if made:
        print("\nto try them, these axes in the experiment file, or `refine: 2`:")
        printing.exact(_snippet(made, experiment))
