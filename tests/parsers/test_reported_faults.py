"""Captures of faults that users of other tools reported: what the parser counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from build import pcap, udp
from made_captures import flow_rows, thread

from flowsweep.captures import Table
from flowsweep.parsing import Settings

MS = 1_000_000
COUNTS = ("connection", "packets", "payload_bytes", "retransmitted_packets", "rtt_samples")


def captures(found: dict[str, pl.DataFrame], *columns: str) -> list[tuple[object, ...]]:
    return found["captures"].select(columns).rows()


def test_a_syn_behind_the_answer_is_of_the_same_connection() -> None:
    found = thread("01")
    assert flow_rows(found, "connection", "payload_bytes") == [(0, 2000), (0, 0)]
    assert found["flows"]["handshake_rtt_ns"][0] == 10 * MS
    assert captures(found, "reordered_packets", "late_packets") == [(2, 0)]


def test_a_stray_syn_ack_is_no_handshake() -> None:
    found = thread("02")
    _, server = found["flows"].rows(named=True)
    assert (server["stray_syn_ack_packets"], server["rtt_samples"]) == (1, 6)
    assert server["rtt_mean_ns"] == 8_335_000


def test_a_connection_that_is_replayed_is_another_one() -> None:
    found = thread("04")
    assert flow_rows(found, *COUNTS) == [(0, 5, 1000, 0, 3), (0, 3, 0, 0, 2),
                                         (1, 5, 1000, 0, 3), (1, 3, 0, 0, 2)]  # fmt: skip
    assert found["flows"]["keep_alives"].sum() == 0


def test_a_stray_syn_ends_nothing() -> None:
    found = thread("05")
    assert flow_rows(found, "connection", "end", "stray_syn_packets") == [
        (0, "fin", 1),
        (0, "fin", 0),
    ]
    assert found["flows"]["payload_bytes"].to_list() == [3000, 0]


def test_a_syn_that_is_repeated_behind_its_answer_leaves_no_doubt_about_that() -> None:
    """The server cannot know which of its own two responses was acknowledged."""
    found = thread("07")
    assert found["flows"]["handshake_rtt_ns"].to_list() == [10 * MS, None]
    assert found["flows"]["connection"].to_list() == [0, 0]


def test_ports_of_a_closed_connection_serve_another_one() -> None:
    found = thread("10")
    assert flow_rows(found, "connection", "start", "out_of_order_packets") == [
        (0, "syn", 0), (0, "syn", 0), (1, "midstream", 0), (1, "midstream", 0),
    ]  # fmt: skip


def test_a_wild_segment_is_counted_apart() -> None:
    found = thread("11")
    client, _ = found["flows"].rows(named=True)
    assert (client["outside_window_packets"], client["rtt_samples"]) == (1, 6)
    assert client["out_of_order_packets"] == 0
    assert found["messages"].height == 4


def test_a_byte_that_was_refused_and_sent_again_was_a_window_probe() -> None:
    """By definition it is a repeated byte, and no loss."""
    client, _ = thread("12")["flows"].rows(named=True)
    assert (client["retransmitted_packets"], client["window_probes"]) == (1, 1)
    assert client["retransmitted_probes"] == 1


def test_records_that_are_all_there_twice_count_once() -> None:
    found = thread("13")
    assert captures(found, "packets", "duplicate_packets") == [(20, 10)]
    assert flow_rows(found, *COUNTS) == [(0, 6, 2000, 0, 4), (0, 4, 0, 0, 2)]
    assert found["flows"]["rtt_mean_ns"][0] == 10 * MS


def test_queues_that_were_written_one_behind_the_other_are_put_into_order() -> None:
    found = thread("15")
    assert found["flows"]["rtt_samples"][0] == 5
    assert captures(found, "time_regressions", "reordered_packets") == [(2, 4)]


def test_a_super_packet_is_as_long_as_it_is() -> None:
    found = thread("24")
    assert captures(found, "super_packets") == [(20,)]
    assert found["flows"]["largest_packet_bytes"][0] == 65_200


def test_equal_ports_in_two_vlans_are_distinguished_by_their_numbers() -> None:
    flows = thread("31")["flows"]
    assert flows["connection"].to_list() == [0, 0, 1, 1]
    assert flows["vlan"].to_list() == [10, 10, 20, 20]
    assert flows["retransmitted_packets"].sum() == flows["out_of_order_packets"].sum() == 0


def test_datagrams_in_two_networks_are_distinguished_where_networks_count(tmp_path: Path) -> None:
    frame = udp("10.0.0.1", 9, "10.0.0.2", 9, payload=100)
    tagged = [frame[:12] + b"\x81\x00" + bytes([0, vlan]) + frame[12:] for vlan in (10, 20)]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(0, tagged[0]), (50 * MS, tagged[1]), (90 * MS, frame)]))
    mixed = pl.DataFrame(Table("flows", (path,)))
    apart = pl.DataFrame(Table("flows", (path,), Settings(by_network=True)))
    assert (mixed["vlan"].to_list(), mixed["packets"].to_list()) == ([10], [3])
    assert (apart["vlan"].to_list(), apart["packets"].to_list()) == ([10, 20, None], [1, 1, 1])


def test_a_tag_of_priority_alone_names_no_network(tmp_path: Path) -> None:
    """IEEE 802.1Q 9.6: the ID 0 names no VLAN; a tag after it may."""
    there, back = udp("10.0.0.1", 9, "10.0.0.2", 9), udp("10.0.0.2", 9, "10.0.0.1", 9)
    priority, tag = b"\x81\0\xa0\0", b"\x81\0\0\x0a"
    path = tmp_path / "a.pcap"
    frames = [there, back[:12] + priority + back[12:], there[:12] + priority + tag + there[12:]]
    path.write_bytes(pcap([(number * 50 * MS, frame) for number, frame in enumerate(frames)]))
    flows = pl.DataFrame(Table("flows", (path,), Settings(by_network=True)))
    assert flows["connection"].to_list() == [0, 0, 1]
    assert flows["vlan"].to_list() == [None, None, 10]


def test_packets_of_two_interfaces_count_once() -> None:
    found = thread("49")
    assert captures(found, "packets", "duplicate_packets") == [(10, 0), (10, 10)]
    assert flow_rows(found, *COUNTS) == [(0, 6, 2000, 0, 4), (0, 4, 0, 0, 2)]
    assert Path(found["captures"]["file"][0]).name.startswith("49-")
