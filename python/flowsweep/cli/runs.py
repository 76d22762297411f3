"""The run.json files of an experiment to one table, `runs`."""

from __future__ import annotations

from pathlib import Path

import click

from flowsweep.cli.options import PATH


@click.command()
@click.argument("directory", type=PATH)
@click.option("--output", "-o", type=PATH, required=True, help="Parquet file to write.")
@click.option("--experiment", type=PATH, help="Experiment file, for the baseline and the name.")
def runs(directory: Path, output: Path, experiment: Path | None) -> None:
    """Collect run.json of every run in DIRECTORY into the table `runs`.

    Example: flowsweep runs results/demo/runs --output results/demo/tables/runs.parquet
    """
    from flowsweep import run_records

    run_records.write_table(directory, output, experiment)
