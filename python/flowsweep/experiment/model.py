"""The pydantic models of an experiment file; they also make its JSON schema.

Attributes hold base units (ns, bit/s, bytes); the file holds text with units.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from flowsweep import units
from flowsweep.errors import FlowsweepError

if TYPE_CHECKING:
    from flowsweep.experiment.plan import Run

NAME_PATTERN = (
    r"^[a-z][a-z0-9-]{0,9}$"  # an interface name is at most 15 bytes, and we put a prefix
)
RESERVED_NAMES = frozenset({"hub", "wan", "mgmt", "localhost"})
MIN_QUEUE_BYTES = 128 * 1024


def _refused(what: str, found: str | None, expected: str | None) -> PydanticCustomError:
    """A fault with the parts of a `FlowsweepError`; `load` adds the place."""
    parts = {"what": what, "found": found, "expected": expected}
    return PydanticCustomError("refused", "{what}", parts)


def _quantity(parse: Callable[[Any], Any], *, zero: str | None) -> Callable[[Any], Any]:
    """A pydantic validator around a parser of `units`; `zero` says why 0 is refused."""

    def check(text: object) -> object:
        try:
            value = parse(text)
        except FlowsweepError as error:
            raise _refused(error.what, error.found, error.expected) from None
        if value < 0 or (value == 0 and zero is not None):
            reason = zero if value == 0 else "a negative value has no meaning"
            raise _refused(f'"{text}" is not possible here', f'"{text}"', f"more than 0: {reason}")
        return value

    return check


def _text(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


_NUMBER = r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? ?"
Time = Annotated[
    int,
    BeforeValidator(_quantity(units.parse_time, zero=None)),
    _text(_NUMBER + "(ns|us|µs|ms|s|min|h)$", "16ms"),
]
Duration = Annotated[
    int,
    BeforeValidator(_quantity(units.parse_time, zero="nothing happens in no time")),
    _text(_NUMBER + "(ns|us|µs|ms|s|min|h)$", "60s"),
]
Rate = Annotated[
    float,
    BeforeValidator(_quantity(units.parse_rate, zero="a link of rate 0 carries nothing")),
    _text(_NUMBER + "[kMG]?bit/s$", "100Mbit/s"),
]
Size = Annotated[
    int,
    BeforeValidator(_quantity(units.parse_size, zero="nothing fits into 0 bytes")),
    _text(_NUMBER + "([kMG]|[KMG]i)?B$", "256KiB"),
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Link(_Model):
    """The emulated path between every pair of sites, at the baseline point."""

    rtt_ns: Time = Field(
        500_000, alias="rtt", description="Round-trip time added between two sites."
    )
    rate_bit_s: Rate = Field(
        1e9, alias="rate", description="Rate of each direction; frames without FCS are counted."
    )
    queue_bytes: Size | None = Field(
        None,
        alias="queue",
        description="Drop-tail queue of each direction. "
        "Default: the bandwidth-delay product, at least 128 KiB.",
    )


class Tcp(_Model):
    """TCP of every host; what is not given is the kernel's default, set explicitly."""

    congestion_control: str | None = Field(
        None, description="reno, cubic, bbr: what the kernel offers. Default: the kernel's."
    )
    buffer_bytes: Size | None = Field(
        None, alias="buffer", description="Send and receive buffer of a socket, fixed."
    )


