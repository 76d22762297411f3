"""Captures on real machines: what each keeper records, and how its files are copied here."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.testbed.spec import ALWAYS

if TYPE_CHECKING:
    from flowsweep.testbed.machines.machine import Machine
    from flowsweep.testbed.machines.reach import Reach
    from flowsweep.testbed.machines.spec import MachinesSpec

OFFLOADS = ("tso", "gso", "gro", "lro")


def write_settings(spec: MachinesSpec, reach: Reach, machine: Machine) -> list[str]:
    """Returns the lines for a keeper: what it changes on its machine, and what it captures."""
    # The agent's folder has no space in its name: see the pattern in `settings`.
    capture = ["-w", f"{machine.folder}/{machine.name}.pcap.zst"]
    capture += ["--snaplen", str(spec.snaplen), "--buffer", str(spec.capture_buffer_bytes)]
    lines = [*machine.described.overlay, f"address {machine.address}"]
    interface = machine.described.interface
    lines += [f"interface {interface}"] if interface else []
    lines += [f"capture {' '.join(capture)}", f"filter {_write_filter(spec, reach, machine)}"]
    if spec.change_hosts:
        lines += [f"offload {name} off" for name in OFFLOADS]
    settings = (ALWAYS if spec.change_hosts else {}) | spec.asked_settings
    lines += [f"sysctl net.ipv4.{name} {value}" for name, value in settings.items()]
    if spec.congestion is not None:
        lines.append(f"congestion {spec.congestion}")
    return lines


def _write_filter(spec: MachinesSpec, reach: Reach, machine: Machine) -> str:
    """Returns a filter for packets between the machines, without our connections to them."""
    if spec.capture_filter:
        return spec.capture_filter
    from_them = " or ".join(f"src host {sender.address}" for sender in spec.machines)
    to_them = " or ".join(f"dst host {receiver.address}" for receiver in spec.machines)
    unseen = reach.unseen(machine.described)
    return f"({from_them}) and ({to_them})" + (f" and {unseen}" if unseen else "")


def fetch(spec: MachinesSpec, machine: Machine) -> tuple[str, dict[str, Any]]:
    """Copies capture, manifest and, if it exists, app.json into the run directory.

    Returns:
        Name of the machine, and its manifest.
    """
    folder = Path(spec.folder)
    wanted = [f"{machine.name}.pcap.zst", f"{machine.name}.capture.json"]
    for name in wanted:
        if not machine.fetch(name, folder / name):
            raise machine.failure(f"has no {name}", "nothing was captured")
    # Only one machine has it: with MPI that of rank 0.
    machine.fetch("app.json", Path(spec.output))
    # Only now, when both copies are complete and safe.
    machine.run(f"cd {shlex.quote(machine.folder)} && rm -f {' '.join(wanted)} app.json")
    manifest: dict[str, Any] = json.loads((folder / f"{machine.name}.capture.json").read_text())
    return machine.name, manifest
