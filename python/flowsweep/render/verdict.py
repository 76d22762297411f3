"""Writes the sentences that open the report: the thresholds, and what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowsweep import numbers
from flowsweep.analysis.need import ESTIMATED
from flowsweep.analysis.slowdown import MIN_RUNS
from flowsweep.lists import join_words, shorten_list
from flowsweep.outcome_names import COMPLETION
from flowsweep.render import (
    outcome_words,
    threshold_words,
    verdict_axes,
    verdict_groups,
    verdict_lightpaths,
    verdict_limits,
    verdict_need,
    verdict_time,
)
from flowsweep.render.markup import plain

MAX_APPS = 4
# The columns that link a row of `requirement` to its thresholds.
POINT = ("app", "problem", "outcome", "buffer_bytes")


# The name of a problem, its row of `requirement`, and its rows of `thresholds`.
Varied = tuple[str, dict[str, Any], list[dict[str, Any]]]


@dataclass(frozen=True)
class Verdict:
    """The conclusions of a sweep.

    Attributes:
        sentences: The answer, one or two sentences for each application.
        unknown: What the sweep leaves open, in short clauses.
        assumed: What its intervals assume, in short clauses.
    """

    sentences: Sequence[str]
    unknown: Sequence[str]
    assumed: Sequence[str]

    @property
    def first(self) -> str:
        """The first sentence without markup, for the terminal."""
        return plain(self.sentences[0]) if self.sentences else ""


def verdict(
    thresholds: Sequence[dict[str, Any]],
    requirements: Sequence[dict[str, Any]],
    labels: dict[tuple[str, str], str],
    runs: Sequence[dict[str, Any]] = (),
    *,
    beside: Sequence[dict[str, Any]] = (),
    others: Sequence[dict[str, Any]] = (),
    lightpaths: Sequence[dict[str, Any]] = (),
    needs: Sequence[dict[str, Any]] = (),
    times: Sequence[dict[str, Any]] = (),
    has_sites: bool = True,
) -> Verdict:
    """Writes the sentences for all applications.

    Args:
        thresholds: Rows of the query `thresholds`.
        requirements: Rows of the query `requirement`.
        labels: Name of each application and problem, in the order of the report.
        runs: Rows of the query `run_table`, for the reasons why none is valid.
        beside: Rows of the query `side_by_side`, for what variants change.
        others: Rows of the query `axis_thresholds`, for the axes other than RTT and rate.
        lightpaths: Rows of the query `lightpaths`.
        needs: Rows of the query `need`.
        times: Rows of the query `time_shares`.
        has_sites: Whether lightpaths are between sites; if not, between hosts.
    """
    without_interval, orders = [], list(labels)
    rows = sorted(requirements, key=lambda row: orders.index((row["app"], row["problem"])))
    varied: list[Varied] = []
    fixed: list[dict[str, Any]] = []
    for row in rows:
        own_rows = [one for one in thresholds if all(one[name] == row[name] for name in POINT)]
        own = [run for run in runs if (run["app"], run["problem"]) == (row["app"], row["problem"])]
        is_traffic = any(run["is_traffic_used"] for run in own)
        if not own_rows and (
            row["baseline_value"] is not None or (is_traffic and not _is_varied(own))
        ):
            fixed.append(row)
        else:
            varied.append((labels[row["app"], row["problem"]], row, own_rows))
    apps = _by_application(varied)
    sentences: list[str] = []
    for outcomes in list(apps.values())[:MAX_APPS]:
        for place, varied_rows in enumerate(outcomes.values()):
            is_whole = len(apps) == 1 and place == 0
            found = _about(varied_rows, runs, beside, is_whole=is_whole)
            # An application without usable runs gets the same sentence for each of its outcomes.
            sentences += [text for text in found if text not in sentences]
    if len(apps) > MAX_APPS:
        more = len(apps) - MAX_APPS
        subject = "1 more application is" if more == 1 else f"{more} more applications are"
        sentences.append(f"{subject} in the table below.")
    for label, _, own_rows in varied:
        if any(one["noise"] == "own" and one["runs_beside"] < MIN_RUNS for one in own_rows):
            without_interval.append(label)
    fixed = _first_outcomes(fixed)
    if fixed:
        sentences.append(_not_varied(_names(fixed, labels, apps)))
        sentences += _variants_of(fixed, labels, beside)
    sentences += verdict_axes.sentences(others, labels)
    sentences += verdict_need.sentences(needs, labels)
    sentences += verdict_time.sentences(times, labels)
    if words := verdict_lightpaths.sentence(lightpaths, labels, has_sites=has_sites):
        sentences.append(words)
    return Verdict(
        sentences or ["There is nothing to conclude from: these tables hold no runs."],
        verdict_limits.unknown(
            thresholds,
            _first_outcomes(rows),
            without_interval,
            list(dict.fromkeys(_not_crossed(varied, runs))),
        ),
        verdict_limits.assumed(thresholds, labels, needs),
    )


def _first_outcomes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the first row of each application and problem."""
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        first.setdefault((row["app"], row["problem"]), row)
    return list(first.values())


