"""The pydantic model of a whole experiment file; its JSON schema is generated from it.

Attributes are in base units (ns, bit/s, bytes); the file contains text with units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import consistency, limit, points, refined, testbeds
from flowsweep.experiment.axes import NAMES
from flowsweep.experiment.measuring import Analysis, Capture, Emulation, Flows, Limits
from flowsweep.experiment.network import Change, Link, Pair, Sites, Tcp
from flowsweep.experiment.quantities import NAME, Duration, Model, VariantName
from flowsweep.experiment.workload import Axes, Workload
from flowsweep.units import counted
from flowsweep.validation import refused

if TYPE_CHECKING:
    from flowsweep.experiment.run import Run

# Each pair of sites has a link.
MOST_SITES = 64
RESERVED_NAMES = frozenset({"hub", "wan", "mgmt", "localhost"})


Paper = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*$")]


@dataclass(frozen=True)
class Host:
    """One emulated host, with its addresses on the experiment and management networks."""

    name: str
    site: str
    address: str
    mgmt_address: str
    mac: str


class Experiment(Model):
    """A distributed program, the emulated network below it, and what is varied."""

    title: str = Field("", description="A line for the head of the report.")
    papers: list[Paper] = Field(
        default_factory=list,
        description="The papers whose numbers stand beside these, by their folders in "
        "reports/papers.",
    )
    need: limit.Needs = Field(
        default_factory=dict,
        description="Absolute limits of outcomes, by name: `{p99_latency: '< 10 ms'}`. The verdict "
        "says at which points they are kept.",
    )
    sites: Sites = Field(default_factory=dict, description="Hosts of each site, by name.")
    link: Link = Field(default_factory=Link)
    pairs: list[Pair] = Field(
        default_factory=list,
        description="Pairs of sites with a link of their own; axes do not change what is given.",
    )
    schedule: list[Change] = Field(
        default_factory=list, description="Changes of links while the program runs."
    )
    schedules: dict[VariantName, list[Change]] = Field(
        default_factory=dict,
        description="Such changes by name, for the axis `schedule`; each stands in place of "
        "`schedule`.",
    )
    testbed: testbeds.Testbed = Field(default_factory=testbeds.default)
    emulation: Emulation = Field(default_factory=Emulation)
    tcp: Tcp = Field(default_factory=Tcp)
    workloads: list[Workload] = Field(
        default_factory=list, alias="workload", description="One program, or a list of them."
    )
    axes: Axes = Field(default_factory=Axes)
    design: Literal["one-at-a-time", "grid"] | list[list[str]] = Field(
        "one-at-a-time",
        description="Vary one axis at a time from the baseline, or every combination, or every "
        "combination within each of some groups: [[rtt, loss], [rtt, jitter]]. A group may keep an "
        "axis at one value: [[beside, rate=8Mbit/s]].",
    )
    repetitions: int = Field(3, ge=1, le=1000, description="Runs of each point.")
    refine: int = Field(
        0,
        ge=0,
        le=8,
        description="Passes after the sweep: each adds, between the tried points on both sides of "
        "every threshold that are further apart than 1.5 times, the one that halves the bracket "
        "(in the logarithm), with as many runs as other points. Two passes make 1.41 of 4 times.",
    )
    retries: int = Field(
        4,
        ge=0,
        le=100,
        description="Further tries of a run that is invalid; the last one is kept, with its reason "
        "and those of the tries before.",
    )
    warmup: int = Field(1, ge=0, le=100, description="Runs before the first that counts.")
    seed: int = Field(
        1,
        ge=0,
        le=2**63 - 1,
        description="Seed of the random order and, with the name of a run, of what flowsweep-wan "
        "draws in it; netem draws on its own.",
    )
    timeout_ns: Duration = Field(
        120 * 10**9, alias="timeout", description="A run that takes longer has failed."
    )
    limits: Limits = Field(default_factory=Limits)
    capture: Capture = Field(default_factory=Capture)
    analysis: Analysis = Field(default_factory=Analysis)
    flows: Flows = Field(default_factory=Flows)
    captured: Path | None = Field(
        None,
        description="Folder with runs/<run>/ recorded earlier: nothing is run, only analysed.",
    )

    _path: Path = PrivateAttr(default=Path())
    _name: str = PrivateAttr(default="")
    _refined: list[list[refined.Point]] = PrivateAttr(default_factory=list)

    @field_validator("workloads", mode="before", json_schema_input_type=Workload | list[Workload])
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @field_validator("papers")
    @classmethod
    def _papers_are_known(cls, papers: list[str]) -> list[str]:
        known = sorted(path.parent.name for path in content.papers())
        for name in papers:
            if name not in known:
                raise refused(
                    f'no paper is called "{name}"', f'"{name}"', f"some of {', '.join(known)}"
                )
        return papers

    @field_validator("sites")
    @classmethod
    def _limit_sites(cls, sites: Sites) -> Sites:
        if len(sites) > MOST_SITES:
            raise refused("too many sites", counted(len(sites), "site"), f"at most {MOST_SITES}")
        return sites

    @field_validator("sites")
    @classmethod
    def _hosts_are_unique(cls, sites: Sites) -> Sites:
        seen: dict[str, str] = {}
        for site, described in sites.items():
            for name in [site, *described.hosts]:
                if not re.fullmatch(NAME, name) or name in RESERVED_NAMES:
                    raise refused(
                        f'"{name}" cannot be the name of a site or host',
                        f'"{name}"',
                        "up to 10 of a-z, 0-9 and -, beginning with a letter; "
                        f"not {', '.join(sorted(RESERVED_NAMES))}",
                    )
            for name in described.hosts:
                if name in seen:
                    raise refused(
                        f'host "{name}" is named twice',
                        f"it is in {seen[name]} and in {site}",
                        "each host in one place",
                    )
                seen[name] = site
        return sites

    @field_validator("design")
    @classmethod
    def _groups_name_axes(cls, design: str | list[list[str]]) -> str | list[list[str]]:
        for text in [text for group in design for text in group] if design != str(design) else []:
            try:
                points.member(text)
            except FlowsweepError as error:
                raise refused(error.what, error.found, error.expected) from None
        return design

    @model_validator(mode="after")
    def _is_consistent(self) -> Experiment:
        consistency.check(self)
        return self

    def axes_of(self, workload: Workload) -> dict[str, list[Any]]:
        """Returns the axes that have values; a workload's values replace the common ones."""
        values = {**self.axes.given(), **workload.axes.given()}
        values |= {"variant": list(workload.variants)} if workload.variants else {}
        return {name: values[name] for name in NAMES if name in values}

    @property
    def path(self) -> Path:
        """The file from which it was read."""
        return self._path

    @property
    def name(self) -> str:
        """The file name without .yaml; the results are in results/<name>/."""
        return self._name

    @property
    def refined(self) -> list[list[refined.Point]]:
        """The chosen points of each pass of refinement; empty if no folder of runs was given."""
        return self._refined

    @property
    def timeout_s(self) -> float:
        """The time limit of one run in seconds."""
        return self.timeout_ns / 1e9

    @property
    def bin_ns(self) -> int:
        """The bin length of the throughput table in ns."""
        return self.analysis.bin_ns

    @property
    def hosts(self) -> list[Host]:
        """All hosts in file order, with their addresses."""
        hosts: list[Host] = []
        for site_index, (site, described) in enumerate(self.sites.items(), start=1):
            for host_index, name in enumerate(described.hosts, start=1):
                number = len(hosts) + 2  # the hub's address is .1
                hosts.append(
                    Host(
                        name=name,
                        site=site,
                        address=self.testbed.address_of(name) or f"10.77.{site_index}.{host_index}",
                        mgmt_address=f"10.99.{number // 256}.{number % 256}",
                        mac=f"02:77:00:00:{site_index:02x}:{host_index:02x}",
                    )
                )
        return hosts

    def hosts_of(self, workload: Workload, per_site: int) -> list[Host]:
        """Returns the hosts that take part in a workload: at most `per_site` of each site."""
        chosen = {
            name
            for site, described in self.sites.items()
            for name in described.hosts[: workload.count_hosts(site, per_site)]
        }
        return [host for host in self.hosts if host.name in chosen]

    def plan(self) -> list[Run]:
        """Returns all runs in execution order (see `plan`)."""
        from flowsweep.experiment import plan

        return plan.plan(self)

    def find_run(self, run_id: str) -> Run:
        """Returns the planned run with this id."""
        from flowsweep.experiment import plan

        return plan.find_run(self, run_id)

    def run_at(self, settings: dict[str, str]) -> Run:
        """Returns a run at the baseline, or with axes set: {"rtt": "16ms"}."""
        from flowsweep.experiment import plan

        return plan.run_at(self, settings)
