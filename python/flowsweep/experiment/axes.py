"""The axes of a sweep: each has one entry here, which defines all of its properties.

The entries define the fields of `axes:` in an experiment file and their JSON schema, `--set`,
the names of runs, the keys of `axes` in run.json, the columns of the tables, their descriptions
and their labels in the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from flowsweep import units
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.axis import Axis, Column
from flowsweep.experiment.quantities import (
    CONGESTION,
    NAME,
    VARIANT,
    WORKLOAD,
    Congestion,
    Jitter,
    JitterText,
    Rate,
    Share,
    SiteName,
    Size,
    Time,
    VariantName,
    WorkloadName,
)
from flowsweep.files import inputs

if TYPE_CHECKING:
    from flowsweep.experiment.model import Experiment
    from flowsweep.experiment.workload import Workload


def count(text: str) -> int:
    """Parses an integer of at least 1."""
    if not re.fullmatch(r"[0-9]{1,6}", text.strip()) or int(text) == 0:
        raise FlowsweepError(
            f'"{text}" is not a number of things', found=f'"{text}"', expected="1, 2, 3 ..."
        )
    return int(text)


def _name(pattern: str, what: str, examples: str) -> Callable[[str], str]:
    """Returns a parser of names, which strips spaces and checks the pattern."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text.strip()):
            raise FlowsweepError(f'"{text}" is not {what}', found=f'"{text}"', expected=examples)
        return text.strip()

    return read


congestion = _name(CONGESTION, "a congestion control", "reno, cubic, bbr")
variant = _name(VARIANT, "the name of a variant", "such as no-flush")
site = _name(NAME, "the name of a site", "such as west")
schedule = _name(VARIANT, "the name of a schedule", "such as at-start")
workload_name = _name(WORKLOAD, "the name of a workload", "such as jigsaw")


def _recorded_count(text: str | float) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", str(text)):
        raise FlowsweepError(
            f'"{text}" is not a number of things', found=f'"{text}"', expected="1, 2, 3 ..."
        )
    return int(text)


def _recorded_name(text: object) -> str:
    if not isinstance(text, str) or not re.fullmatch(r"[!-~]{1,64}", text):
        found = inputs.shorten_value(text)
        raise FlowsweepError(f"{found} is not a name", found=found, expected='such as "cubic"')
    return text


def _recorded_jitter(text: str | float) -> int | float:
    """Parses a jitter of run.json: nanoseconds, or a share of the delay, "20%"."""
    if str(text).strip().endswith("%"):
        return units.parse_fraction(text)
    return units.parse_time(text)


def _per_site(experiment: Experiment, workload: Workload) -> int:
    counts = (
        workload.count_hosts(name, len(site.hosts)) for name, site in experiment.sites.items()
    )
    return max(counts, default=0)


def _per_host(_: Experiment, workload: Workload) -> int | None:
    return workload.ranks_per_host if workload.ranks is None else None


