"""How receivers keep TCP state, RFC 9293 3.10.7.4 and RFC 5961; when a connection begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conversation import ACK, KINDS, MS, RST, SYN, US, Conversation, Kind, tables, whole
from hypothesis import given, settings
from hypothesis import strategies as st

FAR = st.sampled_from([2 * 10**6, 10**7, 10**9, 16 * 10**8, 2**31 - 10**6, 2**32 - 3 * 10**6])


def live(kind: Kind) -> Conversation:
    made = Conversation(kind)
    made.open(0)
    made.ping(100 * MS)
    return made


def ended(made: Conversation, start: int = 300 * MS) -> Conversation:
    made.ping(start)
    made.ping(start + 100 * MS)
    made.close(start + 200 * MS)
    return made


@settings(max_examples=50, deadline=None)
@given(kind=KINDS, off=FAR, side=st.integers(0, 1), payload=st.sampled_from([0, 10, 1000]))
def test_a_segment_outside_the_window_changes_nothing(
    kind: Kind, off: int, side: int, payload: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("wild") / "a.pcap"
    plain = tables(ended(live(kind)).write(path))
    made = live(kind)
    wild = made.frame(side, ACK, made.sent[side] + off, made.sent[1 - side], payload)
    made.packets.append((200 * MS, wild))
    found = tables(ended(made).write(path))
    expected = [1 if row == side else 0 for row in (0, 1)]
    assert found["flows"]["outside_window_packets"].to_list() == expected
    counted = (
        "packets",
        "wire_bytes",
        "ip_bytes",
        "payload_bytes",
        "largest_packet_bytes",
        "outside_window_packets",
    )
    kept = [name for name in plain["flows"].columns if name not in counted]
    assert found["flows"].select(kept).equals(plain["flows"].select(kept))
    assert found["messages"].equals(plain["messages"])
    sums = found["flows"]["packets"] - plain["flows"]["packets"]
    assert sums.to_list() == expected


@settings(max_examples=30, deadline=None)
@given(kind=KINDS, off=FAR, challenged=st.booleans())
def test_a_stray_syn_opens_no_connection(
    kind: Kind, off: int, challenged: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """RFC 5961 4: the host answers it with a challenge ACK, if at all."""
    made = live(kind)
    made.packets.append((200 * MS, made.frame(0, SYN, made.sent[0] + off, 0)))
    if challenged:
        made.send(210 * MS, 1)
    found = tables(ended(made).write(tmp_path_factory.mktemp("syn") / "a.pcap"))
    assert found["flows"]["connection"].to_list() == [0, 0]
    assert found["flows"]["stray_syn_packets"].to_list() == [1, 0]
    assert found["flows"]["syn_packets"].to_list() == [1, 1]
    assert found["flows"]["end"].to_list() == ["fin", "fin"]
    assert found["flows"]["out_of_order_packets"].to_list() == [0, 0]


@settings(max_examples=30, deadline=None)
@given(kind=KINDS, off=FAR)
def test_a_stray_syn_ack_and_a_stray_reset_change_nothing(
    kind: Kind, off: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = live(kind)
    stray = made.sent[1] + off
    made.packets.append((200 * MS, made.frame(1, SYN | ACK, stray, made.sent[0])))
    made.packets.append((201 * MS, made.frame(1, RST, stray, 0)))
    found = tables(ended(made).write(tmp_path_factory.mktemp("strays") / "a.pcap"))
    assert found["flows"]["connection"].to_list() == [0, 0]
    assert found["flows"]["stray_syn_ack_packets"].to_list() == [0, 1]
    assert found["flows"]["stray_rst_packets"].to_list() == [0, 1]
    assert found["flows"]["end"].to_list() == ["fin", "fin"]
    assert found["flows"]["handshake_rtt_ns"].to_list() == [10 * MS, 10 * US]
    assert found["flows"]["rtt_samples"].to_list()[0] == 5


@settings(max_examples=30, deadline=None)
@given(kind=KINDS, same=st.booleans(), wait=st.sampled_from([1 * MS, 10_000 * MS]))
def test_behind_a_closed_connection_a_syn_begins_another_one(
    kind: Kind, same: bool, wait: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """RFC 9293 3.6.1: whatever its ISN; a replayed capture has the same ISN."""
    first = whole(kind, pings=1)
    start = first.packets[-1][0] + wait
    isn = kind.client_isn if same else (kind.client_isn + 3 * 10**6) % 2**32
    second = first.again(replace(kind, client_isn=isn))
    second.open(start)
    second.ping(start + 100 * MS)
    second.close(start + 200 * MS)
    found = tables(second.write(tmp_path_factory.mktemp("reused") / "a.pcap"))
    flows = found["flows"]
    assert flows["connection"].to_list() == [0, 0, 1, 1]
    assert flows["packets"].to_list() == [5, 3, 5, 3]
    for column in ("retransmitted_packets", "out_of_order_packets", "outside_window_packets"):
        assert flows[column].sum() == 0, column


@settings(max_examples=30, deadline=None)
@given(kind=KINDS, off=FAR, alone=st.booleans())
def test_ports_that_are_used_again_without_a_captured_syn_are_another_connection(
    kind: Kind, off: int, alone: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also if only one direction was captured."""
    made = whole(kind, pings=1)
    start = made.packets[-1][0] + 60_000 * MS
    made.sent = [(number + off) % 2**32 for number in made.sent]
    made.ping(start)
    made.ping(start + 100 * MS)
    if alone:
        made.packets[:] = [packet for packet in made.packets if sender_of(packet[1], kind) == 0]
    found = tables(made.write(tmp_path_factory.mktemp("again") / "a.pcap"))
    flows = found["flows"]
    assert flows["connection"].n_unique() == 2
    assert flows["out_of_order_packets"].sum() == 0
    assert flows["retransmitted_packets"].sum() == 0
    assert flows["start"].to_list()[-1] == "midstream"


