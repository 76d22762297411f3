"""The kernel's disciplines in the namespace `wan`, between the hosts: see `testbed.netem`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import kernel, netem, tools
from flowsweep.testbed import spec as specs

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec


def missing(spec: Spec) -> str | None:
    """What this kernel has not, or None: every kind of discipline is tried once, on `lo`."""
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
    """The disciplines in place; the same questions can be asked as of `Emulator`."""

    def __init__(self, spec: Spec, *, undisturbed: bool = False) -> None:
        self._bed = spec
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("tc", netem.commands(spec, undisturbed=undisturbed))

    @staticmethod
    def join_sites(spec: Spec) -> None:
        """Once, before the first use: the bridge between the sites."""
        ip, fdb = netem.bridge_commands(spec)
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("ip", ip)
            tools.batch("bridge", fdb)

    @staticmethod
    def part_sites(spec: Spec) -> None:
        """Takes everything away again, as far as it came."""
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
        """The counters: see `netem.record`."""
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            printed = {
                device: tools.output(["tc", "-s", "-j", "qdisc", "show", "dev", device])
                for device in netem.devices(self._bed)
            }
        return netem.record(self._bed, printed)

    def final_stats(self) -> dict[str, Any]:
        """Takes the disciplines away; their counters at the end."""
        record = self.stats()
        lines = [f"qdisc del dev {device} root" for device in netem.devices(self._bed)]
        with kernel.network_namespace(specs.NETNS / specs.WAN):
            tools.batch("tc", lines)
        return record
