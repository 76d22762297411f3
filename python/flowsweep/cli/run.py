"""`flowsweep run`: makes one planned run, or one at a point; the capture rule calls it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.cli.arguments import Parser, add_experiment, add_output, add_settings
from flowsweep.units import duration

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.experiment.estimate import Estimate

#: Least seconds of waiting for the testbed that the line of a run mentions.
WAITED_S = 1.0


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_experiment(parser)
    add_output(parser, "The run directory to write.", required=False)
    add_settings(parser)
    parser.add_argument(
        "--run",
        dest="run_id",
        metavar="RUN",
        help="A run of the plan (flowsweep plan lists them).",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Print the plan of the whole experiment; run nothing.",
    )


def run(
    *,
    experiment: Path,
    output: Path | None,
    settings: list[str],
    run_id: str | None,
    dry_run: bool,
) -> int:
    """Make one run on emulated hosts: every packet captured, completion time measured.

    A run that exists already is not made again. A program that fails is a result (status failed
    in run.json) and exit code 1; a testbed that fails is an error, exit code 2. With --run, it is
    also an error if the application failed in all runs so far, the baseline included.

    Example: flowsweep run workflows/experiments/demo.yaml --set rtt=16ms -o results/one
    """
    from flowsweep.errors import FlowsweepError

    if dry_run:
        from flowsweep import experiment as experiments
        from flowsweep.cli import plan

        folder = output.parent if output is not None else None
        plan.show(experiments.load(experiment, folder), folder)
        return 0
    if output is None:
        raise FlowsweepError(
            "no run directory", expected="--output DIRECTORY", remedy="-o results/one"
        )
    if run_id is not None and settings:
        raise FlowsweepError(
            "--run and --set exclude each other", remedy="--run names one point already"
        )
    values = parse_settings(settings)
    from flowsweep.testbed import hopeless, runner
    from flowsweep.testbed.namespaces.kind import Ahead

    # Namespaces and a second Python start while this process reads the experiment.
    ahead = None if (output / runner.RECORD).exists() else Ahead.start()
    try:
        from flowsweep import experiment as experiments

        loaded = experiments.load(experiment, output.parent)
        planned = loaded.find_run(run_id) if run_id is not None else loaded.run_at(values)
        if run_id is not None and not runner.is_done(planned, output):
            hopeless.check(planned, output.parent)
        record = runner.perform(planned, output, _say, ahead)
    finally:
        if ahead is not None:
            ahead.cancel()
    if record is None:
        _say(f"{planned.id} is complete in {output}: nothing to do")
        record = runner.read_record(output) or {}
    else:
        _say(_line(planned, output, record))
    return int(record.get("status") == "failed")


def _describe_left(left: Estimate, waited_s: float) -> str:
    if not left.missing or left.unknown:
        return ""
    waiting = f", waiting apart ({duration(waited_s)} now)" if waited_s >= WAITED_S else ""
    return f"about {duration(left.seconds)} left{waiting}"


def parse_settings(settings: Iterable[str]) -> dict[str, str]:
    """Returns ["rtt=16ms"] as {"rtt": "16ms"}."""
    from flowsweep.errors import FlowsweepError

    values = {}
    for setting in settings:
        axis, equals, value = setting.partition("=")
        if not equals or not value:
            raise FlowsweepError(
                f"--set {setting}: not a setting", found=f'"{setting}"', expected="AXIS=VALUE"
            )
        values[axis.strip()] = value.strip()
    return values


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _line(planned: Run, output: Path, record: dict[str, Any]) -> str:
    """Returns `TIME done/total app point rep=N seconds status time left`."""
    from flowsweep.experiment.estimate import estimate

    left = estimate(planned.experiment.plan(), output.parent, quick=True)
    seconds = record["completion_s"]
    words = [
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        f"{left.total - left.missing}/{left.total}",
        planned.app,
        planned.summary(),
        "warm-up" if planned.warmup else f"rep={planned.repetition}",
        f"{seconds:.2f}s" if seconds is not None else "-",
        "ok" if record["status"] == "valid" else f"{record['status']}: {record['reason']}",
        _describe_left(left, record["waited_s"]),
    ]
    return " ".join(word for word in words if word)
