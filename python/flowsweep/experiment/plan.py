"""Plans the runs of an experiment: which points, how often, in which order.

A block is one repetition: every point once in random order, between two runs of
the baseline (randomised complete blocks). So each point has `repetitions` runs, and
the baseline twice as many, as all slowdowns share its median.
"""

from __future__ import annotations

import difflib
import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import points
from flowsweep.experiment.axes import AXES
from flowsweep.experiment.run import Run
from flowsweep.files import inputs
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.points import Point
    from flowsweep.experiment.workload import Workload


def plan(experiment: Experiment) -> list[Run]:
    """Returns all runs in execution order: warm-up, then the blocks."""
    if experiment.captured is not None:
        return []
    order = random.Random(experiment.seed)  # noqa: S311 - an order, not a secret
    workloads = experiment.workloads
    bases = {workload.name: points.baseline(experiment, workload) for workload in workloads}
    others = {workload.name: points.list_points(experiment, workload) for workload in workloads}

    def run(
        workload: Workload, point: Point, repetition: int, block: int, *, warmup: bool = False
    ) -> Run:
        made = _run(experiment, workload, point, bases[workload.name], repetition, warmup=warmup)
        return replace(made, block=block)

    runs = [
        run(workload, bases[workload.name], number, 0, warmup=True)
        for workload in workloads
        for number in range(1, experiment.warmup + 1)
    ]
    for block in range(1, experiment.repetitions + 1):
        middle = [
            run(workload, point, block, block)
            for workload in workloads
            for point in others[workload.name]
        ]
        order.shuffle(middle)
        ends = [
            [run(workload, bases[workload.name], number, block) for workload in workloads]
            for number in (2 * block - 1, 2 * block)
        ]
        for end in ends:
            order.shuffle(end)
        runs += [*ends[0], *middle, *ends[1]]
    return runs + _plan_refined(experiment, runs, order)


def _plan_refined(experiment: Experiment, planned: list[Run], order: random.Random) -> list[Run]:
    """Returns the runs of the refinement passes: each pass has as many blocks as the sweep.

    A point that the experiment file itself contains by now is skipped. Each block has a run at the
    baseline of its points: if the machine became slower since the sweep, they would look slower.
    """
    known = {run.id for run in planned}
    counts = Counter(_series(run) for run in planned)
    names = {workload.name for workload in experiment.workloads}
    block = experiment.repetitions
    found: list[Run] = []
    for points_of_pass in experiment.refined:
        made = [
            run_at(experiment, point.settings)
            for point in points_of_pass
            if point.settings.get("workload", experiment.workloads[0].name) in names
        ]
        new = {run.id: run for run in made if run.id not in known}
        known |= new.keys()
        for _ in range(experiment.repetitions):
            block += 1
            baselines = {_series(one): one for one in map(_baseline_of, new.values())}
            runs = []
            for run in (*new.values(), *baselines.values()):
                name = _series(run)
                counts[name] += 1
                number = counts[name]
                runs.append(replace(run, id=f"{name}-r{number}", repetition=number, block=block))
            order.shuffle(runs)
            found += runs
    return found


def _series(run: Run) -> str:
    """Returns the id of a run without its repetition."""
    return run.id.rpartition("-")[0]


def _baseline_of(run: Run) -> Run:
    """Returns the first run at the baseline of the same problem."""
    base = points.baseline(run.experiment, run.workload)
    own = base.changed({"problem": run.point.problem})
    return _run(run.experiment, run.workload, own, base, 1)


def _run(
    experiment: Experiment,
    workload: Workload,
    point: Point,
    base: Point,
    repetition: int,
    *,
    warmup: bool = False,
) -> Run:
    suffix = f"w{repetition}" if warmup else f"r{repetition}"
    return Run(
        id=f"{workload.name}-{points.slug(point, base)}-{suffix}",
        experiment=experiment,
        workload=workload,
        point=point,
        repetition=repetition,
        block=1,
        # Each problem has a baseline of its own: slowdowns compare runs of one problem.
        baseline=point.changed({"problem": base.problem}) == base,
        warmup=warmup,
    )


