"""Makes links between nodes: an overlay network, with an emulator between the sites.

    host    exp0 ..... every frame to a host of its own site: straight to that node
                 ..... every other frame: to the node of the emulator
    there   wan-west, wan-east ..... flowsweep-wan forwards from one to the other
       or   vx-west, vx-east ....... in the bridges and disciplines of `testbed.netem`

`exp0`, `wan-<site>` and `vx-<site>` are ends of VXLAN tunnels (RFC 7348): a VNI for each site, and
two ports, so that a node can be a host and also run the emulator. The location of every host is
known in advance, so nothing is flooded or learned, and captures contain only the program's traffic.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import emulation, launch, netem
from flowsweep.testbed import spec as specs
from flowsweep.testbed.machines import keeper
from flowsweep.testbed.machines.machine import Machine
from flowsweep.testbed.machines.spec import MachineSpec

if TYPE_CHECKING:
    from flowsweep.testbed.machines.reach import Links, Reach
    from flowsweep.testbed.slurm.spec import SlurmSpec
    from flowsweep.testbed.spec import Spec

HOST_PORT, EMULATOR_PORT = 24789, 24790  # UDP; the assigned port, 4789, may be in use there
FIRST_NUMBER = 7700  # VNI of the first site
SCRIPT = Path(__file__).with_name("links.sh")
QUIET_LIMIT_S = 5.0


def _numbers(spec: Spec) -> dict[str, int]:
    return {site: FIRST_NUMBER + index for index, site in enumerate(spec.sites)}


def overlay(spec: Spec, machines: list[MachineSpec], emulator: str) -> list[MachineSpec]:
    """Returns the machines with the experiment's addresses and the instructions for their keepers.

    Args:
        spec: Hosts, their sites, and their new addresses.
        machines: The machines with their existing addresses.
        emulator: The existing address of its node.
    """
    unable = netem.find_unable(spec)
    if spec.backend == "netem" and unable:
        raise FlowsweepError(
            "emulation.backend: netem cannot be used",
            found=f"netem cannot do {unable}",
            expected="links that it can make",
            remedy="backend: flowsweep-wan",
        )
    if spec.schedule:
        raise FlowsweepError(
            "schedule: links between nodes do not change while a program runs",
            found="`testbed: {kind: slurm, emulate: true}` and a schedule",
            expected="links that stay as they are",
            remedy="`testbed: {kind: namespaces}`, or no schedule",
        )
    numbers = _numbers(spec)
    found = []
    for host, machine in zip(spec.hosts, machines, strict=True):
        own = f"{numbers[host.site]} {HOST_PORT} {machine.address} {host.mac} {host.address}/16"
        lines = [f"overlay {own}"]
        for other, there in zip(spec.hosts, machines, strict=True):
            if other is host:
                continue
            near = other.site == host.site
            where = f"{there.address} {HOST_PORT}" if near else f"{emulator} {EMULATOR_PORT}"
            lines.append(f"peer {other.mac} {other.address} {where}")
        found.append(
            replace(
                machine,
                address=host.address,
                interface=specs.EXPERIMENT_INTERFACE,
                overlay=tuple(lines),
            )
        )
    return found


def between(
    spec: SlurmSpec, reach: Reach, node: str, address: str
) -> Callable[[list[Machine]], Links]:
    """Returns a function that makes the links of a run from its machines, emulated on `node`."""
    folder = spec.machines[0].folder
    there = MachineSpec(name="wan", login=node, address=address, interface=None, folder=folder)
    return lambda machines: Emulated(spec, Machine(there, reach, sudo=spec.sudo), machines)


class Emulated:
    """netem or flowsweep-wan on a node: see `machines.reach.Links`."""

    def __init__(self, spec: SlurmSpec, node: Machine, machines: list[Machine]) -> None:
        self._bed = spec
        self._node = node
        self._machines = machines
        self._backend = ""

    def start(self) -> None:
        """Copies the emulator to its node, starts it, and lets it learn where each host is."""
        node = self._node
        data = launch.program_path("flowsweep-wan").read_bytes()
        node.run(shlex.join(["sh", "-s", "--", "--prepare", node.folder]), keeper.script())
        there = node.run(f"sha256sum {node.folder}/flowsweep-wan 2>/dev/null; true").split()
        if not there or there[0].decode() != hashlib.sha256(data).hexdigest():
            node.put("flowsweep-wan", data, mode="700")
        texts = {"wan.json": json.dumps(emulation.config(self._bed)), "links": self._lines()}
        if netem.find_unable(self._bed) is None:
            texts |= batches(self._bed)
        files = {name: (text.encode(), "600") for name, text in texts.items()}
        node.put_all({**files, SCRIPT.name: (SCRIPT.read_bytes(), "700")})
        node.keep(SCRIPT.name)
        self._backend = node.wait_ready()
        list(ThreadPoolExecutor(len(self._machines)).map(self._announce, self._machines))

    def _lines(self) -> str:
        spec = self._bed
        under = {machine.name: machine.overlay[0].split()[3] for machine in spec.machines}
        tried = []
        if spec.backend != "flowsweep-wan" and netem.find_unable(spec) is None:
            tried = [f"try {discipline}" for discipline in netem.list_trials(spec)]
        lines = [
            f"address {self._node.address}",
            *tried,
            *(["demanded"] if spec.backend == "netem" else []),
            *(f"port {site} {number} {EMULATOR_PORT}" for site, number in _numbers(spec).items()),
            *(f"peer {host.site} {host.mac} {under[host.name]} {HOST_PORT}" for host in spec.hosts),
        ]
        return "".join(f"{line}\n" for line in lines)

    def _announce(self, machine: Machine) -> None:
        spec = self._bed
        own = next(host.site for host in spec.hosts if host.name == machine.name)
        for site in spec.sites:
            if site != own:
                machine.run(f"ping -c 1 -W 2 {spec.at(site)[0].address} || true")

    def check_alive(self) -> None:
        """Raises if the emulator has ended."""
        self._node.check_alive()

    def stop(self) -> dict[str, Any]:
        """Stops the emulator when frames in flight have had time to arrive; returns its record."""
        time.sleep(
            min(QUIET_LIMIT_S, 0.05 + 1.5e-9 * self._bed.longest_rtt_ns + self._bed.longest_drain_s)
        )
        self._node.ask_to_stop()
        self._node.wait_stopped()
        return {
            "backend": self._backend,
            "backend_reason": f"between the nodes, on {self._node.login}{self._why()}",
            "steering": None,
            **self._counted(),
        }

    def _why(self) -> str:
        """Returns why the backend is not netem, unless the experiment demands flowsweep-wan."""
        if self._backend == "netem" or self._bed.backend == "flowsweep-wan":
            return ""
        unable = netem.find_unable(self._bed)
        if unable is not None:
            return f"; netem cannot do {unable}"
        return f"; its kernel has {self._read('lacks').strip()}"

    def _counted(self) -> dict[str, Any]:
        if self._backend == "netem":
            lines = self._read("netem.stats").splitlines()
            return netem.record(self._bed, dict(line.split(" ", 1) for line in lines))
        record: dict[str, Any] = json.loads(self._read("wan.stats.json"))
        return record

    def _read(self, name: str) -> str:
        return self._node.run(f"cat {self._node.folder}/{name}").decode()

    def leave(self) -> None:
        """Ends the emulator, which removes its tunnels."""
        self._node.leave()


def batches(spec: Spec) -> dict[str, str]:
    """Returns by file the commands for `ip`, `bridge` and `tc` with which netem makes the links."""
    ip = []
    for site in spec.sites:
        ip += [
            f"link add br-{site} type bridge stp_state 0 mcast_snooping 0",
            f"link add up-{site} type veth peer name wan-{site}",
            *(f"link set {end}-{site} master br-{site} up" for end in ("vx", "up")),
            f"link set br-{site} up",
        ]
    core, between = netem.bridge_commands(spec)
    # Static entries here, too: no frame is flooded to another host.
    near = [f"fdb add {host.mac} dev vx-{host.site} master static" for host in spec.hosts]
    lines = {
        "netem.ip": ip + core,
        "netem.bridge": near + between,
        "netem.tc": netem.commands(spec),
    }
    return {name: "".join(f"{line}\n" for line in some) for name, some in lines.items()}
