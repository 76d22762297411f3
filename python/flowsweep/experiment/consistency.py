"""Checks that the parts of an experiment file are consistent; each check raises if not."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from flowsweep.experiment import beside, points, testbeds
from flowsweep.experiment.axes import AXES
from flowsweep.experiment.workload import QUICKACK
from flowsweep.units import counted
from flowsweep.validation import refused

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.network import Link

# Half a year at 5 minutes each.
MOST_RUNS = 50_000


def check(experiment: Experiment) -> None:
    """Raises an error for the first fault of the file."""
    _check_completeness(experiment)
    _check_pairs(experiment)
    _check_hosts(experiment)
    _check_axes(experiment)
    _check_length(experiment)
    _check_bursts(experiment)
    _check_names(experiment)
    _check_named_hosts(experiment)
    _check_testbed(experiment)


def _check_completeness(experiment: Experiment) -> None:
    """Checks that the file has what a run needs, and that no two workloads share a name."""
    if experiment.captured is None and len(experiment.sites) < 2:
        raise refused(
            f"{counted(len(experiment.sites), 'site')} cannot be a network",
            f"{len(experiment.sites)} under `sites`",
            "two or more, such as `west: [pc1, pc2]`; or `captured: FOLDER`",
        )
    if experiment.captured is None and not experiment.workloads:
        raise refused("there is no workload", "nothing under `workload`", "an app to run")
    names = [workload.name for workload in experiment.workloads]
    for name in names:
        if names.count(name) > 1:
            raise refused(
                f'workload "{name}" is there twice', "two of this name", "a `name` for each"
            )


def _check_pairs(experiment: Experiment) -> None:
    """Checks that pairs and changes name two sites of the file, and that no pair is repeated."""
    listed = [experiment.schedule, *experiment.schedules.values()]
    changed = [change.between for changes in listed for change in changes]
    for ends in [*(pair.between for pair in experiment.pairs), *changed]:
        for end in ends or ():
            _check_site(end, experiment.sites)
        if ends is not None and ends[0] == ends[1]:
            raise refused(f'"{ends[0]}" has no link to itself', str(ends), "two sites")
    pairs = [frozenset(pair.between) for pair in experiment.pairs]
    for pair in pairs:
        if pairs.count(pair) > 1:
            both = " and ".join(sorted(pair))
            raise refused(f"the pair {both} is there twice", "two entries", "one for each pair")


def _check_hosts(experiment: Experiment) -> None:
    """Checks that the sites have the hosts that a workload needs, and that these form a network."""
    for workload in experiment.workloads:
        for site, count in (workload.hosts or {}).items():
            _check_site(site, experiment.sites)
            if count > (most := len(experiment.sites[site].hosts)):
                what = f"{workload.name}: {site} has {counted(most, 'host')}"
                raise refused(what, f"hosts: {{{site}: {count}}}", f"at most {most}")
        if workload.hosts is not None and len(workload.hosts) < 2 and experiment.captured is None:
            raise refused(
                f"{workload.name}: {counted(len(workload.hosts), 'site')} cannot be a network",
                f"{len(workload.hosts)} under its `hosts`",
                "hosts of two sites or more",
            )


def _check_site(name: str, known: Collection[str]) -> None:
    if name not in known:
        sites = ", ".join(known)
        raise refused(f'no site is called "{name}"', f'"{name}"', f"one of {sites}")


def _check_axes(experiment: Experiment) -> None:
    """Checks that the names and counts in the axes' values are possible in this file."""
    for workload in experiment.workloads:
        axes = experiment.axes_of(workload)
        most_hosts = AXES["hosts"].baseline(experiment, workload)
        for count in axes.get("hosts", []):
            if count > most_hosts:
                what = f"hosts: no site has {counted(count, 'host')}"
                raise refused(what, str(count), f"at most {most_hosts}")
        for site in axes.get("placement", []):
            _check_site(site, workload.hosts or experiment.sites)
        for name in axes.get("schedule", []):
            if name not in experiment.schedules:
                names = ", ".join(experiment.schedules) or "none; the file has no `schedules`"
                raise refused(f'no schedule is called "{name}"', f'"{name}"', f"one of {names}")
        for name in axes.get("beside", []):
            beside.check(name, experiment.workloads)
        are_ranks_set = workload.ranks is not None or "ranks" in axes
        if are_ranks_set and "ranks_per_host" in axes:
            raise refused(
                f"{workload.name}: ranks are counted in two ways",
                "`ranks` and `ranks_per_host`",
                "one of them",
            )


