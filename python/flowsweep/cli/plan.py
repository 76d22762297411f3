"""An experiment file to its plan on the terminal: runs in order, nothing is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def plan(
    experiment: Annotated[Path, typer.Argument(help="An experiment file.")],
    output_format: Annotated[
        str, typer.Option("--format", help="table, json, or schema: the JSON schema of the file.")
    ] = "table",
) -> None:
    """List the runs of an experiment in the order in which they would be made.

    Example: flowsweep plan workflows/experiments/demo.yaml
    """
    from flowsweep import experiment as experiments

    if output_format == "schema":
        print(json.dumps(experiments.Experiment.model_json_schema(by_alias=True), indent=2))
        return
    loaded = experiments.load(experiment)
    runs = loaded.plan()
    if output_format == "json":
        print(json.dumps([run.spec() for run in runs], indent=2))
        return
    width = max((len(run.id) for run in runs), default=3)
    print(f"{'run':<{width}}  block  point")
    for run in runs:
        point = " ".join(f"{axis}={text}" for axis, text in run.point.asked().items())
        print(f"{run.id:<{width}}  {run.block:>5}  {point}")
    print(f"{len(runs)} runs, {loaded.repetitions} blocks, seed {loaded.seed}")
