"""Packets whose fate is known: generated ones, and those of the kept demo."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import polars as pl
import pytest
from build import arp, ethernet, ip, pcap, tcp
from spoiled import DEMO, change, copy_run

from flowsweep.captures import read_flows

A, B = ("10.0.0.1", 1000), ("10.0.0.2", 80)
MS = 1_000_000


def segment(seq: int, ident: int, payload: int = 100) -> bytes:
    """Returns data from A to B."""
    header = struct.pack(">HHIIHHHH", A[1], B[1], seq, 1, 5 << 12 | 0x10, 512, 0, 0)
    return ethernet(ip(A[0], B[0], 6, header + bytes(payload), ident=ident))


def acknowledge(number: int, ident: int) -> bytes:
    """Returns an acknowledgement from B to A."""
    header = struct.pack(">HHIIHHHH", B[1], A[1], 1, number, 5 << 12 | 0x10, 512, 0, 0)
    return ethernet(ip(B[0], A[0], 6, header, ident=ident))


def datagram(content: bytes, ident: int = 0) -> bytes:
    """Returns a UDP datagram from A to B."""
    header = struct.pack(">HHHH", 5, 6, 8 + len(content), 0)
    return ethernet(ip(A[0], B[0], 17, header + content, ident=ident))


@pytest.fixture
def fates(tmp_path: Path, match, table):
    """Matches two captures of packets (time in ms, frame); returns the rows in sending order."""

    def run(at_a, at_b, *options):
        for name, packets in (("a", at_a), ("b", at_b)):
            content = pcap([(round(time * MS), frame) for time, frame in packets], snaplen=96)
            (tmp_path / f"{name}.pcap").write_bytes(content)
        addresses = [f"--address=a={A[0]}", f"--address=b={B[0]}"]
        done = match(tmp_path / "a.pcap", tmp_path / "b.pcap", *addresses, *options)
        assert done.returncode == 0, done.stderr
        return table("fates").sort(pl.coalesce("time_sent", "time_received"), "packet_sent")

    return run


def end_fates(rows: pl.DataFrame) -> list[tuple[str, str]]:
    return rows.select("fate", "evidence").rows()


def test_a_packet_that_never_arrives_is_lost_and_its_repetition_is_distinguished(fates):
    sent = [segment(1, 10), segment(101, 11), segment(201, 12), segment(101, 13)]
    at_a = [(0, sent[0]), (1, sent[1]), (2, sent[2]), (30, sent[3])]
    at_b = [(10, sent[0]), (12, sent[2]), (40, sent[3])]
    answers = [(41, 71, acknowledge(301, 20)), (60, 90, acknowledge(301, 21))]
    at_b += [(there, frame) for there, _, frame in answers]
    at_a += [(here, frame) for _, here, frame in answers]
    rows = fates(at_a, at_b).filter(pl.col("sender") == "a")
    assert end_fates(rows) == [
        ("delivered", "matched"), ("lost", "absent"), ("delivered", "matched"),
        ("delivered", "matched"),
    ]  # fmt: skip
    assert rows["is_retransmission"].to_list() == [False, False, False, True]
    assert rows["reordered_by"].to_list() == [0, None, 0, 0]
    assert rows["packet_received"].to_list() == [1, None, 2, 3]
    assert rows["seq"].to_list() == [1, 101, 201, 101]


def test_what_the_receiver_acknowledged_was_not_captured(fates):
    frames = [segment(1 + 100 * n, 10 + n) for n in range(4)]
    at_a = [(n, frame) for n, frame in enumerate(frames)]
    at_b = [(10 + n, frame) for n, frame in enumerate(frames) if n != 2]
    for time, number in ((10, 101), (13, 401), (90, 401)):
        frame = acknowledge(number, time)
        at_b.append((time + 0.5, frame))
        at_a.append((time + 10.5, frame))
    rows = fates(sorted(at_a, key=lambda p: p[0]), sorted(at_b, key=lambda p: p[0]))
    rows = rows.filter(pl.col("sender") == "a")
    assert end_fates(rows)[2] == ("not_captured", "acknowledged")
    assert {fate for fate, _ in end_fates(rows)[:2] + end_fates(rows)[3:]} == {"delivered"}


def test_copies_overtaking_and_packets_that_the_sender_lacks(fates):
    frames = [datagram(bytes([n]) * 20, ident=100 + n) for n in range(8)]
    at_a = [(10 * n, frame) for n, frame in enumerate(frames) if n != 5]
    # 2 arrives after 3 and 4, and 3 comes twice.
    order = [0, 1, 3, 3, 4, 2, 5, 6, 7]
    at_b = [(50 + 5 * place, frames[n]) for place, n in enumerate(order)]
    at_a.append((200, acknowledge(1, 7)))
    at_b.append((190, acknowledge(1, 7)))
    rows = fates(at_a, at_b, "--window", "1s").filter(pl.col("protocol") == "udp")
    by_id = {(row["ip_id"] - 100, row["fate"]): row for row in rows.iter_rows(named=True)}
    assert by_id[2, "delivered"]["reordered_by"] == 2
    assert by_id[3, "duplicated"]["evidence"] == "copy"
    assert by_id[5, "not_captured"]["evidence"] == "arrived"
    assert [by_id[n, "delivered"]["reordered_by"] for n in (0, 1, 3, 4, 6, 7)] == [0] * 6
    assert rows.height == 9


def test_packets_alike_are_reported_where_all_arrive_and_unknown_where_one_does_not(fates):
    alike, other = datagram(b"beat"), datagram(b"other")
    at_a = [(n, alike) for n in range(3)] + [(3, other), (100, acknowledge(1, 7))]
    at_b = [(20 + n, alike) for n in range(3)] + [(23, other), (90, acknowledge(1, 7))]
    assert {fate for fate, _ in end_fates(fates(at_a, at_b))} == {"delivered"}
    rows = fates(at_a, at_b[:1] + at_b[2:]).filter(pl.col("protocol") == "udp")
    assert end_fates(rows) == [("unknown", "alike")] * 3 + [("delivered", "matched")]


def test_the_ends_of_a_capture_prove_no_loss(fates):
    frames = [datagram(bytes([n]), ident=n + 1) for n in range(9)]
    at_a = [(10 * n, frame) for n, frame in enumerate(frames)]
    at_b = [(10 * n + 5, frame) for n, frame in enumerate(frames) if 2 <= n < 7 and n != 4]
    rows = fates(at_a, at_b)
    edge, here = ("unknown", "edge"), ("delivered", "matched")
    assert end_fates(rows) == [edge, edge, here, here, ("lost", "absent"), here, here, edge, edge]


def test_what_is_on_no_path_between_captured_hosts_is_outside(fates):
    other = tcp("10.0.0.9", 1, A[0], 2, payload=10)
    frames = [datagram(b"a", 1), datagram(b"b", 2)]
    at_a = [(0, frames[0]), (1, other), (2, arp()), (3, frames[1])]
    rows = fates(at_a, [(10, frames[0]), (13, frames[1])])
    assert end_fates(rows)[1] == ("outside", "no_capture")
    outside = rows.row(1, named=True)
    assert (outside["sender"], outside["receiver"], outside["packet_received"]) == (None, "a", 2)
    assert rows.height == 3  # ARP has no fate


@pytest.mark.parametrize("run", ["nqueens-rtt_64ms-r1", "nqueens-baseline-r1"])
def test_every_packet_of_the_demo_has_one_row_and_fates_that_add_up(run, tmp_path, match, table):
    done = match(DEMO / run)
    assert done.returncode == 0, done.stderr
    rows = table("fates")
    for path in (DEMO / run).glob("*.pcap.zst"):
        host = path.name.partition(".")[0]
        flows = pl.DataFrame(read_flows(path))
        assert (
            rows.filter(sender=host)["packet_sent"].is_not_null().sum()
            + rows.filter(receiver=host)["packet_received"].is_not_null().sum()
            == flows["packets"].sum()
        )
    # The demo's hosts capture everything; run.json has the emulator's drops.
    assert set(rows["fate"]) <= {"delivered", "lost"}
    assert rows.filter(fate="lost").height == _dropped(DEMO / run)


def _dropped(run: Path) -> int:
    import json

    links = json.loads((run / "run.json").read_text())["emulator"]["links"]
    return sum(link["received"] - link["delivered"] for link in links)


@pytest.mark.parametrize("run", ["nqueens-rtt_64ms-r1", "nqueens-baseline-r1"])
def test_with_records_removed_no_fate_is_wrong_and_few_are_unknown(run, tmp_path, match, table):
    assert match(DEMO / run).returncode == 0
    keys = ["sender", "receiver", "packet_sent"]
    truth = table("fates").select(*keys, "fate", number="packet_received")
    spoiled = copy_run(DEMO / run, tmp_path / "spoiled")
    drawn, gone, numbers = random.Random(1), set(), {}

    def remove(number: int, time: int) -> int | None:
        if drawn.random() < 0.01:
            gone.add(number + 1)
            return None
        numbers[len(numbers) + 1] = number + 1
        return time

    change(spoiled, "pc1", remove)
    assert match(spoiled).returncode == 0
    # Packets of other senders keep their numbers.
    found = table("fates").filter(pl.col("sender") != "pc1", pl.col("fate") != "duplicated")
    found = found.join(truth, on=keys, suffix="_true")
    expected = pl.when(pl.col("number").is_in(gone) & (pl.col("receiver") == "pc1")).then(
        pl.lit("not_captured")
    )
    checked = found.with_columns(expected=expected.otherwise(pl.col("fate_true")))
    unknown = checked.filter(fate="unknown")
    wrong = checked.filter(pl.col("fate") != pl.col("expected"), pl.col("fate") != "unknown")
    assert wrong.is_empty()
    assert checked.filter(fate="not_captured").height > 10
    assert unknown.height <= 0.003 * checked.height


def test_a_segment_that_an_interface_cuts_is_delivered_with_its_last_part(fates):
    large = segment(1, 10, 2920)
    parts = [segment(1, 10, 1460), segment(1461, 11, 1460)]
    small, answer = segment(2921, 12, 10), acknowledge(2931, 9)
    rows = fates(
        [(0, large), (1, small), (40, answer)],
        [(10, parts[0]), (10.1, parts[1]), (11, small), (20, answer)],
    )
    assert end_fates(rows) == [("delivered", "matched")] * 3
    assert rows.filter(payload_bytes=2920)["packet_received"].to_list() == [2]


def test_where_no_packet_of_a_path_is_found_at_both_ends_nothing_is_called_lost(fates):
    rows = fates(
        [(0, segment(1, 1)), (1, segment(101, 2)), (30, acknowledge(201, 9))],
        [(20, acknowledge(201, 9))],
    )
    assert sorted(end_fates(rows)) == [("delivered", "matched")] + [("unknown", "unmatched")] * 2


@pytest.mark.parametrize("offset", [50 * MS, -50 * MS, 3_600_000 * MS])
def test_fates_do_not_depend_on_the_clocks(offset, tmp_path, match, table):
    run = DEMO / "nqueens-baseline-r1"
    assert match(run).returncode == 0
    columns = ["sender", "packet_sent", "receiver", "packet_received", "fate", "reordered_by"]
    truth = table("fates").select(columns).sort(columns)
    shifted = copy_run(run, tmp_path / "shifted")
    begin = table("fates")["time_sent"].dt.timestamp("ns").min()
    # The clock also drifts by 30 ppm.
    change(shifted, "pc3", lambda _, time: time + offset + (time - begin) * 30 // 10**6)
    assert match(shifted).returncode == 0
    assert table("fates").select(columns).sort(columns).equals(truth)
