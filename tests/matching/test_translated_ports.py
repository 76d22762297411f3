"""A router gives each connection of the hosts behind it its own port (NAPT, RFC 3022)."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from build import datagram, ethernet, ip, pcap

MS = 1_000_000
EPOCH = 10**15
DELAY = 5 * MS
SERVER, ROUTER = "198.51.100.1", "203.0.113.7"
CLIENTS = {"c1": "192.168.1.5", "c2": "192.168.1.6"}
TCP, UDP = 6, 17
Ends = tuple[str, int, str, int]


def segment(sport: int, dport: int, seq: int) -> bytes:
    """Returns a TCP segment of 100 bytes that acknowledges none."""
    return struct.pack(">HHIIBBHHH", sport, dport, seq, 1, 0x50, 0x18, 512, 0, 0) + bytes(100)


def frame(protocol: int, ends: Ends, number: int, *, answers: bool) -> bytes:
    """Returns a packet of a client, or its answer; the router changes only its ends."""
    source, sport, target, dport = (*ends[2:], *ends[:2]) if answers else ends
    if protocol == TCP:
        content = segment(sport, dport, number * 100)
    else:
        content = datagram(sport, dport, 0, length=28) + struct.pack(">Q", number) + bytes(12)
    return ethernet(ip(source, target, protocol, content, ident=number % 65_535 + 1))


def write(folder: Path, protocol: int, connections: int, packets: int) -> dict[str, list[int]]:
    """Writes captures of two clients and their server; returns sent and lost packets by sender."""
    chance = random.Random(7)
    files: dict[str, list[tuple[int, bytes]]] = {"c1": [], "c2": [], "server": []}
    counts = {name: [0, 0] for name in files}
    number = 0
    for connection in range(connections):
        for place, (client, address) in enumerate(CLIENTS.items()):
            # Both clients use the same ports, so that the router must change them.
            own = (address, 40_000 + connection, SERVER, 443)
            public = (ROUTER, 1_024 + 2 * connection + place, SERVER, 443)
            for turn in range(packets):
                number += 1
                time = EPOCH + number * MS // 4
                answers = bool(turn % 2)
                sender, receiver = ("server", client) if answers else (client, "server")
                ends = {client: own, "server": public}
                is_lost = turn > 1 and chance.random() < 0.05
                for host, at in ((sender, time), (receiver, time + DELAY)):
                    if host == sender or not is_lost:
                        files[host].append(
                            (at, frame(protocol, ends[host], number, answers=answers))
                        )
                counts[sender][0] += 1
                counts[sender][1] += is_lost
    for name, records in files.items():
        records.sort(key=lambda record: record[0])
        (folder / f"{name}.pcap").write_bytes(pcap(records))
    return counts


@pytest.mark.parametrize(
    ("protocol", "connections", "packets"),
    [(TCP, 40, 60), (UDP, 40, 60), (UDP, 500, 2), (TCP, 900, 40)],
    ids=["tcp", "udp", "single exchanges", "connections that begin late"],
)
def test_each_connection_is_followed(
    protocol: int, connections: int, packets: int, tmp_path: Path, match, table
) -> None:
    counts = write(tmp_path, protocol, connections, packets)
    done = match(*(tmp_path / f"{name}.pcap" for name in counts))
    assert done.returncode == 0, done.stderr
    rows = table("fates").group_by("sender", "fate").len()
    found = {(sender, fate): count for sender, fate, count in rows.rows()}
    expected = {}
    for name, (sent, lost) in counts.items():
        expected |= {(name, "delivered"): sent - lost, (name, "lost"): lost}
    assert found == {key: count for key, count in expected.items() if count}
    for address in CLIENTS.values():
        assert f"{ROUTER} in the capture of server is {address}: translated (NAT)" in done.stdout


def test_hosts_that_nobody_captured_stay_outside(tmp_path: Path, match, table) -> None:
    """The server also talks to others, whose packets look alike."""
    write(tmp_path, UDP, 40, 60)
    others = [
        (EPOCH + number * MS, frame(UDP, ("192.0.2.9", 5, SERVER, 443), number, answers=False))
        for number in range(1, 2_000, 3)
    ]
    server = tmp_path / "server.pcap"
    (tmp_path / "server.pcap1").write_bytes(pcap(others))
    done = match(
        tmp_path / "c1.pcap",
        server,
        tmp_path / "server.pcap1",
        f"--address=server={SERVER}",
        "--address=c1=192.168.1.5",
    )
    assert done.returncode == 0, done.stderr
    strangers = table("fates").filter(src_ip="192.0.2.9")
    assert strangers.height == len(others)
    assert set(strangers["fate"]) == {"outside"}
