"""An experiment to its list of runs: which points, how often, in which order.

A block is one repetition: every point once in random order, between two runs of
the baseline (randomised complete blocks). So each point has `repetitions` runs,
the baseline twice as many: all slowdowns share its median.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flowsweep import units
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.model import MIN_QUEUE_BYTES

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment, Workload


@dataclass(frozen=True)
class Point:
    """One setting of all axes. None: the default (queue, buffer)."""

    rtt_ns: int
    rate_bit_s: float
    queue_bytes: int | None
    buffer_bytes: int | None

    @property
    def effective_queue_bytes(self) -> int:
        """The queue of each direction: as asked, else the bandwidth-delay product."""
        if self.queue_bytes is not None:
            return self.queue_bytes
        return max(MIN_QUEUE_BYTES, round(self.rate_bit_s * self.rtt_ns / 8e9))

    def asked(self) -> dict[str, str]:
        """The axes as text with units, as run.json keeps them."""
        text = {axis: _format(axis, getattr(self, AXES[axis])) for axis in AXES}
        return {axis: value for axis, value in text.items() if value is not None}


AXES = {
    "rtt": "rtt_ns",
    "rate": "rate_bit_s",
    "queue": "queue_bytes",
    "buffer": "buffer_bytes",
}
_PARSERS: dict[str, Any] = {
    "rtt": units.parse_time,
    "rate": units.parse_rate,
    "queue": units.parse_size,
    "buffer": units.parse_size,
}


@dataclass(frozen=True)
class Run:
    """One run: what, where, and its place in the order."""

    id: str
    experiment: Experiment
    workload: Workload
    point: Point
    repetition: int
    block: int
    baseline: bool
    warmup: bool

    @property
    def app(self) -> str:
        """The workload's name, as the report calls it."""
        return self.workload.name

    def spec(self) -> dict[str, Any]:
        """Everything that decides the outcome, as JSON values; run.json keeps it."""
        experiment = self.experiment
        return {
            "run": self.id,
            "experiment": experiment.name,
            "app": self.app,
            "program": self.workload.app,
            "problem": self.workload.problem,
            "compute": self.workload.compute,
            "ranks_per_host": self.workload.ranks_per_host,
            "axes": {axis: {"asked": text} for axis, text in self.point.asked().items()},
            "queue_bytes": self.point.effective_queue_bytes,
            "congestion_control": experiment.tcp.congestion_control,
            "baseline": self.baseline,
            "warmup": self.warmup,
            "repetition": self.repetition,
            "block": self.block,
            "seed": experiment.seed,
            "sites": experiment.sites,
            "capture": {
                "snaplen": experiment.capture.snaplen,
                "filter": experiment.capture.filter,
                "buffer_bytes": experiment.capture.buffer_bytes,
            },
            "timeout_s": experiment.timeout_s,
        }

    def spec_hash(self) -> str:
        """16 hex digits over `spec`, its place in the order apart."""
        spec = {key: value for key, value in self.spec().items() if key != "block"}
        text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _format(axis: str, value: float | None) -> str | None:
    if value is None:
        return None
    if axis == "rtt":
        return f"{value / 1e6:.6g}ms"
    return units.format_rate(value) if axis == "rate" else units.format_size(value)


def baseline_point(experiment: Experiment) -> Point:
    """The point from which the axes vary."""
    return Point(
        rtt_ns=experiment.link.rtt_ns,
        rate_bit_s=experiment.link.rate_bit_s,
        queue_bytes=experiment.link.queue_bytes,
        buffer_bytes=experiment.tcp.buffer_bytes,
    )


