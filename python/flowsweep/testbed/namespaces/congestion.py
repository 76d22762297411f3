"""Checks for a TCP congestion control in this kernel, and makes emulated hosts use it."""

from __future__ import annotations

import errno
import re
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.testbed import kernel
from flowsweep.testbed import spec as specs
from flowsweep.testbed.congestion_names import available
from flowsweep.testbed.lacking import LackingError
from flowsweep.testbed.namespaces import isolation
from flowsweep.testbed.tools import batch
from flowsweep.testbed.transient import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowsweep.experiment import Run
    from flowsweep.testbed.spec import HostSpec, Spec

LOADER = Path("/proc/sys/kernel/modprobe")  # names the program by which the kernel loads modules
NAME = re.compile("[a-z0-9_-]{1,15}")  # TCP_CA_NAME_MAX of linux/tcp.h, without the final NUL
DISCARD_PORT = 9


def warnings(runs: Iterable[Run]) -> list[str]:
    """Returns a line for each congestion control that the kernel lacks: its runs will fail."""
    runs_by_name: dict[str, int] = {}
    for run in runs:
        name = run.point.congestion
        if name is not None:
            runs_by_name[name] = runs_by_name.get(name, 0) + 1
    there = available()
    return [
        f"warning: this kernel has no congestion control {name} (available: {' '.join(there)}): "
        f"{count} {'run' if count == 1 else 'runs'} will fail; modprobe tcp_{name} as root"
        for name, count in runs_by_name.items()
        if there and name not in there and not _can_be_loaded(name)
    ]


def _can_be_loaded(name: str) -> bool:
    """Returns whether the kernel would load a module for the name, which it does only for root."""
    if not NAME.fullmatch(name) or not isolation.is_privileged():
        return False
    try:
        words = [LOADER.read_text().strip(), "--dry-run", "--quiet", f"tcp_{name}"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def use(spec: Spec) -> None:
    """Makes every host use the route options of the testbed, such as the congestion control.

    Raises:
        LackingError: The kernel lacks the congestion control, and cannot load it.
    """
    if spec.route_options:
        for host in spec.hosts:
            with kernel.network_namespace(host.namespace):
                _use(spec, host, spec.congestion)


def _use(spec: Spec, host: HostSpec, name: str | None) -> None:
    """Sets the options by route: a namespace may set by sysctl only what its owner allows."""
    device = f"dev {specs.EXPERIMENT_INTERFACE}"
    route = f"{specs.EXPERIMENT_NETWORK} {device} proto kernel scope link src {host.address}"
    if name is not None and not NAME.fullmatch(name):
        raise LackingError(name, available())
    try:
        batch("ip", [f"route change {route} {spec.route_options}"])
    except TransientError:
        if name is None or name in available():
            raise
        raise LackingError(name, available()) from None
    if name is None:
        return
    other = next(peer for peer in spec.hosts if peer is not host)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        attempt.setblocking(False)
        # The SYN gets no further than the emulator's port, as the emulator does not run yet.
        result = attempt.connect_ex((other.address, DISCARD_PORT))
        if result not in (0, errno.EINPROGRESS):
            raise TransientError(
                f"testbed: {host.name} has no route to {other.name}",
                found=errno.errorcode.get(result, str(result)),
            )
        used = attempt.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    if used.rstrip(b"\0").decode() != name:
        raise LackingError(name, available())
