"""One planned run, or one point, to a run directory: what the workflow's capture rule calls."""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from flowsweep.experiment import Run

MIN_RUNS_FOR_ESTIMATE = 5


def run(
    experiment: Annotated[Path, typer.Argument(help="An experiment file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The run directory to write.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="AXIS=VALUE", help="A point other than the baseline."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", help="A run of the plan (flowsweep plan lists them).")
    ] = None,
) -> None:
    """Make one run on emulated hosts: every packet captured, completion time measured.

    A run that is already there is not made again. A program that fails is a result
    (status failed in run.json); a testbed that fails is an error.

    Example: flowsweep run workflows/experiments/demo.yaml --set rtt=16ms -o results/one
    """
    from flowsweep import experiment as experiments
    from flowsweep.errors import FlowsweepError
    from flowsweep.testbed import runner

    loaded = experiments.load(experiment)
    if run_id is not None and settings:
        raise FlowsweepError(
            "--run and --set exclude each other", remedy="--run names one point already"
        )
    asked = parse_settings(settings or [])
    planned = loaded.find_run(run_id) if run_id is not None else loaded.run_at(asked)
    record = runner.perform(planned, output, _say)
    if record is None:
        _say(f"{planned.id} is complete in {output}: nothing to do")
        return
    _say(_line(planned, output, record))


def parse_settings(settings: list[str]) -> dict[str, str]:
    """["rtt=16ms"] as {"rtt": "16ms"}."""
    from flowsweep.errors import FlowsweepError

    asked = {}
    for setting in settings:
        axis, equals, value = setting.partition("=")
        if not equals or not value:
            raise FlowsweepError(
                f"--set {setting}: not a setting", found=f'"{setting}"', expected="AXIS=VALUE"
            )
        asked[axis.strip()] = value.strip()
    return asked


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _line(planned: Run, output: Path, record: dict[str, Any]) -> str:
    """`TIME done/total app point rep=N seconds status time left`."""
    from flowsweep.testbed.runner import read_record

    plan = planned.experiment.plan()
    records = [read_record(output.parent / run.id) for run in plan]
    finished = [found for found in records if found is not None]
    point = " ".join(f"{axis}={text}" for axis, text in planned.point.asked().items())
    seconds = record["completion_s"]
    done_in = f"{seconds:.2f}s" if seconds is not None else "-"
    status = "ok" if record["status"] == "valid" else f"{record['status']}: {record['reason']}"
    words = [
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        f"{len(finished)}/{len(plan)}",
        planned.app,
        point,
        "warm-up" if planned.warmup else f"rep={planned.repetition}",
        done_in,
        status,
        _time_left(finished, len(plan) - len(finished)),
    ]
    return " ".join(word for word in words if word)


def _time_left(finished: list[dict[str, Any]], missing: int) -> str:
    """From the median time between the ends of finished runs; nothing before there are enough."""
    ends = sorted(
        datetime.fromisoformat(record["end"]).timestamp() for record in finished if "end" in record
    )
    if missing == 0 or len(ends) < MIN_RUNS_FOR_ESTIMATE:
        return ""
    seconds = missing * statistics.median(
        later - earlier for earlier, later in itertools.pairwise(ends)
    )
    left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"about {left} left"
