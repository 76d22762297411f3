"""The workloads and axes of an experiment file: which programs run and what is varied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)

from flowsweep.experiment import printed
from flowsweep.experiment.axes import AXES, LISTED
from flowsweep.experiment.quantities import Duration, Model, Time, VariantName
from flowsweep.outcome_names import MOST
from flowsweep.validation import refused

#: Where a command is started, besides a list of hosts.
PLACES = ("hosts", "first", "hub", "mpi")


class _Axes(Model):
    """Values that are swept. The baseline value need not be repeated."""

    @field_validator("*")
    @classmethod
    def _no_value_twice(cls, values: list[Any]) -> list[Any]:
        seen = set()
        for value in values:
            key = json.dumps(value, sort_keys=True, default=str)
            if key in seen:
                shown = f"{value:g}" if isinstance(value, int | float) else str(value)
                raise refused(f"{shown} is listed twice", "two equal values", "each value once")
            seen.add(key)
        return values

    @field_validator(
        *(name for name, axis in AXES.items() if axis.value is int), check_fields=False
    )
    @classmethod
    def _at_least_one(cls, values: list[int]) -> list[int]:
        for value in values:
            if value < 1:
                raise refused(f"{value} is not possible here", str(value), "1 or more")
        return values

    def given(self) -> dict[str, list[Any]]:
        """Returns the axes that have values."""
        return {name: getattr(self, name) for name in LISTED if getattr(self, name)}


def _field(kind: Any, description: str) -> Any:
    return (list[kind], Field(default_factory=list, description=description))


_PROBLEM = "Parameters of the app that differ from the workload's `problem`."
if TYPE_CHECKING:
    Axes = _Axes
else:
    Axes = create_model(
        "Axes",
        __base__=_Axes,
        __doc__=_Axes.__doc__,
        **{
            name: _field(axis.value, axis.description)
            for name, axis in AXES.items()
            if axis.is_listed
        },
        problem=_field(dict[str, Any], _PROBLEM),
    )


class Server(Model):
    """A program that serves the workload: started before it, and ended when it has ended."""

    command: str = Field(
        description="Any program, as typed into a shell. It stays in the foreground. Its "
        "environment is that of a workload's command, without a rank and an output.",
        min_length=1,
    )
    hosts: list[str] = Field(description="The hosts on which it is started.", min_length=1)
    port: int | None = Field(
        None,
        ge=1,
        le=65_535,
        description="A TCP or UDP port: what follows is started once each of the hosts has it "
        "open, or fails at the time limit of the run.",
    )
    wait_ns: Time | None = Field(
        None,
        alias="wait",
        description="How long is waited besides. Default: 0.5s without a port, 0s with one.",
    )

    @property
    def waits_ns(self) -> int:
        """Nanoseconds to wait after its start, in addition to the wait for the port."""
        default = 500_000_000 if self.port is None else 0
        return default if self.wait_ns is None else self.wait_ns


def _where(value: object) -> object:
    named = isinstance(value, list) and value and all(isinstance(host, str) for host in value)
    if value not in PLACES and not named:
        found = json.dumps(value, default=str)
        raise refused("where: no such place", found, f"{', '.join(PLACES)}, or a list of hosts")
    return value


Where = Annotated[
    str | list[str],
    BeforeValidator(_where),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(PLACES)},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]


#: Unlike the other settings, it is one of routes.
QUICKACK = "quickack"
TcpSetting = Literal[
    "tcp_sack",
    "tcp_dsack",
    "tcp_recovery",
    "tcp_timestamps",
    "tcp_frto",
    "tcp_early_retrans",
    "quickack",
]


def _canonical(problem: dict[str, Any]) -> str:
    return json.dumps(problem, sort_keys=True, default=str)


class Workload(Model):
    """One program with one problem size: an app of capture/workloads, or any command."""

    app: str | None = Field(
        None, description="A folder of capture/workloads.", pattern=r"^[a-z][a-z0-9_]*$"
    )
    command: str | None = Field(
        None,
        description="Any program, as typed into a shell. Its environment holds FLOWSWEEP_HOSTS "
        "(name=address by commas), FLOWSWEEP_SITES (name=site), FLOWSWEEP_HOST, FLOWSWEEP_RANK, "
        "FLOWSWEEP_RANKS, FLOWSWEEP_PROBLEM (JSON). Its completion time is what it writes as "
        "completion_s into the JSON file $FLOWSWEEP_OUTPUT, else the time that it runs; a list "
        "`outcomes` there holds others.",
        min_length=1,
    )
    where: Where = Field(
        "hosts",
        description="Where a command is started: on every host at once, once for each of its "
        "ranks; mpi: as the ranks of one MPI world (Open MPI), whose messages cross the links, "
        "with what rank 0 takes as the completion time; on the first host; in the hub beside them, "
        "where `on HOST COMMAND` reaches the hosts; or on the hosts of a list.",
    )
    serve: list[Server] = Field(
        default_factory=list,
        description="Servers that the workload needs, one or a list, started in this order.",
    )
    outcomes: printed.Outcomes = Field(
        default_factory=dict,
        description="Outcomes that a command prints, by name: `{tps: {pattern: 'tps = ([0-9.]+)', "
        "unit: 1/s, better: more}}`. They take the place of the time that it runs, unless "
        "`completion_time: measured` is one of them.",
        max_length=MOST,
    )
    name: str = Field(
        "",
        description="What the report calls it, and the prefix of run ids. Default: the app.",
        pattern=r"^([a-z][a-z0-9_]*)?$",
    )
    problem: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of the app: see its README."
    )
    compute: Literal["busy", "paced"] = Field(
        "paced",
        description="busy: ranks really compute. paced: they wait as long as computing would take, "
        "so that many hosts fit on few cores.",
    )
    hosts: dict[str, Annotated[int, Field(ge=1)]] | None = Field(
        None,
        description="How many hosts of each site take part, the first ones of its list: "
        "`{west: 2, east: 1}`. A site that is not named has no part. Default: all hosts.",
    )
    ranks_per_host: int = Field(1, ge=1, le=64, description="Worker ranks on each host.")
    ranks: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="Worker ranks in all, spread evenly over sites and hosts, "
        "instead of `ranks_per_host`.",
    )
    expect_ns: Duration | None = Field(
        None,
        alias="expect",
        description="How long it takes at the baseline, for the estimate before the first run.",
    )
    variants: dict[VariantName, dict[str, Any]] = Field(
        default_factory=dict,
        description="Variants of the program side by side, each a name and the parameters that "
        "differ from `problem`: `no-flush: {flush: false}`. An axis, called variant.",
    )
    tcp: dict[TcpSetting, Annotated[int, Field(ge=0, le=255)]] = Field(
        default_factory=dict,
        description="Settings of net.ipv4 of its hosts: `{tcp_sack: 0}`. `quickack: 1`, of their "
        "routes, makes them acknowledge at once.",
    )
    axes: Axes = Field(
        default_factory=Axes,
        description="Values for this workload, in place of the experiment's for the same axis.",
    )

    @field_validator("serve", mode="before", json_schema_input_type=Server | list[Server])
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="before")
    @classmethod
    def _name_defaults_to_app(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("name"):
            return {**data, "name": data.get("app") or ("command" if "command" in data else "")}
        return data

    @model_validator(mode="after")
    def _one_program(self) -> Workload:
        if (self.app is None) == (self.command is None):
            found = "neither" if self.app is None else "both"
            raise refused("a workload is an app or a command", found, "one of `app` and `command`")
        printed.check(self.outcomes, self.command)
        return self

    @field_validator("variants")
    @classmethod
    def _variants_differ(
        cls, variants: dict[str, dict[str, Any]], info: ValidationInfo
    ) -> dict[str, dict[str, Any]]:
        base = info.data.get("problem", {})
        seen = {_canonical(base): "`problem`"}
        for name, changes in variants.items():
            whole = _canonical({**base, **changes})
            if whole in seen:
                raise refused(
                    f"variant {name} is the same as {seen[whole]}",
                    json.dumps(changes, default=str),
                    "parameters of the app with other values",
                )
            seen[whole] = f"variant {name}"
        return variants

    @property
    def named_hosts(self) -> list[str]:
        """The hosts that it needs by name: those of its servers and those in `where`."""
        serving = [host for server in self.serve for host in server.hosts]
        return [*serving, *(self.where if isinstance(self.where, list) else [])]

    def count_hosts(self, site: str, most: int) -> int:
        """Returns how many hosts of a site take part if at most `most` of each site do."""
        return most if self.hosts is None else min(most, self.hosts.get(site, 0))

    @property
    def program(self) -> str:
        """The app, or the command."""
        return self.app or self.command or ""