def sender_of(frame: bytes, kind: Kind) -> int:
    """Returns 0 if the client sent the frame."""
    at = 14 + (4 if kind.vlan is not None else 0) + (40 if kind.v6 else 20)
    return int(int.from_bytes(frame[at : at + 2], "big") == 80)


@pytest.mark.parametrize("v6", [False, True])
def test_a_firewall_that_rewrites_numbers_gives_two_connections(v6: bool, tmp_path: Path) -> None:
    """Captured on both of its sides: one pair of ports, two sequence spaces."""
    outside = whole(Kind(v6=v6, client_isn=1000, server_isn=500_000), pings=3)
    inside = whole(Kind(v6=v6, client_isn=3_000_000_000, server_isn=700_000_000), pings=3)
    behind = [(time + 50 * US, frame) for time, frame in inside.packets]
    outside.packets[:] = sorted(outside.packets + behind, key=lambda packet: packet[0])
    flows = tables(outside.write(tmp_path / "a.pcap"))["flows"]
    assert flows["connection"].to_list() == [0, 0, 1, 1]
    assert flows["packets"].to_list() == [7, 5, 7, 5]
    assert flows["payload_bytes"].to_list() == [3000, 0, 3000, 0]
    assert flows["out_of_order_packets"].sum() == 0
    assert flows["rtt_samples"].to_list() == [5, 2, 5, 2]


def test_a_reset_that_answers_a_syn_is_no_sample_of_the_round_trip_time(tmp_path: Path) -> None:
    made = Conversation(Kind())
    made.send(0, 0, SYN)
    made.packets.append((10 * MS, made.frame(1, RST | ACK, 0, made.sent[0])))
    flows = tables(made.write(tmp_path / "a.pcap"))["flows"]
    assert flows["rtt_samples"].to_list() == [0, 0]
    assert flows["handshake_rtt_ns"].to_list() == [10 * MS, None]
    assert flows["end"].to_list() == ["rst", "rst"]


def test_a_reset_that_is_not_exactly_in_order_is_stray_where_its_sender_goes_on(
    tmp_path: Path,
) -> None:
    """RFC 5961 3: the host answers it with a challenge ACK."""
    made = live(Kind())
    made.packets.append((200 * MS, made.frame(0, RST, made.sent[0] + 500, 0)))
    flows = tables(ended(made).write(tmp_path / "a.pcap"))["flows"]
    assert flows["end"].to_list() == ["fin", "fin"]
    assert flows["stray_rst_packets"].to_list() == [1, 0]


@pytest.mark.parametrize("far", [1_000_000, 4_000_000])
@pytest.mark.parametrize("is_opened", [True, False])
def test_what_one_direction_sends_again_counts_however_far_behind(
    far: int, is_opened: bool, tmp_path: Path
) -> None:
    # A mirror of one direction shows no window; on a long path more than 1 MiB is in flight.
    made = Conversation(Kind(identified=False))
    if is_opened:
        made.send(0, 0, SYN)
    first, again = made.sent[0], []
    for number in range(8000):
        if number % 1000 == 0:
            again.append((number + far // 1000, first + number * 1000))
        made.send(20 * MS + number * 10 * US, 0, payload=1000)
    for number, seq in again:
        time = 20 * MS + number * 10 * US + 5 * US
        made.packets.append((time, made.frame(0, ACK, seq, made.sent[1], 1000)))
    made.packets.sort(key=lambda packet: packet[0])
    [flow] = tables(made.write(tmp_path / "a.pcap"))["flows"].to_dicts()
    assert (flow["retransmitted_packets"], flow["outside_window_packets"]) == (len(again), 0)


@pytest.mark.parametrize("begin", [0, 1900])
def test_acknowledgements_that_begin_late_are_those_of_what_was_sent(
    begin: int, tmp_path: Path
) -> None:
    """The capture begins in the middle of a connection, while 2 MB are in flight."""
    made, under_way = Conversation(Kind()), 2000
    acknowledged = made.sent[0]
    for number in range(4000):
        made.send(number * 10 * US, 0, payload=1000)
        if number >= under_way:
            acknowledged += 1000
            frame = made.frame(1, ACK, made.sent[1], acknowledged)
            made.packets.append((number * 10 * US + US, frame))
    made.packets = [packet for packet in made.packets if packet[0] >= begin * 10 * US]
    flows = tables(made.write(tmp_path / "a.pcap"))["flows"].sort("direction", descending=True)
    assert flows["outside_window_packets"].to_list() == [0, 0]
    least, most = flows.select("rtt_min_ns", "rtt_max_ns").row(0)
    assert least == most == under_way * 10 * US + US
    assert flows["max_in_flight_bytes"].to_list() == [(under_way + 1) * 1000, 0]


def test_bytes_that_were_not_captured_are_not_in_flight(tmp_path: Path) -> None:
    """The capture lacks more than one window of data, so it lacks acknowledgements, too."""
    made = Conversation(Kind())
    made.open(0)
    for second in range(1, 4):
        made.send(1000 * second * MS, 0, payload=1000)
        made.send(1000 * second * MS + MS, 0, payload=1000)
        made.send(1000 * second * MS + 10 * MS, 1)
        made.sent[0] += 500_000
    [sent, _] = tables(made.write(tmp_path / "a.pcap"))["flows"].rows(named=True)
    assert (sent["max_in_flight_bytes"], sent["outside_window_packets"]) == (2000, 0)
