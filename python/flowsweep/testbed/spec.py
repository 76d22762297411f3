"""The description of one testbed at one point, which the runner passes to the hub."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flowsweep.experiment.workload import QUICKACK

# State inside the private mount namespace. Short: MPI puts Unix sockets (108 bytes) below it.
STATE = Path("/run")
NETNS = STATE / "netns"  # where `ip netns` looks
HOST_NAMES = STATE / "uts"
SCRIPTS = STATE / "bin"
LOGS = STATE / "log"
BESIDE_OUTPUT = STATE / "beside.json"  # the app.json of the program beside the run's own
WAN = "wan"  # the namespace of bridges and emulator

EXPERIMENT_NETWORK = "10.77.0.0/16"
MANAGEMENT_NETWORK = "10.99.0.0/16"
HUB_ADDRESS = "10.99.0.1"
EXPERIMENT_INTERFACE = "exp0"
MANAGEMENT_INTERFACE = "mgmt0"

#: Settings of net.ipv4 for every run, which must not depend on metrics of earlier connections.
ALWAYS = {"tcp_no_metrics_save": "1", "tcp_slow_start_after_idle": "1"}


@dataclass(frozen=True)
class HostSpec:
    """One host: `address` on the experiment network, `mgmt_address` on the other."""

    name: str
    site: str
    address: str
    mgmt_address: str
    mac: str

    @property
    def namespace(self) -> Path:
        """Its network namespace."""
        return NETNS / self.name


@dataclass(frozen=True)
class LinkSpec:
    """The path between two sites; `back`: the direction from b to a, if it differs.

    `rtt_ns` is the RTT that the emulator adds, half in each direction. Rate and queue are those
    of each of the parallel `links`. `codel_ns`: target and interval; None: drop-tail.
    `loss_burst`: mean frames lost in a row; None: independent losses. None as rate: no limit.
    """

    a: str
    b: str
    rtt_ns: int
    rate_bit_s: float | None
    queue_bytes: int
    queue_packets: int | None = None
    codel_ns: tuple[int, int] | None = None
    loss: float = 0.0
    loss_burst: float | None = None
    jitter_ns: int = 0
    jitter_law: str = "normal"
    reorder: bool = False
    duplicate: float = 0.0
    links: int = 1
    hash: str = "layer3+4"
    back: LinkSpec | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LinkSpec:
        """Makes a link from the JSON values of its fields."""
        back = data["back"]
        return cls(**{**data, "back": None if back is None else cls.from_json(back)})

    @property
    def delay_ns(self) -> int:
        """Delay of one direction: half of the RTT."""
        return self.rtt_ns // 2

    @property
    def idle_scatter_ns(self) -> int:
        """How far two measurements of the idle RTT may differ because of jitter.

        Two standard deviations of each direction. Where order is kept, each probe waits for the
        slowest before it: with a normal distribution of 12.8 ms both ways, the least of three
        medians of nine is 1.2 ± 0.6 standard deviations above the path's delay; of 200,000 draws,
        one in ten exceeds two standard deviations, and none exceeds four.
        """
        return sum(2 * way.jitter_ns for way in (self, self.back or self))


@dataclass(frozen=True)
class UplinkSpec:
    """The access line of a site, each way."""

    rate_bit_s: float
    queue_bytes: int
    links: int = 1


@dataclass(frozen=True)
class ChangeSpec:
    """The state of a link from some time of the program on; `changed` names its changed fields."""

    at_ns: int
    link: LinkSpec
    changed: list[str]


@dataclass(frozen=True)
class ServerSpec:
    """A server command on these hosts: see `experiment.workload.Server`."""

    command: str
    hosts: list[str]
    port: int | None
    wait_ns: int


@dataclass(frozen=True)
class BesideSpec:
    """The program beside the run's own; its fields mean the same as those of `Spec`."""

    app: str
    start: str
    ranks: list[str]
    program: list[str]
    problem: str


@dataclass(frozen=True)
class LimitsSpec:
    """The disturbance up to which a run is valid: see `experiment.measuring.Limits`.

    None: not checked.
    """

    other_programs: float = 0.6
    cpu_pressure: float | None = 0.9
    lateness_ns: int = 1_000_000
    lateness_share: float = 0.05

    def latest_ns(self, rtt_ns: int) -> int:
        """Returns how late the emulator may deliver at p99, on a link of this RTT."""
        return max(self.lateness_ns, round(self.lateness_share * rtt_ns))


