"""The run.json files of an experiment to one table, `runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def runs(
    directory: Annotated[Path, typer.Argument(help="The folder `runs` of an experiment.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write.")],
    experiment: Annotated[
        Path | None, typer.Option(help="Experiment file, for the baseline and the name.")
    ] = None,
) -> None:
    """Collect run.json of every run into the table `runs`.

    Example: flowsweep runs results/demo/runs --output results/demo/tables/runs.parquet
    """
    from flowsweep import run_records

    run_records.write_table(directory, output, experiment)
