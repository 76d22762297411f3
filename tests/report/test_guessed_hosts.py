"""Which host made a capture that does not say so: `show` and the report guess alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny
from test_models import rows

from flowsweep import addresses
from flowsweep.warehouse import Warehouse

PHONE, SERVER, SILENT = "192.168.1.5", "20.0.0.1", "10.0.0.9"
WEST, EAST = "10.77.1.1", "10.77.2.1"
WEST6, EAST6 = "2001:db8:1::1", "2001:db8:2::1"
PHONE6, SERVER6, OTHER6 = "2001:db8::5", "2001:db8:1::1", "2001:db8:2::1"
BACK = {"direction": "backward"}


def exchange(one: str, other: str, connection: int, packets: int = 9) -> list[dict[str, Any]]:
    """Returns both directions of a connection."""
    about = {"packets": packets, "connection": connection}
    return [tiny.flow(one, other, **about), tiny.flow(other, one, **about, **BACK)]


#: Flows, and the host's own addresses.
CASES: dict[str, tuple[list[dict[str, Any]], str | list[str]]] = {
    # Both addresses have equally many packets: the private one wins, not the first in order.
    "phone": (
        [tiny.flow(PHONE, SERVER, packets=9), tiny.flow(SERVER, PHONE, packets=90, **BACK)],
        PHONE,
    ),
    # Several hosts poll an address that never answers: it is not the host's.
    "asked": (
        [
            tiny.flow("10.0.0.1", SILENT, packets=50),
            tiny.flow("10.0.0.2", SILENT, packets=40, connection=1),
        ],
        "10.0.0.1",
    ),
    # Of two public addresses, the one that opened the connection wins.
    "opened": (
        [
            tiny.flow("30.0.0.1", SERVER, packets=9),
            tiny.flow(SERVER, "30.0.0.1", packets=9, **BACK),
        ],
        "30.0.0.1",
    ),
    # The end that acknowledges late is remote, even if its address is private.
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
    # The file marks the server's packets as outgoing.
    "marked": (
        [
            tiny.flow(PHONE, SERVER, packets=9),
            tiny.flow(SERVER, PHONE, packets=9, outgoing_packets=9, **BACK),
        ],
        SERVER,
    ),
    # A router's outgoing packets come from other hosts; no address has most of them.
    "forwarded": (
        [
            tiny.flow(PHONE, SERVER, packets=9, outgoing_packets=9),
            tiny.flow(SERVER, PHONE, packets=9, outgoing_packets=9, **BACK),
        ],
        PHONE,
    ),
    # One IPv6 address is in both exchanges, the others are in one each.
    "both families": (
        [
            *exchange(PHONE, SERVER, 0),
            *exchange(PHONE, "20.0.0.2", 1),
            *exchange(PHONE6, SERVER6, 2),
            *exchange(PHONE6, OTHER6, 3),
            # A multicast announcement, and a neighbour's exchange with the router.
            tiny.flow("fe80::9", "ff02::fb", packets=50, connection=4),
            *exchange("fe80::9", "fe80::1", 5, packets=1),
        ],
        [PHONE, PHONE6],
    ),
    # With one IPv6 peer and no RTT, either end may be the host's.
    "a peer alone": (
        [
            *exchange(PHONE, SERVER, 0),
            *exchange(PHONE, "20.0.0.2", 1),
            *exchange(PHONE6, SERVER6, 2),
        ],
        PHONE,
    ),
    # At a switch's mirror port, the busiest IPv4 and IPv6 addresses may be of two hosts.
    "a network": (
        [
            *exchange(PHONE, SERVER, 0, packets=90),
            *exchange("192.168.1.6", "20.0.0.2", 1, packets=30),
            *exchange(PHONE6, SERVER6, 2),
            *exchange(PHONE6, OTHER6, 3),
        ],
        PHONE,
    ),
    # IPv6 packets of the network reach the host, which sends none.
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
    flows = [{"rtt_min_ns": None, "outgoing_packets": 0} | flow for flow in flows]
    tiny.runs(tmp_path, [{"run": "r", "status": "no record"}])
    tiny.table(tmp_path, "flows", "r", "pc", flows)
    own = [expected] if isinstance(expected, str) else expected
    (host,) = Warehouse(tmp_path).select("select address, addresses, is_guessed from hosts").rows()
    assert host == (own[0], own, True)
    frame = pl.DataFrame(flows, schema_overrides={"rtt_min_ns": pl.Int64})
    assert addresses.guess_own(frame) == own


def test_without_hosts_the_address_with_most_packets_is_the_captured_one(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "r", "completion_s": 1.0}])
    tiny.table(tmp_path, "flows", "r", "node7", [
        tiny.flow("192.0.2.9", "192.0.2.7", packets=5),
        tiny.flow("192.0.2.8", "192.0.2.7", packets=5, src_port=1, connection=1),
        tiny.flow("192.0.2.7", "192.0.2.8", packets=1, direction="backward", connection=1),
    ])  # fmt: skip
    (host,) = rows(tmp_path, "hosts")
    assert (host["host"], host["address"], host["is_guessed"]) == ("node7", "192.0.2.7", True)
    assert all(row["is_between_sites"] for row in rows(tmp_path, "flows"))


def test_a_host_whose_address_is_guessed_is_at_its_site(tmp_path: Path) -> None:
    hosts = [
        {"name": name, "site": site, "address": None}
        for name, site in (("pc1", "west"), ("pc2", "west"), ("pc3", "east"))
    ]
    tiny.runs(tmp_path, [tiny.run("r", hosts=hosts)])
    for host in ("pc1", "pc3"):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(WEST, EAST, packets=9),
            tiny.flow({"pc1": WEST, "pc3": EAST}[host], "10.77.1.2", packets=5, src_port=1),
        ])  # fmt: skip
    found = [(one["host"], one["site"], one["address"]) for one in rows(tmp_path, "hosts")]
    assert sorted(found) == [("pc1", "west", WEST), ("pc3", "east", EAST)]
    sites = {(one["sender_site"], one["receiver_site"]) for one in rows(tmp_path, "flows")}
    assert ("west", "east") in sites


def test_a_host_without_an_address_beside_one_with_is_guessed(tmp_path: Path) -> None:
    """The most packets in its capture are of the other host, which run.json states."""
    addresses = {"pc3": None, "pc1": WEST}
    hosts = [{"name": name, "site": name, "address": one} for name, one in addresses.items()]
    tiny.runs(tmp_path, [tiny.run("r", hosts=[*hosts, hosts[0]])])
    for host in ("pc1", "pc3", "pc5"):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(WEST, "10.77.9.9", packets=9, src_port=1),
            tiny.flow({"pc5": "10.77.3.1"}.get(host, EAST), WEST, packets=5),
        ])  # fmt: skip
    sql = "select host, site, address, is_guessed from hosts order by position"
    assert Warehouse(tmp_path).select(sql).rows() == [
        ("pc3", "pc3", EAST, True),
        ("pc1", "pc1", WEST, False),
        ("pc5", None, "10.77.3.1", True),
    ]


@pytest.mark.parametrize(
    "group",
    ["224.0.0.251", "239.255.255.250", "255.255.255.255", "192.0.2.255", "0.0.0.0", "ff02::fb"],
)
def test_no_group_of_hosts_is_taken_for_the_captured_one(tmp_path: Path, group: str) -> None:
    tiny.runs(tmp_path, [{"run": "r", "completion_s": 1.0}])
    tiny.table(tmp_path, "flows", "r", "node7", [
        *(tiny.flow(f"192.0.2.{peer}", group, packets=9, src_port=peer) for peer in (7, 8, 9)),
        tiny.flow("192.0.2.8", "192.0.2.7", packets=5),
        # A unicast address may end in .255, too.
        tiny.flow("10.0.0.255", "192.0.2.7", packets=1),
    ])  # fmt: skip
    (host,) = rows(tmp_path, "hosts")
    assert host["address"] == "192.0.2.7"


def test_a_capture_of_nothing_but_a_group_is_still_a_hosts(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "r", "completion_s": 1.0}])
    flow = tiny.flow("0.0.0.0", "255.255.255.255")
    tiny.table(tmp_path, "flows", "r", "node7", [flow])
    (host,) = rows(tmp_path, "hosts")
    assert host["address"] in {"0.0.0.0", "255.255.255.255"}


@pytest.mark.parametrize("near", [True, False, None])
def test_two_hosts_are_never_one_address(tmp_path: Path, near: bool | None) -> None:
    """Both ends captured, and nothing else: every packet is in both captures."""
    tiny.runs(tmp_path, [tiny.run("r", hosts=None, baseline=True)])
    slow, quick = 20 * tiny.MS, 10_000
    for host, is_west in (("n9", True), ("n7", False)):
        rtts = {None: (None, None), is_west: (slow, quick)}.get(near, (quick, slow))
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(WEST, EAST, rtt_min_ns=rtts[0]),
            tiny.flow(EAST, WEST, rtt_min_ns=rtts[1], direction="backward"),
        ])  # fmt: skip
    found = {row["host"]: row["address"] for row in rows(tmp_path, "hosts")}
    assert sorted(found) == ["n7", "n9"]
    assert sorted(found.values()) == sorted([WEST, EAST])
    arbitrary = {row["is_arbitrary"] for row in rows(tmp_path, "hosts")}
    assert arbitrary == {near is None}
    if near is not None:
        assert found == ({"n9": WEST, "n7": EAST} if near else {"n9": EAST, "n7": WEST})


def test_two_captures_of_one_direction_show_which_end_each_was_made_at(tmp_path: Path) -> None:
    """Acknowledgements follow the data at once at the receiver, and late at the sender."""
    tiny.runs(tmp_path, [tiny.run("r", hosts=None, baseline=True)])
    ends = {"n7": (EAST, EAST6, 10_000), "n9": (WEST, WEST6, 20 * tiny.MS)}
    for host, (_, _, rtt_ns) in ends.items():
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [
            flow
            for connection, (west, east) in enumerate([(WEST, EAST), (WEST6, EAST6)])
            for flow in (
                tiny.flow(west, east, connection=connection, rtt_min_ns=rtt_ns),
                tiny.flow(east, west, connection=connection, direction="backward"),
            )
        ])  # fmt: skip
    found = {
        row["host"]: (*row["addresses"], row["is_arbitrary"]) for row in rows(tmp_path, "hosts")
    }
    assert found == {host: (v4, v6, False) for host, (v4, v6, _) in ends.items()}
    places = {(row["sender"], row["receiver"]) for row in rows(tmp_path, "flows")}
    assert places == {("n7", "n9"), ("n9", "n7")}
