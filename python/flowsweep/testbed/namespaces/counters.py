"""Reads the kernel's interface counters: how many frames each host sent and received."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple

from flowsweep.testbed import kernel
from flowsweep.testbed import spec as specs

if TYPE_CHECKING:
    from flowsweep.testbed.spec import HostSpec, Spec

RTM_GETLINK, IFLA_IFNAME, IFLA_STATS64 = 18, 3, 23
NLM_F_REQUEST, NLM_F_DUMP, NLM_F_DUMP_INTR = 1, 0x300, 0x10
NLMSG_ERROR, NLMSG_DONE = 2, 3
DUMP_TRIES = 5

Frames = dict[str, tuple[int, int]]  # interface -> frames received, frames sent


class NetworkBytes(NamedTuple):
    """Bytes of frames that hosts received, by the network that carried them."""

    experiment: int
    management: int

    def since(self, before: NetworkBytes) -> NetworkBytes:
        """Returns the increase since an earlier reading."""
        return NetworkBytes(
            self.experiment - before.experiment, self.management - before.management
        )


def read(spec: Spec) -> Frames:
    """Reads the experiment interface of each host (by host name), and up-<site> of each site."""
    found: Frames = {}
    for host in spec.hosts:
        with kernel.network_namespace(host.namespace):
            found[host.name] = _interfaces()[specs.EXPERIMENT_INTERFACE].frames
    with kernel.network_namespace(specs.NETNS / specs.WAN):
        uplinks = _interfaces()
    for site in spec.sites:
        found[f"up-{site}"] = uplinks[f"up-{site}"].frames
    return found


def received_bytes(host: HostSpec) -> int:
    """Returns bytes of frames received at a host's experiment interface, without FCS."""
    with kernel.network_namespace(host.namespace):
        return _interfaces()[specs.EXPERIMENT_INTERFACE].received_bytes


def bytes_by_network(spec: Spec) -> NetworkBytes:
    """Returns what all hosts have received over the links, and over the management network."""
    experiment = management = 0
    for host in spec.hosts:
        with kernel.network_namespace(host.namespace):
            found = _interfaces()
        experiment += found[specs.EXPERIMENT_INTERFACE].received_bytes
        management += found[specs.MANAGEMENT_INTERFACE].received_bytes
    return NetworkBytes(experiment, management)


def since(before: Frames, after: Frames) -> Frames:
    """Returns the increase between two readings."""
    return {
        name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after
    }


class _Counters(NamedTuple):
    frames: tuple[int, int]
    received_bytes: int


def _interfaces() -> dict[str, _Counters]:
    """Reads the counters of the current namespace; /sys would show those of another one.

    It asks again if an answer is incomplete because interfaces changed or memory was short.
    """
    for _ in range(DUMP_TRIES - 1):
        with contextlib.suppress(InterruptedError):
            return _dump()
    return _dump()


def _dump() -> dict[str, _Counters]:
    found: dict[str, _Counters] = {}
    interrupted = False
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
        request = struct.pack("=IHHIIBxxxIII", 32, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0,
                              0, 0, 0, 0)  # fmt: skip
        route.send(request)
        while True:
            try:
                data = route.recv(65536)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                raise InterruptedError from None
            while len(data) >= 16:
                size, kind, flags = struct.unpack_from("=IHH", data)
                interrupted |= bool(flags & NLM_F_DUMP_INTR)
                if kind == NLMSG_ERROR:
                    code = -int(struct.unpack_from("=i", data, 16)[0])
                    raise OSError(code, f"interface counters: {os.strerror(code)}")
                if kind == NLMSG_DONE:
                    if interrupted:
                        raise InterruptedError("interface counters: changed while they were read")
                    return found
                name, counters = _attributes(data[32:size])
                if name:
                    found[name] = counters
                data = data[(size + 3) & ~3 :]


def _attributes(data: bytes) -> tuple[str, _Counters]:
    name, found = "", _Counters((0, 0), 0)
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if kind == IFLA_IFNAME:
            name = os.fsdecode(data[4:size].rstrip(b"\0"))
        elif kind == IFLA_STATS64:
            received, sent, received_bytes = struct.unpack_from("=QQQ", data, 4)
            found = _Counters((received, sent), received_bytes)
        data = data[max(4, (size + 3) & ~3) :]
    return name, found
