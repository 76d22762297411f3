"""The words of a report: on a sweep, or on captures alone, which are no points of one."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Terms:
    """Words that headings and captions share.

    Attributes:
        per_point: What each panel or row of a figure stands for.
        point: The noun for one of them.
        whole: The title of a panel with all runs of a point.
        at_all: Where everything was counted.
        scope: Which flows are counted, after "with payload" or "of a flow".
        between: The same after a number of messages.
        run: The noun for a run that is used.
        series: What colours distinguish.
    """

    per_point: str
    point: str
    whole: str
    at_all: str
    scope: str
    between: str
    run: str
    series: str


SWEEP = Terms(
    per_point="per point of the sweep",
    point="point",
    whole="all runs of the point in the title together",
    at_all=" at all points",
    scope=" between the sites (all, where there is one site)",
    between="between the sites (all, where there is one site) of",
    run="valid run",
    series="applications",
)
#: The words if every run has hosts at several sites.
BETWEEN_SITES = replace(SWEEP, scope=" between the sites", between="between the sites of")
CAPTURES = Terms(
    per_point="run by run",
    point="run",
    whole="the run in the title",
    at_all="",
    scope="",
    between="of",
    run="run",
    series="runs",
)