def _not_crossed(varied: Sequence[Varied], runs: Sequence[dict[str, Any]]) -> list[str]:
    """Names the applications whose RTT and rate were varied, but never both at once."""
    found = []
    for label, row, own_rows in varied:
        if {one["axis"] for one in own_rows} != {"rtt", "rate"}:
            continue
        own = [run for run in runs if (run["app"], run["problem"]) == (row["app"], row["problem"])]
        bases = [run for run in own if run["is_baseline"]]
        crossed = bases and any(
            run["is_used"]
            and all(run[axis] != bases[0][axis] for axis in ("rtt_asked_ms", "rate_asked_mbit_s"))
            for run in own
        )
        if not crossed:
            found.append(label)
    return found


def _about(
    outcomes: Sequence[Varied],
    runs: Sequence[dict[str, Any]],
    beside: Sequence[dict[str, Any]],
    *,
    is_whole: bool,
) -> list[str]:
    """Describes an outcome of an application: its main problem, other problems, its variants."""
    label, row, own = outcomes[0]
    called = verdict_groups.name(row["app"], label, len(outcomes))
    if row["baseline_value"] is None:
        found = [_no_baseline(called, row, runs)]
    else:
        found = _application(called, row, own)
        found = found if is_whole else [_join(found)]
    if len(outcomes) > 1:
        others = [one for _, _, rows in outcomes[1:] for one in rows]
        found.append(verdict_groups.others(len(outcomes) - 1, others))
    words = verdict_groups.variants(_select(row, beside))
    return [*found, words] if words else found


