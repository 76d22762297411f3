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
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import points
from flowsweep.experiment.axes import AXES, OF_LINK
from flowsweep.files import inputs
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment, Host
    from flowsweep.experiment.network import Link
    from flowsweep.experiment.points import Point
    from flowsweep.experiment.workload import Workload


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

    @property
    def hosts(self) -> list[Host]:
        """The hosts that take part."""
        return self.experiment.hosts_at(self.point.hosts)

    @property
    def sites(self) -> dict[str, list[str]]:
        """The names of its hosts by site."""
        found: dict[str, list[str]] = {}
        for host in self.hosts:
            found.setdefault(host.site, []).append(host.name)
        return found

    @cached_property
    def links(self) -> dict[tuple[str, str], Link]:
        """The link of each pair of sites: the point's, with what the pair has of its own."""
        common = self.point.link(self.experiment.link)
        own = {frozenset(pair.between): pair for pair in self.experiment.pairs}
        found = {}
        for ends in itertools.combinations(self.experiment.sites, 2):
            pair = own.get(frozenset(ends))
            if pair is None:
                found[ends] = common
            else:
                found[pair.between] = common.model_copy(update=pair.given())
        return found

    @property
    def ways_back(self) -> dict[tuple[str, str], Link]:
        """The direction from the second site to the first, where it differs."""
        return {
            pair.between: self.links[pair.between].model_copy(update=pair.back.given())
            for pair in self.experiment.pairs
            if pair.back is not None
        }

    @property
    def workers(self) -> dict[str, int]:
        """Worker ranks of each host that has some, in the order of hosts.

        A total is dealt out like cards: one to the first host of each site in turn, then to
        the second hosts, and so on, so that two ranks of two sites are apart.
        """
        if self.point.ranks is None:
            per_host = self.point.ranks_per_host or 1
            return {host.name: per_host for host in self.hosts}
        rounds = itertools.zip_longest(*self.sites.values())
        turn = [name for group in rounds for name in group if name is not None]
        share, rest = divmod(self.point.ranks, len(turn))
        dealt = {name: share + (index < rest) for index, name in enumerate(turn)}
        return {host.name: dealt[host.name] for host in self.hosts if dealt[host.name]}

    def spec(self) -> dict[str, Any]:
        """Everything that decides the outcome, as JSON values; run.json keeps it."""
        experiment, point = self.experiment, self.point
        axes = {axis: {"asked": text} for axis, text in point.asked().items()}
        real = experiment.testbed.kind == "ssh"
        if real:
            # The links are what they are.
            axes = {axis: asked for axis, asked in axes.items() if axis not in OF_LINK}
        axes["ranks"] = {"asked": str(sum(self.workers.values()))}
        return {
            "run": self.id,
            "experiment": experiment.name,
            "app": self.app,
            "program": self.workload.program,
            "problem": point.parameters,
            "compute": self.workload.compute,
            "ranks_per_host": point.ranks_per_host,
            "axes": axes,
            "queue_bytes": None if real else point.link(experiment.link).effective_queue_bytes,
            "congestion_control": point.congestion,
            "testbed": experiment.testbed.model_dump(mode="json") if real else None,
            "links": [] if real else self._link_specs(),
            "uplinks": {
                site: described.uplink.model_dump(mode="json")
                for site, described in experiment.sites.items()
                if described.uplink is not None
            },
            "schedule": [
                {"at_ns": change.at_ns, "between": change.between, **_json(change.given())}
                for change in experiment.schedule
            ],
            "overhead": experiment.emulation.overhead,
            "where": self.workload.where if self.workload.command else None,
            **self._served(),
            "baseline": self.baseline,
            "warmup": self.warmup,
            "repetition": self.repetition,
            "block": self.block,
            "seed": experiment.seed,
            "sites": self.sites,
            "capture": {
                "snaplen": experiment.capture.snaplen,
                "filter": experiment.capture.filter,
                "buffer_bytes": experiment.capture.buffer_bytes,
            },
            "timeout_s": experiment.timeout_s,
        }

    def _served(self) -> dict[str, Any]:
        """Nothing for a workload without servers: its runs stay those that they were."""
        servers = self.workload.serve
        return {"serve": [server.model_dump(mode="json") for server in servers]} if servers else {}

    def _link_specs(self) -> list[dict[str, Any]]:
        back = {ends: link.model_dump(mode="json") for ends, link in self.ways_back.items()}
        return [
            {"between": list(ends), **link.model_dump(mode="json"), "back": back.get(ends)}
            for ends, link in self.links.items()
        ]

    def spec_hash(self) -> str:
        """16 hex digits over `spec`, its place in the order apart."""
        spec = {key: value for key, value in self.spec().items() if key != "block"}
        text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def summary(self) -> str:
        """Its point in a line: RTT, rate, what is swept, and what is not at its usual value."""
        asked = {**self.point.asked(), "ranks": str(sum(self.workers.values()))}
        swept = self.experiment.axes_of(self.workload)
        always = ("rtt", "rate") if self.experiment.testbed.kind == "namespaces" else ("hosts",)
        words = [
            f"{axis}={text}" for axis, text in asked.items() if axis in always or axis in swept
        ]
        if "problem" in swept:
            words += [f"{key}={value}" for key, value in self.point.parameters.items()]
        return " ".join(words)


def _json(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, int | float | str | None) else str(value)
        for key, value in given.items()
    }


def plan(experiment: Experiment) -> list[Run]:
    """All runs in execution order: warm-up, then the blocks."""
    if experiment.captured is not None:
        return []
    order = random.Random(experiment.seed)  # noqa: S311 - an order, not a secret
    workloads = experiment.workloads
    bases = {workload.name: points.baseline(experiment, workload) for workload in workloads}
    others = {workload.name: points.of_workload(experiment, workload) for workload in workloads}

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
    return runs


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
    """The planned run of this id."""
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
    """A run at the baseline, or with axes set.

    Besides the axes: `workload=NAME` (default: the first), `problem.PARAMETER=JSON`.
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
            changes[points.field_of(axis)] = _axis_value(experiment, axis, text)
    if "ranks" in changes:
        changes["ranks_per_host"] = None
    elif "ranks_per_host" in changes:
        changes["ranks"] = None
    changes["problem"] = points.problem_text(workload.problem, problem)
    point = base.changed(changes)
    return _run(experiment, workload, point, base, 1)


def _value(axis: str, text: str) -> Any:
    """12, true, [1, 2] as JSON reads them; what is no JSON is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    inputs.check_values(f"--set {axis}", {axis: value})
    return value


def _axis_value(experiment: Experiment, axis: str, text: str) -> Any:
    if axis not in AXES:
        near = difflib.get_close_matches(axis, AXES, n=1)
        raise FlowsweepError(
            f'--set {axis}={text}: no axis is called "{axis}"',
            found=f'"{axis}"',
            expected=f"one of {', '.join(AXES)}, problem.PARAMETER, workload",
            remedy=f"did you mean --set {near[0]}={text}?" if near else None,
        )
    value = AXES[axis].parse(text)
    negative = isinstance(value, int | float) and value < 0
    if negative or (not value and not AXES[axis].may_be_zero):
        raise FlowsweepError(
            f"--set {axis}={text}: not possible", found=f'"{text}"', expected="more than 0"
        )
    most = max(len(site.hosts) for site in experiment.sites.values())
    if axis == "hosts" and value > most:
        raise FlowsweepError(
            f"--set {axis}={text}: no site has {counted(value, 'host')}",
            found=text,
            expected=f"at most {most}",
        )
    return value