class Workload(_Model):
    """One program with one problem size."""

    app: str = Field(description="A folder of capture/workloads.", pattern=r"^[a-z][a-z0-9_]*$")
    name: str = Field(
        "",
        description="What the report calls it, and the prefix of run ids. Default: the app.",
        pattern=r"^([a-z][a-z0-9_]*)?$",
    )
    problem: dict[str, int | float | str | bool] = Field(
        default_factory=dict, description="Parameters of the app: see its README."
    )
    compute: Literal["busy", "paced"] = Field(
        "paced",
        description="busy: ranks really compute. paced: they wait as long as computing would take, "
        "so that many hosts fit on few cores.",
    )
    ranks_per_host: int = Field(1, ge=1, le=64, description="Worker ranks on each host.")

    @model_validator(mode="before")
    @classmethod
    def _name_defaults_to_app(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("name") and isinstance(data.get("app"), str):
            return {**data, "name": data["app"]}
        return data


class Axes(_Model):
    """Values that are swept. The baseline value need not be repeated."""

    rtt: list[Time] = Field(default_factory=list, description="Round-trip times between sites.")
    rate: list[Rate] = Field(default_factory=list, description="Rates of the links.")
    queue: list[Size] = Field(default_factory=list, description="Queues of the links.")
    buffer: list[Size] = Field(default_factory=list, description="Socket buffers.")

    @field_validator("*")
    @classmethod
    def _no_value_twice(cls, values: list[float]) -> list[float]:
        for value in values:
            if values.count(value) > 1:
                raise _refused(f"{value:g} is listed twice", "two equal values", "each value once")
        return values


class Capture(_Model):
    """Settings of the capture agent on every host."""

    snaplen: int = Field(128, ge=64, le=262_144, description="Bytes kept of each packet.")
    filter: str = Field("", description="A BPF filter; empty takes everything.")
    buffer_bytes: Size = Field(
        32 * 2**20, alias="buffer", description="Ring between kernel and agent."
    )


class Analysis(_Model):
    """Settings of the tables."""

    bin_ns: Duration = Field(10_000_000, alias="bin", description="Bin of the throughput table.")


@dataclass(frozen=True)
class Host:
    """One emulated host: addresses on the experiment and on the management network."""

    name: str
    site: str
    address: str
    mgmt_address: str
    mac: str


class Experiment(_Model):
    """A distributed program, the emulated network below it, and what is varied."""

    title: str = Field("", description="A line for the head of the report.")
    sites: dict[str, list[str]] = Field(
        default_factory=dict, description="Hosts of each site, by name."
    )
    link: Link = Field(default_factory=Link)
    tcp: Tcp = Field(default_factory=Tcp)
    workloads: list[Workload] = Field(
        default_factory=list, alias="workload", description="One program, or a list of them."
    )
    axes: Axes = Field(default_factory=Axes)
    design: Literal["one-at-a-time", "grid"] = Field(
        "one-at-a-time",
        description="Vary one axis at a time from the baseline, or every combination.",
    )
    repetitions: int = Field(3, ge=1, le=1000, description="Runs of each point.")
    retries: int = Field(
        2,
        ge=0,
        le=100,
        description="Further tries of a run that is invalid; the last one is kept, with its reason "
        "and those of the tries before.",
    )
    warmup: int = Field(1, ge=0, le=100, description="Runs before the first that counts.")
    seed: int = Field(1, ge=0, description="Seed of the random order and of the emulator.")
    timeout_ns: Duration = Field(
        120 * 10**9, alias="timeout", description="A run that takes longer has failed."
    )
    capture: Capture = Field(default_factory=Capture)
    analysis: Analysis = Field(default_factory=Analysis)
    captured: Path | None = Field(
        None,
        description="Folder with runs/<run>/ recorded earlier: nothing is run, only analysed.",
    )

    _path: Path = PrivateAttr(default=Path())
    _name: str = PrivateAttr(default="")

    @field_validator("workloads", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @field_validator("sites")
    @classmethod
    def _hosts_are_unique(cls, sites: dict[str, list[str]]) -> dict[str, list[str]]:
        seen: dict[str, str] = {}
        for site, hosts in sites.items():
            for name in [site, *hosts]:
                if not re.match(NAME_PATTERN, name) or name in RESERVED_NAMES:
                    raise _refused(
                        f'"{name}" cannot be the name of a site or host',
                        f'"{name}"',
                        "up to 10 of a-z, 0-9 and -, beginning with a letter; "
                        f"not {', '.join(sorted(RESERVED_NAMES))}",
                    )
            if not hosts:
                raise _refused(f'site "{site}" has no hosts', "an empty list", "at least one host")
            for name in hosts:
                if name in seen:
                    raise _refused(
                        f'host "{name}" is named twice',
                        f"it is in {seen[name]} and in {site}",
                        "each host in one place",
                    )
                seen[name] = site
        return sites

    @model_validator(mode="after")
    def _is_complete(self) -> Experiment:
        if self.captured is None and len(self.sites) < 2:
            raise _refused(
                f"there are {len(self.sites)} sites",
                f"{len(self.sites)} under `sites`",
                "two or more, such as `west: [pc1, pc2]`; or `captured: FOLDER`",
            )
        if self.captured is None and not self.workloads:
            raise _refused("there is no workload", "nothing under `workload`", "an app to run")
        names = [workload.name for workload in self.workloads]
        for name in names:
            if names.count(name) > 1:
                raise _refused(
                    f'workload "{name}" is there twice', "two of this name", "a `name` for each"
                )
        return self

    @property
    def path(self) -> Path:
        """The file it was read from."""
        return self._path

    @property
    def name(self) -> str:
        """Results go to results/<name>/: the file name without .yaml."""
        return self._name

    @property
    def timeout_s(self) -> float:
        """The time limit of one run in seconds."""
        return self.timeout_ns / 1e9

    @property
    def bin_ns(self) -> int:
        """Bin of the throughput table."""
        return self.analysis.bin_ns

    @property
    def hosts(self) -> list[Host]:
        """All hosts in file order, with their addresses."""
        found: list[Host] = []
        for site_index, (site, names) in enumerate(self.sites.items(), start=1):
            for host_index, name in enumerate(names, start=1):
                number = len(found) + 2  # the hub has .1
                found.append(
                    Host(
                        name=name,
                        site=site,
                        address=f"10.77.{site_index}.{host_index}",
                        mgmt_address=f"10.99.{number // 256}.{number % 256}",
                        mac=f"02:77:00:00:{site_index:02x}:{host_index:02x}",
                    )
                )
        return found

    def plan(self) -> list[Run]:
        """All runs in the order in which they are made (see `plan`)."""
        from flowsweep.experiment import plan

        return plan.plan(self)

    def find_run(self, run_id: str) -> Run:
        """The planned run of this id."""
        from flowsweep.experiment import plan

        return plan.find_run(self, run_id)

    def run_at(self, settings: dict[str, str]) -> Run:
        """A run at the baseline, or as set: {"rtt": "16ms"}."""
        from flowsweep.experiment import plan

        return plan.run_at(self, settings)
