"""Copies of packets: distinguished from retransmissions, and counted apart."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import build
import polars as pl
import pytest
from conversation import ACK, FIN, MS, RST, RTT, US, Conversation, Kind, tables, whole
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsweep.analysis.capture_summary import summarise
from flowsweep.captures import Table
from flowsweep.parsing import Settings
from flowsweep.render.terminal import capture

KINDS = st.builds(
    Kind,
    v6=st.booleans(),
    vlan=st.sampled_from([None, 7]),
    turned=st.booleans(),
    identified=st.booleans(),
    client_isn=st.sampled_from([1000, 2**32 - 900]),
    server_isn=st.sampled_from([500_000, 2**32 - 1]),
    snaplen=st.sampled_from([96, 262_144]),
)


def doubled(made: Conversation, delay: int) -> Conversation:
    """Returns the conversation with each packet recorded again after `delay`."""
    both = [(time + late, frame) for time, frame in made.packets for late in (0, delay)]
    made.packets[:] = sorted(both, key=lambda packet: packet[0])
    return made


@settings(max_examples=60, deadline=None)
@given(
    kind=KINDS,
    delay=st.sampled_from([0, 1 * US, 6 * US, 80 * US, 400 * US, 3 * MS, 9 * MS, 20 * MS, 40 * MS]),
    pings=st.integers(1, 5),
)
def test_each_packet_recorded_twice_counts_once(
    kind: Kind, delay: int, pings: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Even after its acknowledgement: no host repeats a SYN, or the packets near it, so soon."""
    path = tmp_path_factory.mktemp("twice") / "a.pcap"
    once = tables(whole(kind, pings).write(path))
    twice = tables(doubled(whole(kind, pings), delay).write(path))
    copies = twice["packets"].filter(pl.col("copy_of").is_not_null())
    assert twice["captures"]["duplicate_packets"].to_list() == [once["packets"].height]
    assert twice["captures"]["duplicate_bytes"][0] * 2 == twice["captures"]["wire_bytes"][0]
    distant = once["packets"].height if delay > MS else 0
    assert twice["captures"]["distant_duplicate_packets"].to_list() == [distant]
    originals = copies.join(twice["packets"], left_on="copy_of", right_on="packet")
    assert originals.select("seq", "ack", "tcp_flags").equals(
        copies.select("seq", "ack", "tcp_flags")
    )
    assert originals["copy_of"].n_unique() == copies.height
    assert copies["connection"].null_count() == copies.height
    for name in ("flows", "throughput", "messages"):
        assert twice[name].equals(once[name]), name


