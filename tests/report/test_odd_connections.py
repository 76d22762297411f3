"""Connections recorded twice, or in one direction alone: `show` and the report count the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny
from conversation import MS, US, Conversation, Kind, whole
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsweep.analysis import odd_connections
from flowsweep.analysis.capture_rules import ODD_CONNECTIONS
from flowsweep.parsing import parse_tables
from flowsweep.warehouse import Warehouse

Packets = list[tuple[int, bytes]]


def show_and_report(flows: pl.DataFrame, results: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """Counts the odd connections of one capture as `show` does, and as the report does."""
    tiny.runs(results, [tiny.run("r")])
    folder = results / "tables" / "run=r" / "host=pc1"
    folder.mkdir(parents=True, exist_ok=True)
    flows.write_parquet(folder / "flows.parquet")
    reported = Warehouse(results).select("from odd_connections").drop("run", "host")
    row = reported.row(0, named=True) if reported.height else dict.fromkeys(ODD_CONNECTIONS, 0)
    return odd_connections.count(flows), row


def shift(packets: Packets, by: int) -> Packets:
    return [(time + by, frame) for time, frame in packets]


def translate(packets: Packets) -> Packets:
    """Gives 10.0.0.1 the address 10.9.0.1."""
    found = []
    for time, frame in packets:
        changed = bytearray(frame)
        for at in (26, 30):
            if frame[at + 3] == 1:
                changed[at + 1] = 9
        found.append((time, bytes(changed)))
    return found


INSIDE = whole(Kind()).packets
RENUMBERED = whole(Kind(client_isn=3_000_000_000, server_isn=7)).packets
#: Packets of a capture for each kind of odd connection.
CAPTURES = {
    "one_way_connections": [packet for packet in INSIDE if packet[1][29] == 1],
    "translated_connections": INSIDE + shift(translate(INSIDE), 20 * US),
    "simultaneous_connections": INSIDE + shift(RENUMBERED, 20 * US),
    "alike_connections": INSIDE + shift(RENUMBERED, 900 * MS),
}


@pytest.mark.parametrize("kind", CAPTURES)
def test_show_and_report_count_each_kind(kind: str, tmp_path: Path) -> None:
    capture = Conversation(packets=sorted(CAPTURES[kind])).write(tmp_path / "a.pcap")
    parse_tables([capture], tmp_path / "tables")
    flows = pl.read_parquet(tmp_path / "tables" / "flows.parquet")
    shown, reported = show_and_report(flows, tmp_path / "results")
    assert shown == reported
    assert shown[kind] == 1


def make_flows(connections: list[dict[str, Any]]) -> pl.DataFrame:
    """Makes the table `flows` of connections, with each direction that has packets."""
    rows = [
        tiny.flow(
            *(ends if direction == "forward" else ends[::-1]),
            connection=number,
            direction=direction,
            protocol=one["protocol"],
            src_port=1000 if direction == "forward" else 2000,
            dst_port=2000 if direction == "forward" else 1000,
            first_time=tiny.T0 + one["first_ms"] * MS,
            last_time=tiny.T0 + (one["first_ms"] + one["lasts_ms"]) * MS,
            vlan=one["vlan"],
            tunnel=None,
            tunnel_id=None,
            packets=packets,
            ip_bytes=packets * 100,
            payload_bytes=one["payload_bytes"],
            syn_packets=1 if one["protocol"] == "tcp" else None,
            rst_packets=0 if one["protocol"] == "tcp" else None,
        )
        for number, one in enumerate(connections)
        for ends in [(one["source"], one["target"])]
        for direction, packets in zip(("forward", "backward"), one["packets"], strict=True)
        if packets
    ]
    times = pl.col("first_time", "last_time").cast(tiny.TIME)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(times)


@pytest.mark.parametrize(
    ("packets", "translated"), [((12, 12), 1), ((12, 0), 0)], ids=["both ways", "one way"]
)
def test_datagrams_behind_another_address_are_counted_where_they_are_answered(
    packets: tuple[int, int], translated: int, tmp_path: Path
) -> None:
    """One sender of datagrams to several receivers is no translation."""
    one = {
        "first_ms": 0, "lasts_ms": 600, "vlan": None, "packets": packets, "payload_bytes": 500,
        "protocol": "udp", "source": "10.0.0.1",
    }  # fmt: skip
    ends = [{"target": "10.0.0.2"}, {"target": "10.9.0.2"}]
    shown, reported = show_and_report(make_flows([one | end for end in ends]), tmp_path)
    assert shown == reported
    assert shown == dict.fromkeys(ODD_CONNECTIONS, 0) | {"translated_connections": translated}


@settings(max_examples=15, deadline=None)
@given(
    connections=st.lists(
        st.fixed_dictionaries({
            "first_ms": st.sampled_from([0, 1, 2, 400, 1_500]),
            "lasts_ms": st.sampled_from([0, 1, 3, 600]),
            "source": st.sampled_from(["10.0.0.1", "10.9.0.1"]),
            "target": st.sampled_from(["10.0.0.2", "10.9.0.2"]),
            "vlan": st.sampled_from([None, 7]),
            "packets": st.sampled_from([(10, 10), (10, 0), (0, 12), (2, 3), (1, 0)]),
            "payload_bytes": st.sampled_from([0, 500]),
            "protocol": st.sampled_from(["tcp", "tcp", "udp"]),
        }),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_show_and_report_count_the_same_of_any_connections(
    tmp_path_factory: pytest.TempPathFactory, connections: list[dict[str, Any]]
) -> None:
    flows = make_flows(connections)
    shown, reported = show_and_report(flows, tmp_path_factory.mktemp("odd"))
    assert shown == reported
