"""Builds namespaces, bridges, links and addresses from a testbed's description.

    hub:    bridge mgmt (10.99.0.1) -- mgmt0 of every host
    host:   exp0 (10.77.<site>.<host>) -- bridge of its site, in namespace `wan`
    wan:    br-<site> -- up-<site> = wan-<site> -- emulator

Hosts of a site share a bridge; the emulator sees only frames between sites.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from flowsweep.testbed import kernel
from flowsweep.testbed import spec as specs
from flowsweep.testbed.namespaces.steering import Steering
from flowsweep.testbed.spec import (
    ALWAYS,
    EXPERIMENT_INTERFACE,
    MANAGEMENT_INTERFACE,
    HostSpec,
    Spec,
)
from flowsweep.testbed.tools import Batch, batch

SYSCTL = Path("/proc/sys")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a private one is mounted there


def build(spec: Spec) -> None:
    """Builds everything up to addresses and routes; leaves no process running."""
    _private_state(spec)
    for name in [specs.WAN, *(host.name for host in spec.hosts)]:
        kernel.create_network_namespace(specs.NETNS / name)
        with kernel.network_namespace(specs.NETNS / name):
            _no_ipv6()
    for host in spec.hosts:
        kernel.create_host_name(specs.HOST_NAMES / host.name, host.name)
    _no_ipv6()
    with kernel.network_namespace(specs.NETNS / specs.WAN):
        _no_firewall()
    management = _management(spec)
    steering = Steering.from_spec(spec)
    if steering is not None:
        for place in (specs.WAN, *(host.name for host in spec.hosts)):
            with kernel.network_namespace(specs.NETNS / place):
                steering.prepare()
    _experiment(spec)
    management.finish()
    addresses = [_addresses(spec, host) for host in spec.hosts]
    for host, started in zip(spec.hosts, addresses, strict=True):
        started.finish()
        with kernel.network_namespace(host.namespace):
            _settings(spec)


def _private_state(spec: Spec) -> None:
    """Mounts a private /run, /dev/shm and /etc/hosts, which are invisible outside."""
    kernel.mount("none", Path("/"), flags=kernel.MS_REC | kernel.MS_PRIVATE)
    with _folder_in_sight(Path(spec.folder), (specs.STATE, SHARED_MEMORY)):
        kernel.mount("tmpfs", specs.STATE, "tmpfs", options="mode=755")
        # A killed MPI leaves files there; a private file system removes them with the testbed.
        kernel.mount("tmpfs", SHARED_MEMORY, "tmpfs")
    for folder in (specs.NETNS, specs.HOST_NAMES, specs.SCRIPTS, specs.LOGS, specs.STATE / "t"):
        folder.mkdir()
    # A user's program that uses host names gets the experiment network; our tools use addresses.
    names = specs.STATE / "hosts"
    lines = ["127.0.0.1 localhost", f"{specs.HUB_ADDRESS} hub"]
    lines += [f"{host.address} {host.name}" for host in spec.hosts]
    names.write_text("\n".join(lines) + "\n")
    kernel.mount(str(names), Path("/etc/hosts"), flags=kernel.MS_BIND)
    socket.sethostname("hub")


@contextlib.contextmanager
def _folder_in_sight(folder: Path, covered: Sequence[Path]) -> Iterator[None]:
    """Keeps the folder of the run visible where a mount covers it."""
    folder = folder.resolve()
    if not any(folder.is_relative_to(place) for place in covered):
        yield
        return
    kept = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        yield
        folder.mkdir(parents=True)
        kernel.mount(f"/proc/self/fd/{kept}", folder, flags=kernel.MS_BIND)
    finally:
        os.close(kept)


def _no_ipv6() -> None:
    """Switches IPv6 off: its router and listener messages would be in every capture."""
    for scope in ("all", "default"):
        path = SYSCTL / f"net/ipv6/conf/{scope}/disable_ipv6"
        if path.exists():
            path.write_text("1")


def _no_firewall() -> None:
    """Hides bridged frames from iptables: no rule drops a frame, and each frame costs less.

    Without the module br_netfilter there is nothing to switch off.
    """
    for name in ("iptables", "ip6tables", "arptables"):
        path = SYSCTL / f"net/bridge/bridge-nf-call-{name}"
        if path.exists():
            with contextlib.suppress(PermissionError):
                path.write_text("0")


def _management(spec: Spec) -> Batch:
    lines = [
        "link set lo up",
        "link add mgmt type bridge stp_state 0 mcast_snooping 0",
        f"addr add {specs.HUB_ADDRESS}/16 dev mgmt",
        "link set mgmt up",
    ]
    for host in spec.hosts:
        port = f"m-{host.name}"
        peer = f"peer name {MANAGEMENT_INTERFACE} netns {host.name}"
        lines += [
            f"link add {port} type veth {peer}",
            f"link set {port} master mgmt up",
        ]
    return Batch("ip", lines)


def _experiment(spec: Spec) -> None:
    create, ports, forwarding = [], [], []
    for site in spec.sites:
        bridge, uplink = f"br-{site}", f"up-{site}"
        create += [
            f"link add {bridge} type bridge stp_state 0 mcast_snooping 0",
            f"link add {uplink} type veth peer name wan-{site}",
        ]
        ports += [
            f"link set {uplink} master {bridge} up",
            f"link set wan-{site} up",
            f"link set {bridge} up",
        ]
        for host in spec.at(site):
            peer = f"peer name {EXPERIMENT_INTERFACE} address {host.mac} netns {host.name}"
            create.append(f"link add x-{host.name} type veth {peer}")
            ports.append(f"link set x-{host.name} master {bridge} up")
        for host in spec.hosts:
            # Every bridge knows every host, so no frame is flooded into another host's capture.
            port = f"x-{host.name}" if host.site == site else uplink
            forwarding.append(f"fdb add {host.mac} dev {port} master static")
    with kernel.network_namespace(specs.NETNS / specs.WAN):
        batch("ip", create)
        for site in spec.sites:
            kernel.disable_offloads(f"up-{site}")
            kernel.disable_offloads(f"wan-{site}")
        for host in spec.hosts:
            kernel.disable_offloads(f"x-{host.name}")
        batch("ip", ports)
        batch("bridge", forwarding)


def _addresses(spec: Spec, host: HostSpec) -> Batch:
    lines = [
        "link set lo up",
        f"addr add {host.mgmt_address}/16 dev {MANAGEMENT_INTERFACE}",
        f"link set {MANAGEMENT_INTERFACE} up",
        f"addr add {host.address}/16 dev {EXPERIMENT_INTERFACE}",
        f"link set {EXPERIMENT_INTERFACE} up",
    ]
    lines += [
        # Permanent neighbours keep ARP out of the captures.
        f"neigh add {other.address} lladdr {other.mac} dev {EXPERIMENT_INTERFACE} nud permanent"
        for other in spec.hosts
        if other is not host
    ]
    with kernel.network_namespace(host.namespace):
        kernel.disable_offloads(EXPERIMENT_INTERFACE)
        return Batch("ip", lines)


def _settings(spec: Spec) -> None:
    # `ping` without privileges; only groups of this user namespace are accepted.
    groups = {"ping_group_range": f"{os.getgid()} {os.getgid()}"}
    settings = ALWAYS | groups | spec.asked_settings
    for name, value in settings.items():
        (SYSCTL / "net/ipv4" / name).write_text(value)


def tcp_settings(spec: Spec, host: HostSpec, *, by_route: bool) -> dict[str, str]:
    """Returns the actual TCP settings of a host; buffers as "least default most" in bytes.

    by_route: the host's routes set the requested congestion control.
    """
    names = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_slow_start_after_idle")
    with kernel.network_namespace(host.namespace):
        found = {name: (SYSCTL / "net/ipv4" / name).read_text().split() for name in names}
    settings = {name.removeprefix("tcp_"): " ".join(words) for name, words in found.items()}
    if spec.congestion is not None and by_route:
        settings["congestion_control"] = spec.congestion
    return settings