@settings(max_examples=40, deadline=None)
@given(
    kind=KINDS,
    delay=st.sampled_from([2 * MS, 9 * MS, 40 * MS, 300 * MS]),
    seed=st.integers(0, 1000),
)
def test_a_packet_that_was_sent_again_is_no_copy(
    kind: Kind, delay: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It has another identification; without identifications it comes alone, or much later."""
    chance = random.Random(seed)
    made = Conversation(kind)
    made.open(0)
    repeated = 0
    for number in range(6):
        made.ping((number + 1) * 1000 * MS)
        if chance.random() < 0.5:
            repeated += 1
            time, _ = made.packets[-2]
            made.packets.append(
                (time + delay, made.frame(0, 16, made.sent[0] - 1000, made.sent[1], 1000))
            )
            made.packets.sort(key=lambda packet: packet[0])
    found = tables(made.write(tmp_path_factory.mktemp("again") / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["retransmitted_packets"].to_list() == [repeated, 0]


@pytest.mark.parametrize("v6", [False, True])
def test_a_packet_in_front_of_a_router_and_behind_it_counts_once(v6: bool, tmp_path: Path) -> None:
    """The router changes the Ethernet addresses and the TTL; it may take milliseconds."""
    made = whole(Kind(v6=v6))
    both = []
    for time, frame in made.packets:
        behind = bytearray(frame)
        behind[:12] = bytes(range(12))
        behind[14 + (7 if v6 else 8)] -= 1
        both += [(time, frame), (time + 2 * MS, bytes(behind))]
    once = tables(made.write(tmp_path / "once.pcap"))
    made.packets[:] = sorted(both, key=lambda packet: packet[0])
    twice = tables(made.write(tmp_path / "twice.pcap"))
    assert twice["captures"]["duplicate_packets"].to_list() == [10]
    assert twice["flows"].equals(once["flows"])


def test_duplicate_acknowledgements_are_no_copies(tmp_path: Path) -> None:
    """Without identifications three of them look alike; no packet near them is recorded twice."""
    made = Conversation(Kind(v6=True))
    made.open(0)
    made.ping(100 * MS)
    time, ack = made.packets[-1]
    made.packets += [(time + number * US, ack) for number in (1, 2, 3)]
    made.ping(200 * MS)
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [0]


@pytest.mark.parametrize("v6", [False, True])
def test_datagrams_of_equal_content_are_no_copies(v6: bool, tmp_path: Path) -> None:
    """A sender may repeat the same content."""
    ends = ("fd00::1", "fd00::2") if v6 else ("10.0.0.1", "10.0.0.2")
    frame = build.udp(ends[0], 5000, ends[1], 5001, payload=1400)
    packets = [(number * 12 * US, frame) for number in range(500)]
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["packets"].to_list() == [500]


def test_datagrams_recorded_twice_count_once_where_their_content_differs(tmp_path: Path) -> None:
    packets = []
    for number in range(40):
        frame = bytearray(build.udp("fd00::1", 5000, "fd00::2", 5001, payload=100))
        frame[60:62] = struct.pack(">H", 77 * number + 1)  # the checksum
        packets += [(number * MS, bytes(frame)), (number * MS + 5 * US, bytes(frame))]
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [40]
    assert found["flows"]["packets"].to_list() == [40]


def test_copies_count_where_they_are_to_be_kept(tmp_path: Path) -> None:
    path = doubled(whole(Kind()), 6 * US).write(tmp_path / "a.pcap")
    found = tables(path, keep_duplicates=True)
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    assert found["flows"]["payload_bytes"].to_list() == [4000, 0]
    assert found["packets"]["copy_of"].null_count() == 20


@pytest.mark.parametrize("v6", [False, True])
def test_each_packet_recorded_three_times_counts_once(v6: bool, tmp_path: Path) -> None:
    made = whole(Kind(v6=v6))
    thrice = [(time + late * 3 * US, frame) for time, frame in made.packets for late in range(3)]
    made.packets[:] = sorted(thrice, key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [20]
    assert found["flows"]["retransmitted_packets"].to_list() == [0, 0]


def test_probes_with_a_rising_ttl_are_no_copies(tmp_path: Path) -> None:
    frame = bytearray(build.udp("fd00::1", 5000, "fd00::2", 33434, payload=32))
    packets = []
    for ttl in range(1, 21):
        frame[21] = ttl
        packets.append((ttl * MS, bytes(frame)))
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    assert tables(path)["flows"]["packets"].to_list() == [20]


def test_acknowledgements_are_no_copies_where_only_the_other_direction_is(tmp_path: Path) -> None:
    """A mirror may copy one direction only: the other has three true duplicate acknowledgements."""
    made = Conversation(Kind(v6=True))
    made.open(0)
    for number in range(20):
        time = (number + 1) * 100 * MS
        made.ping(time)
        _, ack = made.packets[-1]
        made.packets += [(time + 10 * MS + late * US, ack) for late in (1, 2, 3)]
    data = [(time + 6 * US, frame) for time, frame in made.packets if frame[54:56] != b"\x00\x50"]
    made.packets[:] = sorted(made.packets + data, key=lambda packet: packet[0])
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [len(data)]
    assert found["flows"]["packets"].to_list() == [len(data), 81]


def test_answers_of_a_host_without_the_connection_are_no_copies(tmp_path: Path) -> None:
    """The link copied the last data, and each copy caused a RST without identification."""
    made = Conversation()
    made.open(0)
    for number in range(3):
        made.ping((30 + 30 * number) * MS)
    time, seq = 150 * MS, made.sent[0]
    made.send(time, 0, payload=8)
    made.packets.append((time + 6 * US, made.packets[-1][1]))
    made.send(time + 20 * US, 0, FIN | ACK)
    made.kind = Kind(identified=False)
    reset = made.frame(0, RST, seq, 0)
    made.packets += [(time + 5 * MS, reset), (time + 5 * MS + 254 * US, reset)]
    found = tables(made.write(tmp_path / "a.pcap"))
    assert found["captures"]["duplicate_packets"].to_list() == [1]
    assert found["flows"].filter(direction="forward")["rst_packets"].to_list() == [2]


def test_datagrams_of_random_identification_are_no_copies(tmp_path: Path) -> None:
    """Two of that many share an identification by chance."""
    chance = random.Random(5)
    packets = []
    for number in range(20_000):
        frame = bytearray(build.udp("10.0.0.1", 5000, "10.0.0.2", 5001, payload=64))
        frame[18:20] = chance.randrange(1, 2**16).to_bytes(2, "big")
        packets.append((number * 3 * US, bytes(frame)))
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    assert tables(path)["flows"]["packets"].to_list() == [20_000]


def test_datagrams_with_an_equal_beginning_are_no_copies(tmp_path: Path) -> None:
    packets = []
    for number in range(100):
        frame = bytearray(build.udp("fd00::1", 5000, "fd00::2", 5001, payload=400))
        frame[300] = number
        packets.append((number // 2 * MS + number % 2 * 10 * US, bytes(frame)))
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    assert tables(path)["flows"]["packets"].to_list() == [100]


def test_a_mirror_of_single_packets_is_recognised_by_the_whole_capture(tmp_path: Path) -> None:
    """Queries to a name server, each from its own port, recorded twice."""
    packets = []
    for number in range(20):
        frame = bytearray(build.udp("10.0.0.1", 5000 + number, "10.0.0.2", 53, payload=40))
        packets += [(number * 20 * MS + late, bytes(frame)) for late in (0, 3 * US)]
    path = tmp_path / "a.pcap"
    path.write_bytes(build.pcap(packets))
    found = tables(path)
    assert found["captures"]["duplicate_packets"].to_list() == [20]
    assert found["flows"]["packets"].to_list() == [1] * 20


def test_a_summary_says_what_the_wire_carried(capsys: pytest.CaptureFixture[str]) -> None:
    twice = Path(__file__).parents[1] / "data/threads/13-twice.pcap"
    for kept, head in (
        (False, "20 packets, 10 of them copies 2.55 kB on the wire"),
        (True, "20 packets 5.1 kB on the wire"),
    ):
        capture.print_summaries([summarise(twice, keep_duplicates=kept)])
        assert head in " ".join(capsys.readouterr().out.split())


def test_a_summary_counts_copies_as_asked() -> None:
    twice = Path(__file__).parents[1] / "data/threads/13-twice.pcap"
    once, both = (summarise(twice, keep_duplicates=kept) for kept in (False, True))
    assert max(both.out_mbit_s) == pytest.approx(2 * max(once.out_mbit_s))
    assert [flow["retransmitted_packets"] for flow in once.top] == [0, 0]
    assert [flow["retransmitted_packets"] for flow in both.top] == [4, 2]


@pytest.mark.parametrize("queue", [0, 60 * MS])
def test_captures_of_both_ends_count_each_packet_once(queue: int, tmp_path: Path) -> None:
    """The other end sees a packet half a round trip later, plus the time in a queue.

    A packet that was lost and sent again has another identification, and is no copy.
    """
    made = whole(Kind(), pings=20)
    ends: tuple[list[tuple[int, bytes]], ...] = ([], [])
    for number, (time, frame) in enumerate(made.packets):
        side = int(frame[26:30] != bytes([10, 0, 0, 1]))
        ends[side].append((time, frame))
        if number == 7:  # a ping that is lost: only its sender sees it
            continue
        ends[1 - side].append((time + RTT // 2 + queue, frame))
    paths = [tmp_path / "client.pcap", tmp_path / "server.pcap"]
    for path, packets in zip(paths, ends, strict=True):
        made.packets[:] = sorted(packets, key=lambda packet: packet[0])
        made.write(path)
    rows = pl.DataFrame(Table("packets", tuple(paths), Settings()))
    both_ways = min(map(len, ends))
    # It takes a few packets to learn whether a side numbers its packets.
    assert both_ways - 5 <= rows["copy_of"].is_not_null().sum() <= both_ways