def _check_length(experiment: Experiment) -> None:
    """Checks that the plan does not have too many runs."""
    runs = 0
    for workload in experiment.workloads if experiment.captured is None else []:
        runs_per_round = points.most_points(experiment, workload) + 2
        runs += runs_per_round * experiment.repetitions + experiment.warmup
    if runs > MOST_RUNS:
        raise refused(
            "too many runs",
            f"{runs:,} of all workloads, points and repetitions",
            f"at most {MOST_RUNS:,}; fewer values, or groups of axes as the `design`",
        )


def _check_bursts(experiment: Experiment) -> None:
    """Checks each loss against the length of bursts that another place of the file sets."""
    for workload in experiment.workloads if experiment.captured is None else []:
        base = points.baseline(experiment, workload)
        every = [base, *points.list_points(experiment, workload)]
        # One point stands for all others with its loss and changes.
        distinct = {(point.loss, point.schedule): point for point in every}
        for point in distinct.values():
            for link in _list_links(experiment, point):
                link.check_bursts()


def _list_links(experiment: Experiment, point: points.Point) -> Iterator[Link]:
    """Yields the links of a point, with what pairs, ways back and changes set, one by one."""
    changes = experiment.schedules.get(point.schedule or "", experiment.schedule)
    common = point.link(experiment.link)
    own = {frozenset(pair.between): pair for pair in experiment.pairs}
    for ends in itertools.combinations(experiment.sites, 2):
        pair = own.get(frozenset(ends))
        link = common.model_copy(update=pair.given()) if pair else common
        yield link
        if pair and pair.back:
            yield link.model_copy(update=pair.back.given())
        for change in sorted(changes, key=lambda change: change.at_ns):
            if change.between is None or set(change.between) == set(ends):
                link = link.model_copy(update=change.given())
                yield link


def _check_names(experiment: Experiment) -> None:
    """Checks that no two points of a workload share a name, as their runs share a folder then."""
    for workload in experiment.workloads:
        base = points.baseline(experiment, workload)
        named: dict[str, points.Point] = {}
        for point in [base, *points.list_points(experiment, workload)]:
            name = points.slug(point, base)
            if name in named:
                pairs = zip(
                    (*named[name].values, named[name].problem),
                    (*point.values, point.problem),
                    strict=True,
                )
                differ = [f"{one} and {other}" for one, other in pairs if repr(one) != repr(other)]
                raise refused(
                    f'two points are called "{name}"',
                    "; ".join(differ),
                    "values that also differ in the names of their runs",
                )
            named[name] = point


def _check_named_hosts(experiment: Experiment) -> None:
    """Checks that the hosts that a workload names take part in every run."""
    for workload in experiment.workloads if experiment.captured is None else []:
        fewest = min(experiment.axes_of(workload).get("hosts", [len(experiment.hosts)]))
        taking_part = [host.name for host in experiment.hosts_of(workload, fewest)]
        for name in workload.named_hosts:
            if name not in [host.name for host in experiment.hosts]:
                raise refused(
                    f'no host is called "{name}"', f'"{name}"', f"some of {', '.join(taking_part)}"
                )
            if name not in taking_part:
                raise refused(
                    f'host "{name}" takes no part in every run',
                    f"an axis `hosts` with {fewest}",
                    f"some of {', '.join(taking_part)}, which do",
                )


def _check_testbed(experiment: Experiment) -> None:
    """Checks that the testbed supports the workloads and axes."""
    names = [name for site in experiment.sites.values() for name in site.hosts]
    axes = {workload.name: experiment.axes_of(workload) for workload in experiment.workloads}
    experiment.testbed.check(names, axes)
    for workload in experiment.workloads:
        if QUICKACK in workload.tcp and experiment.testbed.kind != testbeds.DEFAULT:
            raise refused(
                f"{workload.name}: routes of real machines stay as they are",
                f"`tcp: {{{QUICKACK}: ...}}`",
                "a testbed of network namespaces",
            )
        if "beside" in axes[workload.name] and experiment.testbed.kind != testbeds.DEFAULT:
            raise refused(
                "axes: two programs run beside each other in network namespaces alone",
                f"`testbed: {{kind: {experiment.testbed.kind}}}` and an axis `beside`",
                "a testbed of network namespaces, or no such axis",
            )