def _select(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Selects rows of the same application, problem and outcome."""
    names = ("app", "problem", "outcome")
    return [one for one in others if all(one[name] == row[name] for name in names)]


def _by_application(varied: Sequence[Varied]) -> dict[str, dict[str, list[Varied]]]:
    """Groups the problems by application and outcome; the one with most runs comes first."""
    found: dict[str, dict[str, list[Varied]]] = {}
    for one in varied:
        outcomes = found.setdefault(one[1]["app"], {})
        outcomes.setdefault(one[1]["outcome"], []).append(one)
    for outcomes in found.values():
        for varied_rows in outcomes.values():
            varied_rows.sort(
                key=lambda one: (one[1]["baseline_value"] is None, -one[1]["runs_used"])
            )
    return found


def _names(
    fixed: Sequence[dict[str, Any]],
    labels: dict[tuple[str, str], str],
    varied: Mapping[str, object],
) -> list[str]:
    """Names each application whose RTT and rate were not varied."""
    by_app: dict[str, list[str]] = {}
    for row in fixed:
        by_app.setdefault(row["app"], []).append(labels[row["app"], row["problem"]])
    return [
        named[0]
        if len(named) == 1
        else f"{app} with {len(named)} {'other ' if app in varied else ''}problems"
        for app, named in by_app.items()
    ]


def _variants_of(
    fixed: Sequence[dict[str, Any]],
    labels: dict[tuple[str, str], str],
    beside: Sequence[dict[str, Any]],
) -> list[str]:
    """States what variants change for applications whose network was not varied."""
    found = []
    for row in fixed[:MAX_APPS]:
        if words := verdict_groups.variants(_select(row, beside)):
            label = labels[row["app"], row["problem"]]
            found.append(f"**{label}**: i{words[1:]}")
    return found


def _join(clauses: Sequence[str]) -> str:
    """Joins clauses to one sentence, without that on 50 %, which the table has."""
    kept = [text.removesuffix(".") for text in clauses if not text.startswith(outcome_words.SEVERE)]
    first, *more = kept
    return "; ".join([first, *(text[:1].lower() + text[1:] for text in more)]) + "."


def _is_varied(runs: Sequence[dict[str, Any]]) -> bool:
    """Returns whether these rows of `run_table` have several RTTs or rates."""
    points = {(run["rtt_asked_ms"], run["rate_asked_mbit_s"]) for run in runs}
    return len(points) > 1


def _not_varied(labels: list[str]) -> str:
    named = join_words(shorten_list([f"**{label}**" for label in labels], MAX_APPS), "; ")
    need = "it needs" if len(labels) == 1 else "they need"
    text = f"sent, not what {need}: neither RTT nor rate was varied"
    return f"These runs show what {named} {text}."


def _no_baseline(label: str, row: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    """States why there is nothing to compare with; the first run at the baseline is the example."""
    if any(
        run["is_traffic_used"]
        for run in runs
        if run["is_baseline"] and (run["app"], run["problem"]) == (row["app"], row["problem"])
    ):
        is_time = row["outcome"] == COMPLETION
        has = "has a completion time" if is_time else f"reports {row['outcome']}"
        return (
            f"What **{label}** needs cannot be determined: no run at the baseline {has}. "
            "These runs show what it sent."
        )
    reasons = [
        f" ({run['run']}: {run['reason']})"
        for run in runs
        if run["is_baseline"]
        and not run["is_warmup"]
        and run["reason"]
        and (run["app"], run["problem"]) == (row["app"], row["problem"])
    ]
    why = reasons[0] if reasons else ""
    return f"Nothing can be said about **{label}**: no run is valid at the baseline{why}."


def _application(label: str, row: dict[str, Any], app_rows: list[dict[str, Any]]) -> list[str]:
    name = f"**{label}**"
    by = {(one["axis"], one["level"] < 1.3): one for one in app_rows}
    axes = [axis for axis in threshold_words.AXES if (axis, True) in by]
    if row["baseline_packets"] == 0:
        return [f"Nothing can be said about {name}: its captures at the baseline hold no packet."]
    if row["crossing_packets"] == 0:
        why = "no packet crossed between the sites: the network between them cannot matter to it"
        return [f"Nothing can be said about {name}, as {why}."]
    buffer = row["buffer_bytes"]
    found = []
    first = {axis: by[axis, True] for axis in axes}
    known_axes = [axis for axis in axes if first[axis]["state"] in ESTIMATED]
    if known_axes:
        needs = [
            threshold_words.need(first[axis], is_first=axis == known_axes[0]) for axis in known_axes
        ]
        end = (
            outcome_words.word_tolerated(row)
            if "rtt" in known_axes
            else outcome_words.word_kept(row)
        )
        sockets = f", with socket buffers of {numbers.size(buffer)}" if buffer else ""
        found.append(f"{name} {' and '.join(needs)} {end}{sockets}.")
    never = [axis for axis in axes if first[axis]["state"] == "never"]
    if never:
        ranges = [threshold_words.within(first[axis]) for axis in never]
        stayed = outcome_words.word_stayed(row, name, is_named=bool(known_axes))
        found.append(f"{stayed} {', and '.join(ranges)}: no limit was reached.")
    others = [first[axis] for axis in axes if axis not in known_axes and axis not in never]
    found += threshold_words.exceptions(name, others)
    severe = [threshold_words.severe(by[axis, False]) for axis in axes if (axis, False) in by]
    known_severe = [text for text in severe if text]
    if known_severe and (known_axes or never):
        found.append(f"{outcome_words.word_severe(row)} {' and '.join(known_severe)}.")
    return found
