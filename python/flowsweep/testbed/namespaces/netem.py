"""Applies the kernel's disciplines in namespace `wan`, between the hosts: see `testbed.netem`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import kernel, netem, tools
from flowsweep.testbed import spec as specs

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec


def missing(spec: Spec) -> str | None:
    """Tries each kind of discipline on `lo`; returns what this kernel lacks, or None."""
    with kernel.network_namespace(specs.NETNS / specs.WAN):
        for discipline in netem.list_trials(spec):
            words = ["tc", "qdisc", "replace", "dev", "lo", "root", *discipline.split()]
            try:
                done = subprocess.run(words, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                return "no `tc`"
            if done.returncode != 0:
                return f"no {discipline.split()[0]}"
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=False)
    return None


class Netem:
    """The active disciplines, with the same methods as `Emulator`."""

    def __init__(self, spec: Spec, *, undisturbed: bool = False) -> None:
        self._bed = spec
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("tc", netem.commands(spec, undisturbed=undisturbed))

    @staticmethod
    def join_sites(spec: Spec) -> None:
        """Makes the bridge between the sites, once, before the first use."""
        ip, fdb = netem.bridge_commands(spec)
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("ip", ip)
            tools.batch("bridge", fdb)

    @staticmethod
    def part_sites(spec: Spec) -> None:
        """Removes everything that `join_sites` and the disciplines have added."""
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            for device in netem.devices(spec):
                words = ["tc", "qdisc", "del", "dev", device, "root"]
                subprocess.run(words, capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", netem.CORE], capture_output=True, check=False)

    def check_alive(self) -> None:
        """Does nothing: netem is part of the kernel and does not end."""

    def start_schedule(self) -> None:
        """Does nothing: netem has no schedules (see `find_unable`)."""

    def stats(self) -> dict[str, Any]:
        """Returns the counters: see `netem.record`."""
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            printed = {
                device: tools.output(["tc", "-s", "-j", "qdisc", "show", "dev", device])
                for device in netem.devices(self._bed)
            }
        return netem.record(self._bed, printed)

    def final_stats(self) -> dict[str, Any]:
        """Removes the disciplines; returns their final counters."""
        record = self.stats()
        lines = [f"qdisc del dev {device} root" for device in netem.devices(self._bed)]
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("tc", lines)
        return record