def points(experiment: Experiment) -> list[Point]:
    """All points but the baseline, each once, in file order."""
    base = baseline_point(experiment)
    axes = {field: getattr(experiment.axes, axis) for axis, field in AXES.items()}
    axes = {field: values for field, values in axes.items() if values}
    if experiment.design == "grid":
        full = [[getattr(base, field), *values] for field, values in axes.items()]
        found = [
            replace(base, **dict(zip(axes, values, strict=True)))
            for values in itertools.product(*full)
        ]
    else:
        found = [
            replace(base, **{field: value}) for field, values in axes.items() for value in values
        ]
    return [point for point in dict.fromkeys(found) if point != base]


def _slug(workload: Workload, point: Point, base: Point, suffix: str) -> str:
    """A run id: only letters, digits, dot, minus and underscore, as Hive partitions need."""
    changed = [
        f"{axis}_{_format(axis, getattr(point, field))}".removesuffix("/s")
        for axis, field in AXES.items()
        if getattr(point, field) != getattr(base, field)
    ]
    return "-".join([workload.name, *(changed or ["baseline"]), suffix])


def plan(experiment: Experiment) -> list[Run]:
    """All runs in execution order: warm-up, then the blocks."""
    if experiment.captured is not None:
        return []
    base = baseline_point(experiment)
    others = points(experiment)
    order = random.Random(experiment.seed)  # noqa: S311 - an order, not a secret

    def run(
        workload: Workload, point: Point, repetition: int, block: int, *, warmup: bool = False
    ) -> Run:
        suffix = f"w{repetition}" if warmup else f"r{repetition}"
        return Run(
            id=_slug(workload, point, base, suffix),
            experiment=experiment,
            workload=workload,
            point=point,
            repetition=repetition,
            block=block,
            baseline=point == base,
            warmup=warmup,
        )

    runs = [
        run(workload, base, number, 0, warmup=True)
        for workload in experiment.workloads
        for number in range(1, experiment.warmup + 1)
    ]
    for block in range(1, experiment.repetitions + 1):
        middle = [
            run(workload, point, block, block)
            for workload in experiment.workloads
            for point in others
        ]
        order.shuffle(middle)
        first = [run(workload, base, 2 * block - 1, block) for workload in experiment.workloads]
        last = [run(workload, base, 2 * block, block) for workload in experiment.workloads]
        order.shuffle(first)
        order.shuffle(last)
        runs += [*first, *middle, *last]
    return runs


def find_run(experiment: Experiment, run_id: str) -> Run:
    """The planned run of this id."""
    runs = {run.id: run for run in plan(experiment)}
    if run_id not in runs:
        near = difflib.get_close_matches(run_id, runs, n=1)
        raise FlowsweepError(
            f'{experiment.path}: no run is called "{run_id}"',
            found=f'"{run_id}"',
            expected=f"one of {len(runs)} runs, such as {near[0] if near else next(iter(runs))}",
            remedy="flowsweep plan EXPERIMENT.yaml lists them",
        )
    return runs[run_id]


def run_at(experiment: Experiment, settings: dict[str, str]) -> Run:
    """A run of the first workload at the baseline, or with axes set."""
    base = baseline_point(experiment)
    changes: dict[str, Any] = {}
    for axis, text in settings.items():
        if axis not in AXES:
            near = difflib.get_close_matches(axis, AXES, n=1)
            raise FlowsweepError(
                f'--set {axis}={text}: no axis is called "{axis}"',
                found=f'"{axis}"',
                expected=f"one of {', '.join(AXES)}",
                remedy=f"did you mean --set {near[0]}={text}?" if near else None,
            )
        value = _PARSERS[axis](text)
        if value < 0 or (value == 0 and axis != "rtt"):
            raise FlowsweepError(
                f"--set {axis}={text}: not possible", found=f'"{text}"', expected="more than 0"
            )
        changes[AXES[axis]] = value
    point = replace(base, **changes)
    workload = experiment.workloads[0]
    return Run(
        id=_slug(workload, point, base, "r1"),
        experiment=experiment,
        workload=workload,
        point=point,
        repetition=1,
        block=1,
        baseline=point == base,
        warmup=False,
    )
