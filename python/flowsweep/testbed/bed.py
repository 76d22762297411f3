"""The description of one testbed at one point, as the runner hands it to the hub."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# State inside the private mount namespace. Short: MPI puts Unix sockets (108 bytes) below.
STATE = Path("/run")
NETNS = STATE / "netns"  # where `ip netns` looks
HOST_NAMES = STATE / "uts"
SCRIPTS = STATE / "bin"
LOGS = STATE / "log"
WAN = "wan"  # the namespace of bridges and emulator

EXPERIMENT_NETWORK = "10.77.0.0/16"
MANAGEMENT_NETWORK = "10.99.0.0/16"
HUB_ADDRESS = "10.99.0.1"
EXPERIMENT_INTERFACE = "exp0"
MANAGEMENT_INTERFACE = "mgmt0"


@dataclass(frozen=True)
class BedHost:
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
class Bed:
    """Hosts, path and TCP settings; what to capture; where results go.

    `rtt_ns` is the round trip that the emulator adds, half in each direction.
    None: no rate limit; the kernel's buffers; the kernel's congestion control.
    """

    hosts: list[BedHost]
    rtt_ns: int
    rate_bit_s: float | None
    queue_bytes: int
    buffer_bytes: int | None = None
    congestion_control: str | None = None
    seed: int = 1
    snaplen: int = 262_144
    capture_filter: str = ""
    capture_buffer_bytes: int = 32 * 2**20
    folder: str = ""
    timeout_s: float = 120.0
    ranks: list[str] = field(default_factory=list)  # the host of each rank
    program: list[str] = field(default_factory=list)  # the program that ranks run, or the shell's

    @property
    def sites(self) -> list[str]:
        """Sites in the order of their first host."""
        return list(dict.fromkeys(host.site for host in self.hosts))

    def at(self, site: str) -> list[BedHost]:
        """The hosts of one site."""
        return [host for host in self.hosts if host.site == site]

    def to_json(self) -> str:
        """The text that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Bed:
        """A description from the text of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        hosts = [BedHost(**host) for host in data.pop("hosts")]
        return cls(hosts=hosts, **data)
