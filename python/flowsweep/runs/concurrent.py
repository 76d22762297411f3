"""Finds which captures are of one run: those that overlap in time and share an address.

Files of a collection may overlap by chance, most of all with one whose clock was wrong or whose
packets were merged from several years.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.addresses import LOOPBACK, NO_HOST

if TYPE_CHECKING:
    import polars as pl

#: Times of a capture's first and last packet.
Span = tuple[datetime, datetime]


def read_span(host_folder: Path) -> Span | None:
    """Returns the time of a host's capture; None if it has no packets."""
    import polars as pl

    frame = pl.read_parquet(host_folder / "captures.parquet", columns=["first_time", "last_time"])
    first, last = frame["first_time"].min(), frame["last_time"].max()
    return None if first is None or last is None else (first, last)  # type: ignore[return-value]


def read_addresses(host_folder: Path) -> pl.Series:
    """Returns the addresses of a host's flows, without multicast and broadcast.

    Loopback addresses, which every host has, are left out unless there are no others.
    """
    import polars as pl

    flows = pl.scan_parquet(host_folder / "flows.parquet")
    ends = [flows.select(pl.col(end).cast(pl.String).alias("ip")) for end in ("src_ip", "dst_ip")]
    found = pl.concat(ends).drop_nulls().unique().collect()["ip"]
    found = found.filter(~found.str.contains(NO_HOST))
    others = found.filter(~found.str.contains(LOOPBACK))
    return found if others.is_empty() else others


def group(spans: Mapping[str, Span], addresses: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Returns the hosts of each run, in the order of time.

    Hosts are of one run if their captures overlap in time and share an address, directly or through
    those of others.
    """
    order = sorted(spans, key=lambda host: (*spans[host], host))
    leaders = {host: host for host in order}

    def leader(host: str) -> str:
        while leaders[host] != host:
            host = leaders[host]
        return host

    # The host with an address whose capture ends last, of those that began so far.
    latest: dict[str, str] = {}
    for host in order:
        first, last = spans[host]
        for address in addresses[host]:
            other = latest.setdefault(address, host)
            if spans[other][1] >= first:
                leaders[leader(host)] = leader(other)
            if spans[other][1] <= last:
                latest[address] = host
    groups: dict[str, list[str]] = {}
    for host in order:
        groups.setdefault(leader(host), []).append(host)
    return list(groups.values())
