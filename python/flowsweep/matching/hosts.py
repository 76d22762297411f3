"""Finds the hosts of a run whose captures are matched, with their files and addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.files import capture_names, inputs, manifests
from flowsweep.matching import clocks
from flowsweep.parsing import name_paths, read_drops, show_path
from flowsweep.runs import run_folder

EXAMPLE = '{"hosts": [{"name": "pc1", "address": "10.0.0.1"}]}'


@dataclass(frozen=True)
class Host:
    """A capture point.

    Attributes:
        name: Name of the host.
        captures: Its capture file, or the parts of a rotated capture.
        addresses: IP addresses that it sends from.
        dropped: Number of packets that its capture is known to lack; 1 if it had a filter, and
            another host had a different one or none, so that nobody knows the number.
        span: Start and end of the capture in ns since 1970, if its manifest states them.
        kernel: Number of its running kernel; hosts with the same kernel have the same clock.
    """

    name: str
    captures: tuple[Path, ...]
    addresses: tuple[str, ...]
    dropped: int = 0
    span: tuple[int, int] | None = None
    kernel: int | None = None


def find(paths: Sequence[Path], stated: Mapping[str, Sequence[str]]) -> list[Host]:
    """Finds the hosts of a run's folder, or of captures that are named after their hosts.

    Args:
        paths: The folder, or the captures.
        stated: Addresses by host; the addresses of other hosts come from run.json, or are guessed
            from the captures.

    Raises:
        FlowsweepError: There are fewer than two hosts, or a host's address is unknown.
    """
    captures = _captures(paths)
    if len(captures) < 2:
        raise FlowsweepError(
            f"{paths[0]}: a packet is matched between two hosts",
            found=f"captures of {', '.join(captures) or 'no host'}",
            expected="captures of two hosts or more",
            remedy="name the folder of a run, or one capture for each host: pc1.pcap pc2.pcap",
        )
    for host in stated:
        if host not in captures:
            raise FlowsweepError(
                f"--address {host}=...: no capture is of this host", expected=", ".join(captures)
            )
    known = {host: tuple(some) for host, some in stated.items()}
    if len(paths) == 1 and paths[0].is_dir():
        known = {**_recorded(paths[0] / "run.json"), **known}
    missing = {host: files for host, files in captures.items() if host not in known}
    if missing:
        taken = {address for some in known.values() for address in some}
        known |= _guessed(missing, taken)
    _check_apart(captures, known)
    about = {host: _manifest(files) for host, files in captures.items()}
    kernels = clocks.kernels(list(about.values()))
    unlike = _with_unlike_filters(about)
    return [
        Host(
            host,
            tuple(files),
            known[host],
            _dropped(files) or int(host in unlike),
            _span(about[host]),
            kernel,
        )
        for (host, files), kernel in zip(captures.items(), kernels, strict=True)
    ]


def readings(hosts: Sequence[Host]) -> list[clocks.Reading]:
    """Returns the capture agents' clock readings of `hosts`."""
    return clocks.readings([(_manifest(host.captures), host.addresses) for host in hosts])


def parse_addresses(words: Sequence[str]) -> dict[str, list[str]]:
    """Returns addresses by host from options `HOST=ADDRESS`.

    Raises:
        FlowsweepError: An option has no host or no IP address.
    """
    found: dict[str, list[str]] = {}
    for word in words:
        host, _, address = word.partition("=")
        try:
            text = _without_scope(address)
        except ValueError:
            host = ""
        if not host:
            raise FlowsweepError(
                f"--address {word}: no host with an IP address",
                expected="HOST=ADDRESS, such as pc1=10.0.0.1",
            )
        found.setdefault(host, []).append(text)
    return found


def _without_scope(address: str) -> str:
    """Returns an address as packets have it: `fe80::1` of `fe80::1%eth0`."""
    return str(ip_address(address.partition("%")[0]))


def _captures(paths: Sequence[Path]) -> dict[str, list[Path]]:
    if len(paths) == 1 and paths[0].is_dir():
        return run_folder.captures_by_host(paths[0])
    found: dict[str, list[Path]] = {}
    stems = {capture_names.stem(path) for path in paths}
    for path in paths:
        if path.is_dir() or not path.exists():
            raise FlowsweepError(
                f"{path}: no capture",
                found="a folder" if path.is_dir() else "nothing",
                expected="the folder of one run, or captures that can be read twice",
            )
        if not path.is_file():
            raise FlowsweepError(
                f"{path}: a stream",
                expected="a file: captures are read twice",
                remedy="write it into a file first",
            )
        host = capture_names.host_of(capture_names.stem(path), stems)
        found.setdefault(host, []).append(path)
    return found