_LIST = (
    Axis(
        "rtt", "rtt_ns", Time, "Round-trip times between sites.",
        units.parse_time, lambda value: f"{value / 1e6:.6g}ms", "link",
        (Column(
            "rtt_asked_ms", "RTT asked for, ms", "rtt_asked_ns", "bigint", 1e6,
            "rtt_ms", "RTT measured, ms, median over the runs; asked where nothing was measured",
            "rtt_measured_ns", number="estimate", words="{} ms", unset="RTT unset",
            head="RTT", unit="ms",
        ),),
        lambda experiment, _: experiment.link.rtt_ns,
        may_be_zero=True, mildest="least", label="round-trip time",
    ),
    Axis(
        "rate", "rate_bit_s", Rate, "Rates of the links.",
        units.parse_rate, units.format_rate, "link",
        (Column(
            "rate_asked_mbit_s", "rate asked for, Mbit/s", "rate_asked_bit_s", "double", 1e6,
            "rate_mbit_s", "rate of the link, Mbit/s, measured", "rate_measured_bit_s",
            number="estimate", words="{} Mbit/s", unset="no limit", head="rate", unit="Mbit/s",
        ),),
        lambda experiment, _: experiment.link.rate_bit_s,
        mildest="most", label="rate of the link",
    ),
    Axis(
        "loss", "loss", Share, "Shares of frames lost.",
        units.parse_fraction, lambda value: f"{100 * value:.6g}%", "link",
        (Column(
            "loss", "share of packets lost on purpose, asked for", "loss", "double",
            number="share", words="{} loss", unset="no loss", head="loss",
        ),),
        lambda experiment, _: experiment.link.loss,
        raw_measured="loss_measured", may_be_zero=True, mildest="least",
    ),
    Axis(
        "jitter", "jitter", JitterText, "Standard deviations of the delay: 0.5ms, or 20% of it.",
        Jitter.parse, str, "link",
        (
            Column(
                "jitter_ms", "jitter asked for, ms", "jitter_ns", "bigint", 1e6,
                words="jitter {} ms", unset="no jitter", head="jitter", unit="ms",
            ),
            Column(
                "jitter_share", "jitter asked for, as a share of the one-way delay",
                "jitter_share", "double",
                number="share", words="jitter {}", unset="no jitter", head="jitter",
            ),
        ),
        lambda experiment, _: experiment.link.jitter,
        read=_recorded_jitter, may_be_zero=True, mildest="least",
    ),
    Axis(
        "links", "links", int, "Numbers of parallel links.",
        count, str, "link",
        (Column(
            "links", "parallel links between the sites", "links", "bigint",
            number="count", noun="link", head="links",
        ),),
        lambda experiment, _: experiment.link.links,
        read=_recorded_count,
    ),
    Axis(
        "queue", "queue_bytes", Size, "Queues of the links.",
        units.parse_size, units.format_size, "link",
        (Column(
            "queue_bytes", "queue of the link, bytes", "queue_bytes", "bigint",
            number="size", words="{} queue", head="queue", unit="bytes",
        ),),
        lambda experiment, _: experiment.link.queue_bytes,
        mildest="most",
    ),
    Axis(
        "buffer", "buffer_bytes", Size, "Socket buffers.",
        units.parse_size, units.format_size, "sockets",
        (Column(
            "buffer_bytes", "socket buffer, bytes; null for the kernel's default",
            "buffer_bytes", "bigint",
            number="size", words="{} buffers", unset="default buffers", head="buffer", unit="bytes",
        ),),
        lambda experiment, _: experiment.tcp.buffer_bytes,
        mildest="most",
    ),
    Axis(
        "congestion", "congestion", Congestion, "Congestion controls: reno, cubic, bbr.",
        congestion, str, "sockets",
        (Column(
            "congestion", "congestion control", "congestion", "varchar",
            number="text", head="congestion",
        ),),
        lambda experiment, _: experiment.tcp.congestion_control,
        read=_recorded_name,
    ),
    Axis(
        "variant", "variant", VariantName, "Variants of the application's parameters, by name.",
        variant, str, "workload",
        (Column(
            "variant", "variant of the application, by its name; null without one",
            "variant", "varchar",
            number="text", unset="no variant", head="variant",
        ),),
        lambda _, __: None,
        read=_recorded_name, is_listed=False,
    ),
    Axis(
        "hosts", "hosts", int, "Hosts per site: the first so many of each.",
        count, str, "sites",
        (Column(
            "hosts_per_site", "hosts of a site", "hosts_per_site", "bigint",
            number="count", noun="host", words="{} a site", head="hosts a site",
        ),),
        _per_site,
        read=_recorded_count, moves=("ranks",),
    ),
    Axis(
        "ranks", "ranks", int, "Worker ranks in all, spread evenly over sites and hosts.",
        count, str, "workload",
        (Column(
            "ranks", "ranks of the application", "ranks", "bigint",
            number="count", noun="rank", head="ranks",
        ),),
        lambda _, workload: workload.ranks,
        read=_recorded_count, moves=("ranks_per_host",),
    ),
    Axis(
        "ranks_per_host", "ranks_per_host", int, "Worker ranks per host.",
        count, str, "workload",
        (Column(
            "ranks_per_host", "ranks per host", "ranks_per_host", "bigint",
            number="count", noun="rank", words="{} a host", head="ranks a host",
        ),),
        _per_host,
        read=_recorded_count, moves=("ranks",),
    ),
    Axis(
        "placement", "placement", SiteName,
        "Sites at which all ranks run, as many as over all sites: one cluster beside the grid.",
        site, str, "workload",
        (Column(
            "placement", "the one site at which all ranks run; null for ranks at all sites",
            "placement", "varchar",
            number="text", words="all at {}", unset="over all sites", head="placement",
        ),),
        lambda _, __: None,
        read=_recorded_name, moves=("ranks_per_host",),
    ),
    Axis(
        "schedule", "schedule", VariantName,
        "Names of `schedules`: links that change while the program runs.",
        schedule, str, "link",
        (Column(
            "schedule", "schedule of the links' changes, by its name; null without one",
            "schedule", "varchar",
            number="text", words="links {}", unset="links as they are", head="schedule",
        ),),
        lambda _, __: None,
        read=_recorded_name,
    ),
    Axis(
        "beside", "beside", WorkloadName,
        "Workloads of the file that run beside it on the same hosts, one at a time.",
        workload_name, str, "workload",
        (Column(
            "beside_app", "application that ran beside it on the same hosts; null for none",
            "beside_app", "varchar",
            number="text", words="beside {}", unset="alone", head="beside",
        ),),
        lambda _, __: None,
        read=_recorded_name,
    ),
)  # fmt: skip

#: Every axis by its name, in the order of a run's id. `problem`, the application's parameters, is
#: swept like them but has no entry, because it has no single unit.
AXES = {axis.name: axis for axis in _LIST}
NAMES = (*AXES, "problem")
#: The keys of `axes:`.
LISTED = (*(axis.name for axis in _LIST if axis.is_listed), "problem")
#: Axes that only an emulated link can have.
LINK_AXES = tuple(axis.name for axis in _LIST if axis.applies_to == "link")
#: Axes that distinguish lines of completion times by their columns; they come first in the
#: points. The models compare all other axes as one text, `other_axes`.
ON_LINES = ("rtt", "rate", "buffer", "queue")


def in_points() -> Iterator[Axis]:
    """Yields the axes in the order of the points' columns."""
    yield from (AXES[name] for name in ON_LINES)
    yield from (axis for axis in _LIST if axis.name not in ON_LINES)


def columns() -> list[Column]:
    """Returns all columns of the axes, in the order of the points."""
    return [column for axis in in_points() for column in axis.columns]


def names_in_points() -> list[str]:
    """Returns the names of the axes' columns in the points, asked and measured."""
    names = [(column.asked, column.measured) for column in columns()]
    return [name for pair in names for name in pair if name is not None]


def raw_columns() -> dict[str, str]:
    """Returns the columns of `runs` for the axes, in base units, and their SQL types."""
    found: dict[str, str] = {}
    for axis in in_points():
        for column in axis.columns:
            for name in (column.raw, column.raw_measured):
                if name is not None:
                    found[name] = column.kind
        if axis.raw_measured is not None:
            found[axis.raw_measured] = axis.columns[0].kind
    return found
