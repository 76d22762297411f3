"""RDMA over UDP (RoCEv2): queue pairs, messages, loss, round trips and congestion notifications."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import roce
from build import ethernet, ip, pcap
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_captures import Tables, tables, thread
from roce import US, Talk, reth

from flowsweep.parsing import Options, name_paths, write_tables

MTU = 1024
CE = 3


def rows(found: Tables, *columns: str) -> list[tuple[object, ...]]:
    return found["rdma"].select(columns).rows()


def test_a_write_of_three_packets_is_one_message() -> None:
    found = thread("45")
    sent, answers = found["rdma"].rows(named=True)
    assert (sent["destination_qp"], sent["peer_qp"], sent["service"]) == (0x11, 0x22, "rc")
    assert (sent["packets"], sent["messages"], sent["payload_bytes"]) == (3, 1, 2500)
    assert sent["message_bytes"] == 2500
    assert (sent["rtt_samples"], sent["rtt_min_ns"], sent["rtt_max_ns"]) == (1, 20 * US, 20 * US)
    assert (answers["destination_qp"], answers["peer_qp"]) == (0x22, 0x11)
    assert (answers["packets"], answers["ack_packets"], answers["cnp_packets"]) == (2, 1, 1)
    assert (answers["messages"], answers["rtt_mean_ns"]) == (0, None)
    # The UDP flow is unchanged.
    assert found["flows"]["packets"].to_list() == [3, 2]
    assert found["captures"]["unread_rdma_packets"].sum() == 0


def test_one_packet_is_lost_and_one_sent_again_without_need() -> None:
    sent, answers = thread("46")["rdma"].rows(named=True)
    assert (sent["lost_packets"], sent["resent_packets"], sent["repeated_packets"]) == (1, 1, 1)
    assert (sent["messages"], sent["message_bytes"], sent["payload_bytes"]) == (1, 2500, 2500)
    # Which of the two packets was acknowledged is unknown (Karn).
    assert (sent["peer_qp"], sent["rtt_samples"], sent["rtt_min_ns"]) == (0x22, 0, None)
    assert (answers["sequence_nak_packets"], answers["ack_packets"]) == (1, 1)
    assert (answers["rnr_nak_packets"], answers["other_nak_packets"]) == (0, 0)


#: What may vary without an effect on the counts.
VARIANTS = st.fixed_dictionaries(
    {
        "v6": st.booleans(),
        "vlan": st.sampled_from([None, 10]),
        "turned": st.booleans(),
        "start": st.sampled_from([0, 100, roce.WRAP - 3]),
        "service": st.sampled_from([0, roce.XRC]),
        "answers_first": st.booleans(),
    }
)


def variant(traits: dict[str, object]) -> Talk:
    ends = ("2001:db8::1", "2001:db8::2") if traits["v6"] else ("10.0.0.1", "10.0.0.2")
    a, b = reversed(ends) if traits["turned"] else ends
    talk = Talk(a, b, vlan=traits["vlan"], start=traits["start"], service=traits["service"])
    if traits["answers_first"]:
        talk.notify(-US)
    return talk


def ways(found: Tables) -> tuple[dict[str, object], dict[str, object]]:
    """Returns the row of the requests and that of the responses."""
    both = {row["destination_qp"]: row for row in found["rdma"].rows(named=True)}
    return both[0x11], both[0x22]


@settings(max_examples=60, deadline=None)
@given(
    traits=VARIANTS,
    snaplen=st.sampled_from([96, 262_144]),
    sizes=st.lists(
        st.tuples(st.booleans(), st.sampled_from([0, 1, 1024, 1025, 5000])), min_size=1, max_size=8
    ),
    lost=st.sets(st.integers(0, 20)),
)
# The message length comes late, and two of the message's packets are missing.
@example(
    traits={"v6": False, "vlan": None, "turned": False, "start": 0, "service": 0,
        "answers_first": False},
    snaplen=96,
    sizes=[(False, 0), (False, 1025), (True, 5000)],
    lost={3, 5},
)  # fmt: skip
def test_each_packet_counts_once_whatever_is_lost(
    traits: dict[str, object], snaplen: int, sizes: list[tuple[bool, int]], lost: set[int]
) -> None:
    """The receiver asks for the first lost packet, and the sender repeats all from there on."""
    talk = variant(traits)
    packets = []
    for is_write, size in sizes:
        parts = [min(MTU, size - at) for at in range(0, max(size, 1), MTU)]
        for place, part in enumerate(parts):
            is_last = place == len(parts) - 1
            kind = 4 if place == 0 and is_last else 0 if place == 0 else 2 if is_last else 1
            behind = reth(size) if is_write and place == 0 else b""
            packets.append((6 * is_write + kind, part, behind))
    # The first packet shows where the numbers begin, the last one that others are missing.
    lost = {number for number in lost if 0 < number < len(packets) - 1}

    def send(time: int, numbers: list[int]) -> int:
        for number in numbers:
            opcode, payload, behind = packets[number]
            talk.ask(time, opcode, number, payload, behind)
            time += 10 * US
        return time + 10 * US

    numbers = list(range(len(packets)))
    time = send(0, [number for number in numbers if number not in lost])
    again = numbers[min(lost) :] if lost else []
    if lost:
        talk.answer(time, min(lost), roce.SEQUENCE_ERROR)
        time = send(time + 20 * US, again)
    talk.answer(time, numbers[-1])
    found = tables(talk.capture(snaplen))
    sent, answers = ways(found)
    total = sum(size for _, size in sizes)
    assert (sent["payload_bytes"], sent["message_bytes"]) == (total, total)
    assert sent["messages"] == len(sizes)
    assert sent["lost_packets"] == sent["resent_packets"] == len(lost)
    assert sent["repeated_packets"] == len(again) - len(lost)
    assert sent["out_of_order_packets"] == 0
    # Without loss the last packet was sent once.
    assert (sent["rtt_samples"], sent["rtt_mean_ns"]) == ((0, None) if lost else (1, 20 * US))
    assert answers["sequence_nak_packets"] == bool(lost)
    assert (sent["peer_qp"], answers["peer_qp"]) == (0x22, 0x11)
    assert sent["service"] == ("xrc" if traits["service"] else "rc")
    assert found["captures"]["duplicate_packets"].sum() == 0


@settings(max_examples=40, deadline=None)
@given(
    traits=VARIANTS,
    snaplen=st.sampled_from([96, 262_144]),
    mtu=st.sampled_from([256, 1024, 4096]),
    sizes=st.lists(st.sampled_from([0, 5, 1024, 9000, 40_000]), min_size=1, max_size=5),
)
def test_reads_take_the_numbers_of_their_answers(
    traits: dict[str, object], snaplen: int, mtu: int, sizes: list[int]
) -> None:
    talk = variant(traits)
    time, number = 0, 0
    for size in sizes:
        talk.ask(time, roce.READ_REQUEST, number, behind=reth(size))
        time += 30 * US
        parts = [min(mtu, size - at) for at in range(0, max(size, 1), mtu)]
        for place, part in enumerate(parts):
            is_last = place == len(parts) - 1
            opcode = (roce.READ_ONLY if place == 0 else roce.READ_LAST) if is_last else (
                roce.READ_FIRST if place == 0 else roce.READ_MIDDLE
            )  # fmt: skip
            talk.answer(time, number + place, opcode=opcode, payload=part)
            time += US
        number += len(parts)
    asked, answered = ways(tables(talk.capture(snaplen)))
    assert (asked["read_requests"], asked["lost_packets"]) == (len(sizes), 0)
    assert (asked["messages"], asked["payload_bytes"]) == (0, 0)
    assert (asked["rtt_samples"], asked["rtt_min_ns"]) == (len(sizes), 30 * US)
    assert (answered["messages"], answered["lost_packets"]) == (len(sizes), 0)
    assert answered["payload_bytes"] == answered["message_bytes"] == sum(sizes)


def test_an_answer_to_a_read_misses_a_packet() -> None:
    talk = Talk()
    talk.ask(0, roce.READ_REQUEST, 0, behind=reth(4 * MTU))
    for place, opcode in ((0, roce.READ_FIRST), (1, roce.READ_MIDDLE), (3, roce.READ_LAST)):
        talk.answer((10 + place) * US, place, opcode=opcode, payload=MTU)
    # It asks for the rest again.
    talk.ask(50 * US, roce.READ_REQUEST, 2, behind=reth(2 * MTU))
    talk.answer(70 * US, 2, opcode=roce.READ_FIRST, payload=MTU)
    talk.answer(71 * US, 3, opcode=roce.READ_LAST, payload=MTU)
    asked, answered = ways(tables(talk.capture()))
    assert (answered["lost_packets"], answered["resent_packets"]) == (1, 1)
    assert (answered["repeated_packets"], answered["messages"]) == (1, 1)
    assert answered["payload_bytes"] == 4 * MTU
    assert asked["rtt_samples"] == 2


def test_an_answer_belongs_to_the_only_queue_pair_that_waits_for_it() -> None:
    """Two queue pairs send the same numbers, and their responses name neither."""
    same = [Talk(qps=(0x22, 0x11), start=5), Talk(qps=(0x44, 0x33), start=5)]
    for talk in same:
        talk.ask(0, roce.SEND_ONLY, 0, 100)
        talk.answer(20 * US, 0)
    packets = sorted((packet for talk in same for packet in talk.packets), key=lambda it: it[0])
    found = tables(pcap(packets))["rdma"]
    assert found["peer_qp"].null_count() == 4
    assert found["rtt_samples"].sum() == 0
    # One of them sends another packet: only it has that number.
    same[0].ask(50 * US, roce.SEND_ONLY, 1, 100)
    same[0].answer(90 * US, 1)
    packets += same[0].packets[-2:]
    found = tables(pcap(packets))["rdma"]
    peers = dict(found.select("destination_qp", "peer_qp").rows())
    assert peers == {0x11: 0x22, 0x22: 0x11, 0x33: None, 0x44: None}
    assert found.filter(destination_qp=0x11)["rtt_max_ns"].to_list() == [40 * US]


def test_numbers_far_away_contradict_what_was_thought_of_the_peer() -> None:
    talk = Talk()
    talk.ask(0, roce.SEND_ONLY, 0, 100)
    talk.answer(20 * US, 0)
    # The capture may have lost the packets that two of them answer.
    for number in range(2):
        talk.answer((30 + number) * US, (1 << 20) + number)
    sent, answers = ways(tables(talk.capture()))
    assert (sent["peer_qp"], answers["peer_qp"], sent["rtt_samples"]) == (0x22, 0x11, 1)
    talk.answer(40 * US, (1 << 20) + 2)
    sent, answers = ways(tables(talk.capture()))
    assert (sent["peer_qp"], answers["peer_qp"], sent["rtt_samples"]) == (None, None, 0)


def test_another_connection_gets_the_number_of_a_queue_pair() -> None:
    talk = Talk()
    for number in (0, 1, 1 << 20, (1 << 20) + 1):
        talk.ask(number, roce.SEND_ONLY, number, 100)
    (sent,) = tables(talk.capture())["rdma"].rows(named=True)
    assert (sent["restarts"], sent["lost_packets"], sent["messages"]) == (1, 0, 4)


def test_packets_that_the_network_put_out_of_order_are_not_lost() -> None:
    talk = Talk()
    talk.ask(0, roce.SEND_ONLY, 0, 100)
    talk.answer(20 * US, 0)
    for time, number in ((30, 2), (31, 1), (40, 4), (65, 3)):
        talk.ask(time * US, roce.SEND_ONLY, number, 100)
    sent, _ = ways(tables(talk.capture()))
    # The last one came after more than a round trip: it was sent again.
    assert (sent["out_of_order_packets"], sent["lost_packets"]) == (1, 1)
    assert (sent["resent_packets"], sent["messages"]) == (1, 5)


def test_what_a_negative_acknowledgement_asks_for_is_needed() -> None:
    talk = Talk()
    for number in (0, 1, 2):
        talk.ask(number * US, roce.SEND_ONLY, number, 100)
    # The second packet is lost after the capture point, ...
    talk.answer(30 * US, 1, roce.SEQUENCE_ERROR)
    for number in (1, 2):
        talk.ask((40 + number) * US, roce.SEND_ONLY, number, 100)
    # ... and the receiver has no buffer for the third.
    talk.answer(60 * US, 2, roce.NOT_READY)
    talk.ask(90 * US, roce.SEND_ONLY, 2, 100)
    talk.answer(99 * US, 2, roce.ACCESS_ERROR)
    sent, answers = ways(tables(talk.capture()))
    assert (sent["lost_packets"], sent["resent_packets"], sent["repeated_packets"]) == (0, 2, 1)
    assert (sent["messages"], sent["payload_bytes"]) == (3, 300)
    naks = [answers[f"{kind}_nak_packets"] for kind in ("sequence", "rnr", "other")]
    assert naks == [1, 1, 1]


def test_datagrams_name_the_queue_pair_that_sends_them() -> None:
    talk = Talk(service=roce.UD)
    for number, source in ((0, 7), (1, 7), (3, 7), (900, 8)):
        behind = struct.pack(">II", 1, source)
        talk.ask(number * US, roce.SEND_ONLY, number, 50, behind)
    found = tables(talk.capture())
    columns = ("peer_qp", "service", "packets", "lost_packets", "messages", "payload_bytes")
    assert rows(found, *columns) == [(7, "ud", 3, 1, 3, 150), (8, "ud", 1, 0, 1, 50)]


def test_unreliable_connections_send_nothing_again() -> None:
    talk = Talk(service=roce.UC)
    for time, number in ((0, 0), (1, 2), (900, 1), (901, 3)):
        talk.ask(time * US, roce.SEND_ONLY, number, 100)
    (sent,) = tables(talk.capture())["rdma"].rows(named=True)
    assert (sent["service"], sent["out_of_order_packets"], sent["resent_packets"]) == ("uc", 1, 0)
    assert sent["lost_packets"] == 0


def test_marks_are_counted_on_the_way_to_each_queue_pair() -> None:
    talk = Talk()
    for number, mark in enumerate((2, CE, CE)):
        talk.ask(number * US, roce.SEND_ONLY, number, 100, mark=mark)
    talk.notify(9 * US)
    bits = struct.pack(">BBHII", roce.SEND_ONLY, 0, 0xFFFF, 0xC000_0011, 103)
    talk.add(10 * US, 0, bits + bytes(4))
    sent, answers = ways(tables(talk.capture()))
    assert (sent["ce_packets"], sent["fecn_packets"], sent["becn_packets"]) == (2, 1, 1)
    assert (answers["cnp_packets"], answers["service"]) == (1, None)


def test_atomic_operations_are_answered() -> None:
    talk = Talk()
    talk.ask(0, roce.FETCH_ADD, 0, behind=bytes(28))
    talk.answer(15 * US, 0, opcode=roce.ATOMIC_ACKNOWLEDGE)
    asked, answers = ways(tables(talk.capture()))
    assert (asked["atomic_requests"], asked["messages"], asked["rtt_min_ns"]) == (1, 0, 15 * US)
    assert answers["ack_packets"] == 1


def test_a_write_counts_what_its_first_packet_states() -> None:
    """The capture lacks the middle of the message."""
    talk = Talk()
    talk.ask(0, roce.WRITE_FIRST, 0, MTU, reth(4 * MTU))
    talk.ask(3 * US, roce.WRITE_LAST, 3, MTU)
    talk.ask(4 * US, roce.WRITE_FIRST, 4, MTU, reth(2 * MTU))
    talk.ask(5 * US, roce.WRITE_LAST, 5, MTU)
    (sent,) = tables(talk.capture())["rdma"].rows(named=True)
    assert (sent["messages"], sent["message_bytes"]) == (2, 6 * MTU)
    assert (sent["payload_bytes"], sent["lost_packets"]) == (4 * MTU, 2)


@pytest.mark.parametrize("identified", [True, False])
def test_copies_of_packets_count_once(identified: bool) -> None:
    talk = Talk(identified=identified)
    for number in range(40):
        talk.ask(number * 100 * US, roce.SEND_ONLY, number, 100 + number)
        talk.answer((number * 100 + 50) * US, number)
    twice = [(time + late, frame) for time, frame in talk.packets for late in (0, 2 * US)]
    found = tables(pcap(sorted(twice, key=lambda it: it[0])))
    assert found["captures"]["duplicate_packets"].to_list() == [80]
    sent, answers = ways(found)
    assert (sent["packets"], sent["repeated_packets"], sent["rtt_samples"]) == (40, 0, 40)
    assert (answers["ack_packets"], sent["rtt_mean_ns"]) == (40, 50 * US)


@pytest.mark.parametrize("identified", [True, False])
def test_packets_that_are_sent_again_are_no_copies(identified: bool) -> None:
    """All packets from the missing one on are repeated within less than 0.5 ms."""
    talk = Talk(identified=identified)
    for number in range(40):
        if number != 10:
            talk.ask(number * US, roce.SEND_ONLY, number, 1000)
    talk.answer(50 * US, 10, roce.SEQUENCE_ERROR)
    for number in range(10, 40):
        talk.ask((60 + number) * US, roce.SEND_ONLY, number, 1000)
    talk.answer(120 * US, 39)
    found = tables(talk.capture())
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    sent, _ = ways(found)
    assert (sent["resent_packets"], sent["repeated_packets"]) == (1, 29)


@pytest.mark.parametrize("more", [20, 60, 150])
def test_what_is_sent_before_the_sender_hears_of_a_loss_is_no_original_of_copies(more: int) -> None:
    """Lost after the capture point; packets sent until the NAK arrives are repeated as well."""
    talk = Talk(identified=False)
    numbers = 61 + more
    for number in range(numbers):
        talk.ask(number * US // 3, roce.SEND_ONLY, number, 452)
    # For number 5, after 55 more packets.
    talk.answer(60 * US // 3 + 100, 5, roce.SEQUENCE_ERROR)
    for number in range(5, numbers):
        talk.ask((numbers + 1 + number) * US // 3, roce.SEND_ONLY, number, 452)
    talk.answer(1000 * US, numbers - 1)
    found = tables(talk.capture())
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    sent, _ = ways(found)
    assert (sent["messages"], sent["resent_packets"]) == (numbers, 1)
    assert sent["repeated_packets"] == numbers - 6


def test_tables_do_not_depend_on_the_threads(tmp_path: Path) -> None:
    """Thousands of queue pairs with losses, in several chunks of packets."""
    numbers = random.Random(7)
    packets = []
    for pair in range(3000):
        start, time = numbers.randrange(roce.WRAP), numbers.randrange(10_000) * US
        host = f"10.0.{pair % 5}.1"
        talk = Talk(host, "10.1.0.1", start=start, qps=(2 * pair, 2 * pair + 1))
        for number in range(12):
            if numbers.random() < 0.9:
                talk.ask(time, roce.SEND_ONLY, number, numbers.randrange(1000))
            if numbers.random() < 0.5:
                talk.answer(time + 20 * US, number)
            time += numbers.randrange(1000) * US
        packets += talk.packets
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted(packets, key=lambda it: it[0])))
    found = []
    for threads in (1, 2, 4):
        files = {"rdma": tmp_path / f"{threads}.parquet"}
        names = {table: Path(table) for table in files}
        write_tables(name_paths([path]), files, names, Options(threads=threads, synced=False))
        found.append(files["rdma"].read_bytes())
    assert found[0] == found[1] == found[2]
    rdma = pl.read_parquet(tmp_path / "1.parquet")
    assert rdma["lost_packets"].sum() > 1000
    assert rdma["peer_qp"].null_count() < rdma.height / 10


def test_a_flood_of_queue_pairs_ends_with_an_error(tmp_path: Path) -> None:
    talk = Talk()
    for pair in range(100_000):
        talk.qps = (0, pair)
        talk.ask(pair * US, roce.SEND_ONLY, 0, 10)
    path = tmp_path / "a.pcap"
    path.write_bytes(talk.capture())
    # In its own process: tables that other tests still hold would count as used memory.
    command = [sys.executable, "-m", "flowsweep", "parse", path, "--output", tmp_path / "tables",
               "--threads", "1", "--memory", "40MB"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "out of memory" in done.stderr
    assert "queue pairs (" in " ".join(done.stderr.split())
    assert not list(tmp_path.rglob("*.parquet"))


def test_other_packets_to_the_port_are_counted_apart() -> None:
    talk = Talk()
    for number, content in enumerate((b"", bytes(8), b"\x15" + bytes(27), b"\x04\x0f" + bytes(26))):
        talk.add(number * US, 0, content)
    found = tables(talk.capture())
    assert found["rdma"].is_empty()
    assert found["captures"]["unread_rdma_packets"].to_list() == [4]
    assert found["flows"]["packets"].to_list() == [4]
    assert found["rdma"].schema["rtt_min_ns"] == pl.Int64


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.integers(0, 60))
def test_no_header_ends_the_reading(seed: int, cut: int) -> None:
    """Headers with arbitrary bytes, cut anywhere."""
    numbers = random.Random(seed)
    packets = []
    for number in range(200):
        header = bytearray(roce.transport(numbers.choice(range(256)), numbers.randrange(3), 0))
        header[8:12] = struct.pack(">I", numbers.randrange(2**24))
        if numbers.random() < 0.2:
            header[numbers.randrange(12)] = numbers.randrange(256)
        content = bytes(header) + numbers.randbytes(4 * numbers.randrange(12))
        datagram = struct.pack(">HHHH", 9, roce.PORT, 8 + len(content), 0) + content
        packets.append((number, ethernet(ip("10.0.0.1", "10.0.0.2", 17, datagram, ident=number))))
    found = tables(pcap(packets, snaplen=42 + cut))
    read = found["rdma"]["packets"].sum()
    assert read + found["captures"]["unread_rdma_packets"].sum() == 200