def _recorded(path: Path) -> dict[str, tuple[str, ...]]:
    """Returns the addresses by host in run.json, if there are any."""
    if not path.exists():
        return {}
    about, _ = inputs.read_object(path, "the record of a run", EXAMPLE)
    found: dict[str, tuple[str, ...]] = {}
    hosts = about.get("hosts")
    for place, host in enumerate(hosts if isinstance(hosts, list) else []):
        name, address = (
            (host.get("name"), host.get("address")) if isinstance(host, dict) else (0, 0)
        )
        if address is None:
            continue
        try:
            found[str(name)] = (*found.get(str(name), ()), _without_scope(str(address)))
        except ValueError:
            raise FlowsweepError(
                f"{path}: hosts[{place}].address: no IP address",
                found=inputs.shorten_value(address),
                expected="an address such as 10.0.0.1",
                remedy="correct it, or name it: --address HOST=ADDRESS",
            ) from None
    return found


def _guessed(hosts: Mapping[str, Sequence[Path]], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """Guesses addresses by the report's rules, from the captures of all these hosts together."""
    guesses = _guess(hosts)
    for host, files in hosts.items():
        own, is_arbitrary = guesses.get(host, ((), False))
        if not own or is_arbitrary or own[0] in taken:
            raise FlowsweepError(
                f"{show_path(files[0])}: its packets do not show whose capture it is",
                found=f"{own[0]}, which is as likely another host's"
                if is_arbitrary
                else f"{own[0]}, which is another host's"
                if own
                else "no packet of a host",
                expected="an address that sends packets, and is in most of them",
                remedy=f"name it: --address {host}=ADDRESS, or record run.json with `hosts`",
            )
    return {
        host: tuple(address for address in guesses[host][0] if address not in taken)
        for host in hosts
    }


def _guess(hosts: Mapping[str, Sequence[Path]]) -> dict[str, tuple[tuple[str, ...], bool]]:
    """Runs the fact `hosts` on these captures; returns addresses and whether they are arbitrary."""
    import duckdb
    import polars as pl

    from flowsweep import addresses, content
    from flowsweep.captures import read_flows

    flows = pl.concat(
        pl.DataFrame(read_flows(list(files))).with_columns(run=pl.lit("run"), host=pl.lit(host))
        for host, files in hosts.items()
    )
    fact = (content.folder("reports") / "facts" / "hosts.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute(addresses.MACRO)
        connection.register("stg_flows", flows)
        connection.execute(
            "create temp table stg_runs"
            " (run text, hosts struct(name text, site text, address text)[])"
        )
        rows = connection.sql(fact).select("host, addresses, is_arbitrary").fetchall()
    return {host: (tuple(own), is_arbitrary) for host, own, is_arbitrary in rows}


def _check_apart(captures: Mapping[str, object], known: Mapping[str, Sequence[str]]) -> None:
    owners: dict[str, str] = {}
    for host in captures:
        for address in known[host]:
            if (other := owners.setdefault(address, host)) != host:
                raise FlowsweepError(
                    f"{address} is an address of {other} and of {host}",
                    expected="an address of one host",
                    remedy=f"name theirs: --address {other}=ADDRESS --address {host}=ADDRESS",
                )


def _dropped(files: Sequence[Path]) -> int:
    counts = read_drops(name_paths(files)).values()
    return sum(count for pair in counts for count in pair if count is not None)


def _with_unlike_filters(about: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Returns the hosts with a filter, by their manifests, if not all hosts have the same one.

    What such a capture lacks may be what its filter kept out, and was not lost.
    """
    filters = {host: manifest.get("filter") or "" for host, manifest in about.items()}
    is_same = len({str(one) for one in filters.values()}) == 1
    return set() if is_same else {host for host, own in filters.items() if own}


def _manifest(files: Sequence[Path]) -> Mapping[str, Any]:
    """Returns the agent's manifest next to a capture; empty if there is none."""
    path = capture_names.find_manifest(files[0])
    return inputs.read_object(path, "a manifest", manifests.EXAMPLE)[0] if path else {}


def _span(about: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns start and end of a capture, if its manifest states them."""
    begin, end = clocks.nanoseconds(about.get("start")), clocks.nanoseconds(about.get("end"))
    return None if begin is None or end is None or end < begin else (begin, end)