@dataclass(frozen=True)
class Spec:
    """Hosts, paths and TCP settings; what to capture; where to write results.

    None for buffers or congestion control means the kernel's default.
    """

    hosts: list[HostSpec]
    links: list[LinkSpec]
    uplinks: dict[str, UplinkSpec] = field(default_factory=dict)  # by site
    schedule: list[ChangeSpec] = field(default_factory=list)
    backend: str = "auto"
    overhead: bool = False  # include what Ethernet adds to a frame
    fates: bool = False
    buffer_bytes: int | None = None
    congestion: str | None = None
    tcp: dict[str, str] = field(default_factory=dict)  # see `experiment.workload.Workload`
    limits: LimitsSpec = LimitsSpec()
    seed: int = 1
    snaplen: int = 262_144
    capture_filter: str = ""
    capture_buffer_bytes: int = 32 * 2**20
    folder: str = ""
    timeout_s: float = 120.0
    # "mpirun" starts the ranks; for "hosts" we start one per entry of `ranks`, for "hub" one there.
    start: str = "mpirun"
    ranks: list[str] = field(default_factory=list)  # the host of each rank
    program: list[str] = field(default_factory=list)  # the program of the ranks, or of the shell
    servers: list[ServerSpec] = field(default_factory=list)  # run as long as the program
    problem: str = "{}"  # JSON, for the environment of a command
    output: str = ""  # where the program writes app.json
    beside: BesideSpec | None = None
    # First and last TCP port on which MPI listens; None: Open MPI chooses.
    mpi_ports: tuple[int, int] | None = None

    @property
    def is_command(self) -> bool:
        """Whether a shell runs it; its output is then kept, as nothing else shows what it did."""
        return self.program[:2] == ["/bin/sh", "-c"]

    @property
    def asked_settings(self) -> dict[str, str]:
        """The settings of net.ipv4 that give a host the requested TCP."""
        settings = {name: value for name, value in self.tcp.items() if name != QUICKACK}
        if self.buffer_bytes is None:
            return settings
        sizes = f"{min(self.buffer_bytes, 4096)} {self.buffer_bytes} {self.buffer_bytes}"
        return {"tcp_rmem": sizes, "tcp_wmem": sizes, **settings}

    @property
    def route_options(self) -> str:
        """The options of a host's routes for its connections, in the syntax of `ip route`."""
        words = [] if self.congestion is None else [f"congctl {self.congestion}"]
        if QUICKACK in self.tcp:
            words.append(f"{QUICKACK} {self.tcp[QUICKACK]}")
        return " ".join(words)

    @property
    def sites(self) -> list[str]:
        """Sites in the order of their first host."""
        return list(dict.fromkeys(host.site for host in self.hosts))

    @property
    def ways(self) -> list[LinkSpec]:
        """Both directions of every link, at the start and after each change of the schedule."""
        links = [*self.links, *(change.link for change in self.schedule)]
        return [*links, *(link.back for link in links if link.back is not None)]

    @property
    def longest_rtt_ns(self) -> int:
        """The longest RTT of any link, at any time of the run."""
        return max(way.rtt_ns for way in self.ways)

    @property
    def shortest_rtt_ns(self) -> int:
        """The shortest RTT of any link at the start."""
        return min(link.rtt_ns for link in self.links)

    @property
    def longest_drain_s(self) -> float:
        """The longest time that a full queue takes to drain, at any time of the run."""
        lines: list[LinkSpec | UplinkSpec] = [*self.ways, *self.uplinks.values()]
        return max(
            (line.queue_bytes * 8 / line.rate_bit_s for line in lines if line.rate_bit_s),
            default=0.0,
        )

    def at(self, site: str) -> list[HostSpec]:
        """Returns the hosts of one site."""
        return [host for host in self.hosts if host.site == site]

    def link(self, one: str, other: str) -> LinkSpec:
        """Returns the link of two sites, in either order."""
        return next(link for link in self.links if {link.a, link.b} == {one, other})

    def way(self, origin: str, destination: str) -> LinkSpec:
        """Returns one direction of a link."""
        link = self.link(origin, destination)
        return link if link.a == origin or link.back is None else link.back

    def path_rate_bit_s(self, origin: str, destination: str) -> float | None:
        """Returns the maximum rate of a flow between two sites: one link, through both uplinks."""
        ends = (origin, destination)
        rates = [self.uplinks[site].rate_bit_s for site in ends if site in self.uplinks]
        rate = self.way(*ends).rate_bit_s
        return min([*rates, *([rate] if rate is not None else [])], default=None)

    def to_json(self) -> str:
        """Returns the text that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """Makes a description from the text of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        hosts = [HostSpec(**host) for host in data.pop("hosts")]
        links = [LinkSpec.from_json(link) for link in data.pop("links")]
        limits = LimitsSpec(**data.pop("limits"))
        uplinks = {site: UplinkSpec(**line) for site, line in data.pop("uplinks").items()}
        schedule = [
            ChangeSpec(change["at_ns"], LinkSpec.from_json(change["link"]), change["changed"])
            for change in data.pop("schedule")
        ]
        beside = data.pop("beside")
        data["beside"] = None if beside is None else BesideSpec(**beside)
        data["servers"] = [ServerSpec(**server) for server in data["servers"]]
        return cls(
            hosts=hosts, links=links, limits=limits, uplinks=uplinks, schedule=schedule, **data
        )
