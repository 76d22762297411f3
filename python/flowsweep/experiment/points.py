"""The points of a sweep: each is one setting of all axes."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.axes import AXES, LINK_AXES, NAMES

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.network import Link
    from flowsweep.experiment.workload import Workload

MAX_PROBLEM_SLUG = 60
#: Axes that a group of the design may fix at a value: the network's, except `schedule`.
KEPT = tuple(
    name
    for name, axis in AXES.items()
    if axis.applies_to in ("link", "sockets") and name != "schedule"
)


_PLACES = {axis.field: place for place, axis in enumerate(AXES.values())}


@dataclass(frozen=True)
class Point:
    """One setting of all axes, in base units; `point.rtt_ns` is the value of that field.

    None means the kernel's default (buffer, congestion), the bandwidth-delay product (queue), or
    `ranks_per_host` on every host (ranks). `hosts` is per site.

    Attributes:
        values: The value of each axis, in the order of `AXES`.
        problem: The parameters of the program as JSON, without those of its variant.
    """

    values: tuple[Any, ...]
    problem: str

    def __getattr__(self, field: str) -> Any:
        if field not in _PLACES:
            raise AttributeError(field)
        return self.values[_PLACES[field]]

    def changed(self, changes: dict[str, Any]) -> Point:
        """Returns this point with other values of some fields, which may include `problem`."""
        values = tuple(changes.get(field, self.values[place]) for field, place in _PLACES.items())
        return Point(values, changes.get("problem", self.problem))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the problem, without the changes of its variant."""
        found: dict[str, Any] = json.loads(self.problem)
        return found

    def describe_axes(self) -> dict[str, str]:
        """Returns the axes, without the problem, as text with units, as in run.json."""
        text = {name: axis.text(getattr(self, axis.field)) for name, axis in AXES.items()}
        return {name: value for name, value in text.items() if value is not None}

    def link(self, base: Link) -> Link:
        """Returns the link between sites at this point."""
        fields = [AXES[name].field for name in LINK_AXES]
        known = type(base).model_fields  # `schedule` is an axis but no field of a link
        return base.model_copy(
            update={field: getattr(self, field) for field in fields if field in known}
        )


def is_same(base: dict[str, Any], key: str, value: object) -> bool:
    """Returns whether a parameter has this value as JSON, where 1, 1.0 and true differ."""
    return key in base and json.dumps(base[key]) == json.dumps(value)


def problem_text(base: dict[str, Any], changes: dict[str, Any]) -> str:
    """Returns a problem as canonical JSON: equal problems give equal text."""
    return json.dumps({**base, **changes}, sort_keys=True)


def baseline(experiment: Experiment, workload: Workload) -> Point:
    """Returns the point from which the axes of a workload vary."""
    values = tuple(axis.baseline(experiment, workload) for axis in AXES.values())
    return Point(values, problem_text(workload.problem, {}))


def most_points(experiment: Experiment, workload: Workload) -> int:
    """Returns an upper bound for the number of points that `list_points` returns."""
    values = experiment.axes_of(workload)
    groups = _groups(experiment, [field_of(axis) for axis in values])
    lengths = {field_of(axis): len(listed) + 1 for axis, listed in values.items()}
    return sum(
        math.prod(lengths[field] for field, value in group.items() if value is None)
        for group in groups
    )


def list_points(experiment: Experiment, workload: Workload) -> list[Point]:
    """Returns all points except the baseline, each once, in file order."""
    base = baseline(experiment, workload)
    axes: dict[str, list[Any]] = {}
    for name, values in experiment.axes_of(workload).items():
        if name == "problem":
            axes["problem"] = [problem_text(workload.problem, change) for change in values]
        else:
            axes[AXES[name].field] = values
    found: list[Point] = []
    for group in _groups(experiment, list(axes)):
        # The baseline's value is part of each axis, as a grid combines it with the others.
        full = [
            [getattr(base, field), *axes[field]] if value is None else [value]
            for field, value in group.items()
        ]
        found += [
            base.changed(dict(zip(group, values, strict=True)))
            for values in itertools.product(*full)
        ]
    found = [point.changed({"ranks_per_host": None}) if point.ranks else point for point in found]
    # A total number of ranks can equal a number per host.
    different: dict[Point, Point] = {}
    for point in [base, *found]:
        hosts = experiment.hosts_of(workload, point.hosts)
        total = point.ranks or (point.ranks_per_host or 1) * len(hosts)
        different.setdefault(point.changed({"ranks": total, "ranks_per_host": None}), point)
    return list(different.values())[1:]


def _groups(experiment: Experiment, fields: list[str]) -> list[dict[str, Any]]:
    """Returns the fields that vary together in the design; fixed fields have their value."""
    if experiment.design == "grid":
        return [dict.fromkeys(fields)]
    if isinstance(experiment.design, str):
        return [{field: None} for field in fields]
    named = [
        {
            field_of(axis): value
            for axis, value in map(member, group)
            if value is not None or field_of(axis) in fields
        }
        for group in experiment.design
    ]
    together = {field for group in named for field, value in group.items() if value is None}
    # Drop a group that has only fixed values left: this workload does not vary its other axes.
    return [group for group in named if together & group.keys()] + [
        {field: None} for field in fields if field not in together
    ]


def member(text: str) -> tuple[str, Any]:
    """Parses an axis of a group, with the value at which the group fixes it (`rate=8Mbit/s`).

    Raises:
        FlowsweepError: There is no such axis, or the value is not valid for it.
    """
    axis, is_kept, value = text.partition("=")
    known = KEPT if is_kept else NAMES
    if axis not in known:
        what = f'no axis {"that may be kept " if is_kept else ""}is called "{axis}"'
        raise FlowsweepError(what, found=f'"{text}"', expected=f"some of {', '.join(known)}")
    if not is_kept:
        return axis, None
    kept = AXES[axis].parse(value)
    if isinstance(kept, int | float) and (kept < 0 or not (kept or AXES[axis].may_be_zero)):
        raise FlowsweepError(f"{text} is not possible", found=f'"{text}"', expected="more than 0")
    return axis, kept


def field_of(axis: str) -> str:
    """Returns the attribute of `Point` that an axis sets."""
    return AXES[axis].field if axis in AXES else axis


def slug(point: Point, base: Point) -> str:
    """Returns the differences from the baseline, in characters that file names allow."""
    parts = []
    if point.problem != base.problem:
        parts.append(_problem_slug(point.parameters, base.parameters))
    for name, axis in AXES.items():
        value = getattr(point, axis.field)
        if value is not None and value != getattr(base, axis.field):
            text = axis.format(value).removesuffix("/s").replace("%", "pct")
            spelled = text.replace("-", "_")  # a hyphen separates two parts
            parts.append(f"{name}_{re.sub('[^A-Za-z0-9._]', '', spelled)}")
    return "-".join(parts) or "baseline"


def _problem_slug(problem: dict[str, Any], base: dict[str, Any]) -> str:
    """Returns changed parameters as board_13; a long or unusual name ends with a short hash."""
    changed = {key: value for key, value in problem.items() if not is_same(base, key, value)}
    plain = "-".join(f"{key}_{_shorten_value(value)}" for key, value in changed.items())
    text = re.sub(r"[^A-Za-z0-9._-]", "", plain)
    if text == plain and len(text) <= MAX_PROBLEM_SLUG:
        return text
    digest = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()
    return f"{text[:MAX_PROBLEM_SLUG]}_{digest[:6]}"


def _shorten_value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)
