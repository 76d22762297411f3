"""Whose capture it is, where nothing says so: `show` and the report guess alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny

from flowsweep import addresses
from flowsweep.warehouse import Warehouse

PHONE, SERVER, SILENT = "192.168.1.5", "20.0.0.1", "10.0.0.9"
PHONE6, SERVER6, OTHER6 = "2001:db8::5", "2001:db8:1::1", "2001:db8:2::1"
BACK = {"direction": "backward"}


def exchange(one: str, other: str, connection: int, packets: int = 9) -> list[dict[str, Any]]:
    """Both directions of a connection."""
    about = {"packets": packets, "connection": connection}
    return [tiny.flow(one, other, **about), tiny.flow(other, one, **about, **BACK)]


#: Flows, and the addresses that are the host's.
CASES: dict[str, tuple[list[dict[str, Any]], str | list[str]]] = {
    # Both have as many packets: the one of a private network, not the first by the alphabet.
    "phone": (
        [tiny.flow(PHONE, SERVER, packets=9), tiny.flow(SERVER, PHONE, packets=90, **BACK)],
        PHONE,
    ),
    # It is polled by several, and answers none of them.
    "asked": (
        [
            tiny.flow("10.0.0.1", SILENT, packets=50),
            tiny.flow("10.0.0.2", SILENT, packets=40, connection=1),
        ],
        "10.0.0.1",
    ),
    # Between two public ones it is who opened the connection.
    "opened": (
        [
            tiny.flow("30.0.0.1", SERVER, packets=9),
            tiny.flow(SERVER, "30.0.0.1", packets=9, **BACK),
        ],
        "30.0.0.1",
    ),
    # The end that acknowledges late is afar, whatever network it is of.
    "near": (
        [
            tiny.flow(PHONE, SERVER, packets=9, rtt_min_ns=10),
            tiny.flow(SERVER, PHONE, packets=9, rtt_min_ns=1_000, **BACK),
        ],
        SERVER,
    ),
    "many": (
        [
            tiny.flow("10.0.0.1", SERVER, packets=9),
            tiny.flow(SERVER, "10.0.0.1", packets=9, **BACK),
            tiny.flow("10.0.0.2", SERVER, packets=9, connection=1),
            tiny.flow(SERVER, "10.0.0.2", packets=9, connection=1, **BACK),
        ],
        SERVER,
    ),
    # Each end of IPv6 is in some of its packets, and one is in all.
    "both families": (
        [
            *exchange(PHONE, SERVER, 0),
            *exchange(PHONE, "20.0.0.2", 1),
            *exchange(PHONE6, SERVER6, 2),
            *exchange(PHONE6, OTHER6, 3),
            # An announcement to all, and what a neighbour says to the router.
            tiny.flow("fe80::9", "ff02::fb", packets=50, connection=4),
            *exchange("fe80::9", "fe80::1", 5, packets=1),
        ],
        [PHONE, PHONE6],
    ),
    # One peer, and no round-trip time: either end of IPv6 may be the host's.
    "a peer alone": (
        [
            *exchange(PHONE, SERVER, 0),
            *exchange(PHONE, "20.0.0.2", 1),
            *exchange(PHONE6, SERVER6, 2),
        ],
        PHONE,
    ),
    # A mirror of a switch: the busiest of IPv4 need not be that of IPv6.
    "a network": (
        [
            *exchange(PHONE, SERVER, 0, packets=90),
            *exchange("192.168.1.6", "20.0.0.2", 1, packets=30),
            *exchange(PHONE6, SERVER6, 2),
            *exchange(PHONE6, OTHER6, 3),
        ],
        PHONE,
    ),
    # The IPv6 packets of the network reach the host, and none is its own.
    "announcements": (
        [
            *exchange(PHONE, SERVER, 0),
            *exchange(PHONE, "20.0.0.2", 1),
            tiny.flow("fe80::9", "ff02::fb", packets=50, connection=4),
        ],
        PHONE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_address_is_that_of_the_host(tmp_path: Path, name: str) -> None:
    flows, expected = CASES[name]
    flows = [{"rtt_min_ns": None} | flow for flow in flows]
    tiny.runs(tmp_path, [{"run": "r", "status": "no record"}])
    tiny.table(tmp_path, "flows", "r", "pc", flows)
    own = [expected] if isinstance(expected, str) else expected
    (host,) = Warehouse(tmp_path).select("select address, addresses, is_guessed from hosts").rows()
    assert host == (own[0], own, True)
    frame = pl.DataFrame(flows, schema_overrides={"rtt_min_ns": pl.Int64})
    assert addresses.guess_own(frame) == own