def find_run(experiment: Experiment, run_id: str) -> Run:
    """Returns the planned run with this id."""
    runs = {run.id: run for run in plan(experiment)}
    if run_id not in runs:
        near = difflib.get_close_matches(run_id, runs, n=1)
        raise FlowsweepError(
            f'{experiment.path}: no run is called "{run_id}"',
            found=f'"{run_id}"',
            expected=f"one of {counted(len(runs), 'run')}, such as {(near or [*runs])[0]}",
            remedy="flowsweep plan EXPERIMENT.yaml lists them",
        )
    return runs[run_id]


def run_at(experiment: Experiment, settings: dict[str, str]) -> Run:
    """Returns a run at the baseline, or with axes set.

    In addition to axes, settings may be `workload=NAME` (default: the first) and
    `problem.PARAMETER=JSON`.
    """
    names = [workload.name for workload in experiment.workloads]
    settings = dict(settings)
    name = settings.pop("workload", names[0])
    if name not in names:
        raise FlowsweepError(
            f'--set workload={name}: no workload is called "{name}"',
            found=f'"{name}"',
            expected=f"one of {', '.join(names)}",
        )
    workload = experiment.workloads[names.index(name)]
    base = points.baseline(experiment, workload)
    changes: dict[str, Any] = {}
    problem: dict[str, Any] = {}
    for axis, text in settings.items():
        if axis.startswith("problem."):
            problem[axis.removeprefix("problem.")] = _value(axis, text)
        else:
            changes[points.field_of(axis)] = _axis_value(experiment, workload, axis, text)
    if "ranks" in changes:
        changes["ranks_per_host"] = None
    elif "ranks_per_host" in changes:
        changes["ranks"] = None
    changes["problem"] = points.problem_text(workload.problem, problem)
    point = base.changed(changes)
    return _run(experiment, workload, point, base, 1)


def _value(axis: str, text: str) -> Any:
    """Parses a value as JSON: 12, true, [1, 2]; anything that is not JSON is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    inputs.check_values(f"--set {axis}", {axis: value})
    return value


def _axis_value(experiment: Experiment, workload: Workload, axis: str, text: str) -> Any:
    if axis not in AXES:
        near = difflib.get_close_matches(axis, AXES, n=1)
        raise FlowsweepError(
            f'--set {axis}={text}: no axis is called "{axis}"',
            found=f'"{axis}"',
            expected=f"one of {', '.join(AXES)}, problem.PARAMETER, workload",
            remedy=f"did you mean --set {near[0]}={text}?" if near else None,
        )
    value = AXES[axis].parse(text)
    if axis == "variant" and value not in workload.variants:
        raise FlowsweepError(
            f'--set variant={text}: {workload.name} has no variant "{value}"',
            found=f'"{value}"',
            expected=f"one of {', '.join(workload.variants) or 'none; the file names no variants'}",
        )
    negative = isinstance(value, int | float) and value < 0
    if negative or (not value and not AXES[axis].may_be_zero):
        raise FlowsweepError(
            f"--set {axis}={text}: not possible", found=f'"{text}"', expected="more than 0"
        )
    if axis == "placement" and value not in (sites := workload.hosts or experiment.sites):
        raise FlowsweepError(
            f'--set placement={text}: no site is called "{value}"',
            found=f'"{value}"',
            expected=f"one of {', '.join(sites)}",
        )
    if axis == "schedule" and value not in experiment.schedules:
        raise FlowsweepError(
            f'--set schedule={text}: no schedule is called "{value}"',
            found=f'"{value}"',
            expected=f"one of {', '.join(experiment.schedules) or 'none; the file names none'}",
        )
    names = [workload.name for workload in experiment.workloads if not workload.serve]
    if axis == "beside" and value not in names:
        raise FlowsweepError(
            f'--set beside={text}: no workload without servers is called "{value}"',
            found=f'"{value}"',
            expected=f"one of {', '.join(names) or 'none; the file names none'}",
        )
    most = AXES["hosts"].baseline(experiment, workload)
    if axis == "hosts" and value > most:
        raise FlowsweepError(
            f"--set {axis}={text}: no site has {counted(value, 'host')}",
            found=text,
            expected=f"at most {most}",
        )
    return value
