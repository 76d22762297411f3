"""Compares two experiments point by point: the table `against_points`.

Two points match if application, problem and the requested values of all axes agree. An axis that
has a single value in each experiment, but not the same one, is what the comparison is about, such
as the congestion control: it does not distinguish points. Nor does a queue that follows from the
other axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowsweep.analysis.ratios import Ratio, ratios
from flowsweep.experiment import axes

Row = dict[str, Any]
Key = tuple[Any, ...]

NOTE = (
    "points of this experiment and of another: ratio of the medians of each outcome with its "
    "95 % interval (flowsweep.analysis.ratios)"
)
ASKED = [column.asked for column in axes.columns()]
QUEUE = axes.AXES["queue"].columns[0].asked
COLUMNS = {
    "against": "varchar",
    "side": "varchar",
    "app": "varchar",
    "problem": "varchar",
    "outcome": "varchar",
    "better": "varchar",
    "point": "bigint",
    "other_point": "bigint",
    "is_baseline": "boolean",
    "label": "varchar",
    "ratio": "double",
    "low": "double",
    "high": "double",
    "noise": "varchar",
    "noise_reason": "varchar",
    "value": "double",
    "other_value": "double",
    "completion_s": "double",
    "other_s": "double",
    "runs_used": "bigint",
    "other_runs": "bigint",
    "differs": "varchar",
    **{
        name: "varchar" if column.kind == "varchar" else "double"
        for column in axes.columns()
        for name in (column.asked, column.measured)
        if name is not None
    },
}


@dataclass(frozen=True)
class Outcome:
    """An outcome that is compared; one name in two units makes two outcomes."""

    name: str
    unit: str
    better: str


@dataclass(frozen=True)
class Side:
    """One of the two experiments.

    Attributes:
        points: Rows of the model `points`, mildest first.
        runs: `app, problem, point, outcome, unit, better, value, cost, completion_s` of each used
            run, in the order of outcomes; `value` is None for an outcome that the run lacks.
    """

    points: Sequence[Row]
    runs: Sequence[Row]

    def outcomes(self) -> dict[Key, list[Outcome]]:
        """Returns the outcomes of each application and problem."""
        found: dict[Key, dict[Outcome, None]] = {}
        for run in self.runs:
            found.setdefault((run["app"], run["problem"]), {})[_outcome(run)] = None
        return {key: list(ones) for key, ones in found.items()}

    def collect(self, outcome: Outcome, column: str) -> dict[int, list[float]]:
        """Collects a column by point, from the runs that have the outcome."""
        found: dict[int, list[float]] = {}
        for run in self.runs:
            is_there = run["value"] is not None and run[column] is not None
            if is_there and _outcome(run) == outcome:
                found.setdefault(run["point"], []).append(run[column])
        return found

    def costs(self, outcome: Outcome) -> dict[int, list[float]]:
        """Returns costs, which grow as an outcome gets worse, of points with all values above 0."""
        values = self.collect(outcome, "value")
        costs = self.collect(outcome, "cost")
        return {point: costs[point] for point, own in values.items() if min(own) > 0}


def _outcome(run: Row) -> Outcome:
    return Outcome(run["outcome"], run["unit"], run["better"])


def rows(this: Side, its: Side, name: str) -> list[Key]:
    """Returns the rows of the table: for each outcome this side's points, then the other's alone.

    Args:
        this: This experiment.
        its: The other experiment.
        name: Name of the other experiment.
    """
    differs = _find_differing(this.points, its.points)
    left_out = {*differs, *([QUEUE] if _is_queue_implied(this) and _is_queue_implied(its) else [])}
    text = "; ".join(
        f"{column}: {_show_values(a)}, {_show_values(b)}" for column, (a, b) in differs.items()
    )
    here, there = (_index_points(side.points, left_out) for side in (this, its))
    # Where both have the application and problem, the outcomes of this experiment are used.
    outcomes_by_group = its.outcomes() | this.outcomes()
    found: list[Row] = []
    for outcome in dict.fromkeys(one for ones in outcomes_by_group.values() for one in ones):
        values, other_values = (side.collect(outcome, "value") for side in (this, its))
        times, other_times = (side.collect(outcome, "completion_s") for side in (this, its))
        compared = _compare(here, there, this.costs(outcome), its.costs(outcome))
        for key in [*here, *(key for key in there if key not in here)]:
            if outcome not in outcomes_by_group[key[:2]]:
                continue
            a, b = here.get(key), there.get(key)
            shown: Row = a or b or {}
            ratio = compared.get(key)
            found.append({
                **{column: shown.get(column) for column in COLUMNS},
                "against": name,
                "side": "both" if a and b else "here" if a else "there",
                "outcome": outcome.name,
                "better": outcome.better,
                "point": a["point"] if a else None,
                "other_point": b["point"] if b else None,
                "ratio": ratio.value if ratio else None,
                "low": ratio.low if ratio else None,
                "high": ratio.high if ratio else None,
                "noise": ratio.noise if ratio else None,
                "noise_reason": ratio.reason if ratio else None,
                "value": _median(values, a),
                "other_value": _median(other_values, b),
                "completion_s": _median(times, a),
                "other_s": _median(other_times, b),
                "runs_used": len(values.get(a["point"], ())) if a else 0,
                "other_runs": len(other_values.get(b["point"], ())) if b else 0,
                "differs": text or None,
            })  # fmt: skip
    return [tuple(row[column] for column in COLUMNS) for row in found]


def _compare(
    here: Mapping[Key, Row],
    there: Mapping[Key, Row],
    costs: Mapping[int, Sequence[float]],
    other_costs: Mapping[int, Sequence[float]],
) -> dict[Key, Ratio]:
    """Returns the ratio of each shared point; noise is pooled per application and problem."""
    found: dict[Key, Ratio] = {}
    for group in dict.fromkeys(key[:2] for key in here):
        ends: dict[tuple[str, int], Sequence[float]] = {}
        for side, points, own in (("here", here, costs), ("there", there, other_costs)):
            for key, point in points.items():
                if key[:2] == group and point["point"] in own:
                    ends[side, point["point"]] = own[point["point"]]
        shared = [
            key
            for key in here
            if key[:2] == group
            and key in there
            and ("here", here[key]["point"]) in ends
            and ("there", there[key]["point"]) in ends
        ]
        pairs = [(("here", here[key]["point"]), ("there", there[key]["point"])) for key in shared]
        found |= dict(zip(shared, ratios(ends, pairs), strict=True))
    return found


def _index_points(points: Sequence[Row], left_out: set[str]) -> dict[Key, Row]:
    """Indexes points by the values that distinguish them; of equal points it keeps the first."""
    kept = [column for column in ASKED if column not in left_out]
    found: dict[Key, Row] = {}
    for point in points:
        key = (point["app"], point["problem"], *(_round(point[column]) for column in kept))
        found.setdefault(key, point)
    return found


def _find_differing(this: Sequence[Row], its: Sequence[Row]) -> dict[str, tuple[Any, Any]]:
    """Finds axes that have a single value in each experiment, but not the same one."""
    found = {}
    for column in ASKED:
        here, there = ({_round(row[column]) for row in rows} for rows in (this, its))
        if len(here) == len(there) == 1 and here != there:
            found[column] = (*here, *there)
    return found


def _is_queue_implied(side: Side) -> bool:
    """Returns whether the queue follows from the other axes."""
    others = [column for column in ASKED if column != QUEUE]
    keys = {
        (row["app"], row["problem"], *(row[column] for column in others)) for row in side.points
    }
    return len(keys) == len(side.points)


def _round(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _show_values(value: Any) -> str:
    if value is None:
        return "unset"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _median(times: Mapping[int, Sequence[float]], point: Row | None) -> float | None:
    import statistics

    own = times.get(point["point"], ()) if point else ()
    return statistics.median(own) if own else None
