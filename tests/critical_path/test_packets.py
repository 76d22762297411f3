"""Packets in hand-written tables, and the messages that they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import tiny
from programs import MS

from flowsweep.critical_path import packets, record, table, walk
from flowsweep.critical_path.parts import Part

if TYPE_CHECKING:
    from flowsweep.critical_path.packets import HostPackets

ENDS = {"src_ip": "10.77.1.1", "src_port": 1000, "dst_ip": "10.77.2.1", "dst_port": 2000}
BASE = 5 * MS
#: How far the host's clock is behind the reference clock.
SHIFT = 77


def packet(at: int, seq: int, delay: int | None = BASE, **changes: Any) -> dict[str, Any]:
    """Returns a packet of 1,000 bytes sent at `at` ms; without a delay it is lost."""
    return {
        "at": at * MS, "seq": seq % 2**32, "delay": delay, "again": False,
        "fate": "lost" if delay is None else "delivered",
    } | changes  # fmt: skip


def read(folder: Path, sent: list[dict[str, Any]], messages: list[int], **flow: Any) -> HostPackets:
    """Returns the packets of pc1; `messages` are the ms at which messages begin."""
    changes = {"handshake_rtt_ns": None, "syn_packets": 1} | flow
    about = tiny.flow(ENDS["src_ip"], ENDS["dst_ip"], **changes)
    tiny.table(folder, "flows", "r", "pc1", [about])
    begins = [{"first_time": tiny.T0 + at * MS, "last_time": tiny.T0 + at * MS} for at in messages]
    tiny.table(folder, "messages", "r", "pc1", [tiny.message(1000, **one) for one in begins])
    fates, delays = [], []
    for number, one in enumerate(sent, start=1):
        time = tiny.T0 + one["at"]
        fates.append(
            {
                "sender": "pc1", "receiver": "pc3", **ENDS, "protocol": "tcp",
                "time_sent": time, "packet_sent": number, "fate": one["fate"], "seq": one["seq"],
                "payload_bytes": 1000, "ip_bytes": 1040, "is_retransmission": one["again"],
            }
        )  # fmt: skip
        if one["delay"] is not None:
            delays.append(
                {
                    "packet_sent": number, "time_sent_reference": time + SHIFT,
                    "delay_ns": one["delay"], "queue_ns": one["delay"] - BASE,
                }
            )  # fmt: skip
    tiny.table(folder, "fates", "r", "pc1", fates)
    tiny.table(folder, "one_way", "r", "pc1", delays)
    return packets.read({"pc1": folder / "tables" / "run=r" / "host=pc1"})["pc1"]


def rows(found: HostPackets) -> list[dict[str, Any]]:
    """Returns rows by sending time, in ms since the first moment."""
    times = [
        ((pl.col(name) - tiny.T0 - SHIFT) / MS).alias(name)
        for name in ("began", "first_sent", "sent", "arrival")
    ]
    return found.packets.with_columns(times).sort("sent").to_dicts()


@pytest.mark.parametrize("start", [5, 2**32 - 1_500])
def test_bytes_that_were_lost_hold_back_those_behind_them(tmp_path: Path, start: int) -> None:
    sent = [
        packet(0, start),
        packet(1, start + 1000, None),
        packet(2, start + 2000),
        packet(40, start + 1000, again=True),
        packet(60, start + 3000),
    ]
    found = rows(read(tmp_path, sent, [0, 60]))
    assert [row["is_in_order"] for row in found] == [True, False, False, True, True]
    again = found[3]
    assert (again["began"], again["first_sent"], again["sent"]) == (0, 1, 40)
    assert (again["arrival"], again["ip_bytes_so_far"]) == (45, 2 * 1040)
    assert found[4]["began"] == 60
    assert all(row["is_explained"] for row in found)


def test_what_was_sent_again_late_belongs_to_its_own_message(tmp_path: Path) -> None:
    """The next message began before the retransmission."""
    sent = [
        packet(0, 0, None),
        packet(10, 1000),
        packet(200, 0, again=True),
    ]
    found = rows(read(tmp_path, sent, [0, 10]))
    assert [row["began"] for row in found] == [0, 10, 0]
    assert [row["is_in_order"] for row in found] == [False, False, True]


def test_messages_that_queue_behind_each_other_are_one(tmp_path: Path) -> None:
    """The second leaves while the first is queued, the third when the queue is empty."""
    sent = [packet(0, 0, BASE + 9 * MS), packet(4, 1000, BASE + 8 * MS), packet(13, 2000)]
    found = rows(read(tmp_path, sent, [0, 4, 13]))
    assert [row["began"] for row in found] == [0, 0, 13]
    assert [row["ip_bytes_so_far"] for row in found] == [1040, 2080, 1040]
    assert [row["queued_ns_so_far"] for row in found] == [9 * MS, 12 * MS, 0]


def test_an_unknown_fate_is_not_explained(tmp_path: Path) -> None:
    sent = [packet(0, 0), packet(1, 1000, None, fate="unknown")]
    found = rows(read(tmp_path, sent, [0]))
    assert [row["is_explained"] for row in found] == [True, False]


@pytest.mark.parametrize(("last", "is_found"), [(500, True), (400, False)])
def test_a_translated_connection_has_the_times_of_its_packets(
    last: int, is_found: bool, tmp_path: Path
) -> None:
    """Packets without a flow have no message; their payload is not explained."""
    sent = [packet(0, 0), packet(last, 1000)]
    found = read(tmp_path, sent, [0, last], dst_ip="198.51.100.7", dst_port=77)
    assert [row["is_explained"] for row in rows(found)] == [is_found] * 2
    assert [row["is_in_order"] for row in rows(found)] == [is_found] * 2
    assert set(found.packets["receiver"]) == {"pc3"}
    path = table._find({"pc1": found}, record.Circumstances(None, None, None, {}))
    assert (path[0].part == Part.UNKNOWN) is not is_found


def test_a_port_that_is_used_again_is_another_stream(tmp_path: Path) -> None:
    """Its numbers begin elsewhere, and it does not wait for the earlier connection."""
    folder = tmp_path
    read(folder, [packet(0, 900_000), packet(500, 10)], [0, 500])
    path = folder / "tables" / "run=r" / "host=pc1"
    flows = pl.read_parquet(path / "flows.parquet")
    other = flows.with_columns(connection=pl.lit(1, flows["connection"].dtype))
    pl.concat([flows, other]).write_parquet(path / "flows.parquet")
    messages = pl.read_parquet(path / "messages.parquet")
    numbers = pl.Series("connection", [0, 1], messages["connection"].dtype)
    messages.with_columns(numbers).write_parquet(path / "messages.parquet")
    found = rows(packets.read({"pc1": path})["pc1"])
    assert [row["began"] for row in found] == [0, 500]
    assert [row["is_in_order"] for row in found] == [True, True]


def test_a_handshake_is_of_who_opened_the_connection(tmp_path: Path) -> None:
    found = read(tmp_path, [packet(20, 0)], [20])
    assert found.handshakes.is_empty()
    path = tmp_path / "tables" / "run=r" / "host=pc1"
    flows = pl.read_parquet(path / "flows.parquet")
    known = flows.with_columns(handshake_rtt_ns=pl.lit(12 * MS))
    known.write_parquet(path / "flows.parquet")
    found = packets.read({"pc1": path})["pc1"]
    opened = tiny.T0 + SHIFT
    assert found.handshakes.rows() == [("pc1", "pc3", opened, opened + 12 * MS, False)]


def test_a_lost_syn_is_waited_for_until_its_answer(tmp_path: Path) -> None:
    """It was sent again after 1 s; which one was answered the capture does not show."""
    read(tmp_path, [packet(1020, 0)], [1020], syn_packets=2)
    path = tmp_path / "tables" / "run=r" / "host=pc1"
    flows = pl.read_parquet(path / "flows.parquet")
    back = {"direction": "backward", "src_ip": ENDS["dst_ip"], "dst_ip": ENDS["src_ip"]}
    time = (pl.col("first_time").dt.epoch("ns") + 1012 * MS).cast(flows["first_time"].dtype)
    other = flows.with_columns(first_time=time, **{key: pl.lit(one) for key, one in back.items()})
    pl.concat([flows, other]).write_parquet(path / "flows.parquet")
    found = packets.read({"pc1": path})["pc1"]
    opened = tiny.T0 + SHIFT
    answered = opened + 1012 * MS
    assert found.handshakes.rows() == [("pc1", "pc3", opened, answered, True)]
    # The other direction is as fast.
    one, two = pl.col("sender"), pl.col("receiver")
    mirrored = found.packets.with_columns(one.alias("receiver"), two.alias("sender"))
    both = packets.HostPackets(pl.concat([found.packets, mirrored]), found.handshakes, SHIFT)
    parts = [
        (step.part, step.duration_ns) for step in walk.find({"pc1": both}, opened, answered, {})
    ]
    assert parts == [(Part.RECOVERY, 1002 * MS), (Part.PROPAGATION, 2 * BASE)]


def test_connections_side_by_side_have_their_own_numbers(tmp_path: Path) -> None:
    """A loss in one of two connections with interleaved packets."""
    one = [packet(0, 7_000), packet(2, 8_000, None), packet(30, 8_000, again=True)]
    read(tmp_path, one, [0])
    path = tmp_path / "tables" / "run=r" / "host=pc1"
    both: dict[str, list[pl.DataFrame]] = {}
    for name in ("flows", "messages", "fates", "one_way"):
        both[name] = [pl.read_parquet(path / f"{name}.parquet")]
    other = [packet(1, 2**31), packet(3, 2**31 + 1000), packet(31, 2**31 + 2000)]
    read(tmp_path, other, [1])
    for name, frames in both.items():
        rows_of = pl.read_parquet(path / f"{name}.parquet")
        if "src_port" in rows_of.columns:
            rows_of = rows_of.with_columns(src_port=pl.lit(1001, rows_of["src_port"].dtype))
        if "connection" in rows_of.columns:
            rows_of = rows_of.with_columns(connection=pl.lit(1, rows_of["connection"].dtype))
        if "packet_sent" in rows_of.columns:
            rows_of = rows_of.with_columns(pl.col("packet_sent") * 2)
            frames[0] = frames[0].with_columns(pl.col("packet_sent") * 2 - 1)
        pl.concat([*frames, rows_of]).write_parquet(path / f"{name}.parquet")
    found = rows(packets.read({"pc1": path})["pc1"])
    assert [(row["sent"], row["began"], row["is_in_order"]) for row in found] == [
        (0, 0, True), (1, 1, True), (2, 0, False), (3, 1, True), (30, 0, True), (31, 1, True),
    ]  # fmt: skip
    assert found[4]["first_sent"] == 2
