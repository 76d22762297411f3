"""Each rule of TCP's RFCs that the parser implements, on a few segments; rules.py lists them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rules
from build import pcap, tcp

import flowsweep

CLIENT, SERVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
MS = 1_000_000
NOP = b"\x01"


def from_client(flags: int = ACK, **more: Any) -> bytes:
    """Returns a segment of the client."""
    return tcp(*CLIENT, *SERVER, flags=flags, **more)


def from_server(flags: int = ACK, **more: Any) -> bytes:
    """Returns a segment of the server."""
    return tcp(*SERVER, *CLIENT, flags=flags, **more)


def scale(shift: int) -> bytes:
    """Returns the window scale option."""
    return struct.pack(">BBB", 3, 3, shift) + NOP


class Flows:
    """Rows of `flows` for the frames of one connection, a millisecond apart."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "a.pcap"

    def rows(self, *frames: bytes, step: int = MS) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the client's row and the server's."""
        self._path.write_bytes(pcap([(i * step, frame) for i, frame in enumerate(frames)]))
        table = pl.DataFrame(flowsweep.read_flows(self._path))
        found = {row["src_ip"]: row for row in table.rows(named=True)}
        return found.get(CLIENT[0], {}), found.get(SERVER[0], {})


@pytest.fixture
def flows(tmp_path: Path) -> Flows:
    """See `Flows`."""
    return Flows(tmp_path)


def opened(client_options: bytes = b"", server_options: bytes = b"") -> list[bytes]:
    """Returns a handshake; both sides number from 100."""
    return [
        from_client(SYN, seq=99, options=client_options),
        from_server(SYN | ACK, seq=99, ack=100, options=server_options),
        from_client(seq=100, ack=100),
    ]


def test_numbers_go_round(flows: Flows) -> None:
    """RFC 9293 3.4: sequence numbers wrap at 2^32, and bytes sent twice are retransmitted."""
    near = 2**32 - 150
    row, _ = flows.rows(
        from_client(seq=near, payload=100),
        from_client(seq=near + 100, payload=100),
        from_client(seq=50, payload=100),
        # half of it was captured before
        from_client(seq=100, payload=100),
    )
    assert row["payload_bytes"] == 400
    assert (row["retransmitted_packets"], row["retransmitted_bytes"]) == (1, 50)


def test_an_old_acknowledgement_does_not_belong_to_a_new_connection(flows: Flows) -> None:
    """RFC 9293 3.5.1: a half-open side acknowledges bytes that this connection never sent."""
    row, _ = flows.rows(
        from_client(SYN, seq=99),
        from_server(seq=7000, ack=5000),
        from_client(SYN, seq=99),
        from_server(SYN | ACK, seq=99, ack=100),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110),
    )
    assert (row["rtt_samples"], row["rtt_max_ns"]) == (1, MS)


def test_the_number_of_a_reset_says_nothing_of_bytes(flows: Flows) -> None:
    """RFC 9293 3.5.3: a reset's own number is no byte; its acknowledgement is valid for a SYN."""
    row, _ = flows.rows(
        *opened(), from_client(seq=100, ack=100, payload=10), from_client(RST, seq=90)
    )
    assert (row["retransmitted_packets"], row["rst_packets"]) == (0, 1)
    answered, _ = flows.rows(from_client(SYN, seq=99), from_server(RST | ACK, ack=100))
    assert answered["handshake_rtt_ns"] == MS
    other, _ = flows.rows(from_client(SYN, seq=99), from_server(RST | ACK, ack=5000))
    assert other["handshake_rtt_ns"] is None


def test_the_last_syn_that_tells_holds(flows: Flows) -> None:
    """RFC 9293 3.7.1: the MSS is an option of the SYN; of several SYNs, the last that has one."""
    row, _ = flows.rows(
        from_client(SYN, seq=99, mss=1460), from_client(SYN, seq=99, mss=1220),
        from_client(SYN, seq=99),
        from_server(SYN | ACK, seq=99, ack=100, mss=1000),
    )  # fmt: skip
    assert row["mss"] == 1220


@pytest.mark.parametrize("payload", [0, 1])
def test_a_keep_alive_is_below_what_is_acknowledged(flows: Flows, payload: int) -> None:
    """RFC 9293 3.8.4: a keep-alive repeats at most one acknowledged byte."""
    row, _ = flows.rows(
        *opened(),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110),
        from_client(seq=109, ack=100, payload=payload),
    )
    assert (row["keep_alives"], row["window_probes"]) == (1, 0)
    assert (row["retransmitted_packets"], row["retransmitted_probes"]) == (payload, payload)
    waiting, _ = flows.rows(
        *opened(),
        from_client(seq=100, ack=100, payload=10),
        from_client(seq=109, ack=100, payload=payload),
    )
    assert waiting["keep_alives"] == 0


@pytest.mark.parametrize("number", [109, 110])
def test_a_window_probe_goes_into_a_window_of_zero(flows: Flows, number: int) -> None:
    """RFC 9293 3.8.6.1: one new byte, or none with an old number, into a closed window."""
    row, server = flows.rows(
        *opened(),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110, window=0),
        from_client(seq=number, ack=100, payload=number - 109),
    )
    assert (row["window_probes"], row["keep_alives"]) == (1, 0)
    assert server["zero_window_packets"] == 1


def test_a_window_probe_without_a_byte_hides_no_retransmission(flows: Flows) -> None:
    probe = from_client(seq=109, ack=100)
    again = from_client(seq=110, ack=100, payload=10)
    row, _ = flows.rows(
        *opened(),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110, window=0),
        probe,
        from_server(seq=100, ack=110),
        again,
        again,
    )
    assert (row["retransmitted_packets"], row["retransmitted_probes"]) == (1, 0)
    assert row["window_probes"] == 1


def test_a_delayed_acknowledgement_measures_the_newest_segment(flows: Flows) -> None:
    """RFC 9293 3.8.6.3: the second segment makes the other side acknowledge both."""
    row, _ = flows.rows(
        from_client(seq=100, ack=1, payload=10),
        from_client(seq=110, ack=1, payload=10),
        from_server(seq=1, ack=120),
    )
    assert (row["rtt_samples"], row["rtt_max_ns"]) == (1, MS)


def test_a_window_is_scaled_where_both_scale(flows: Flows) -> None:
    """RFC 7323 2.2: only if both SYNs carry the option, and never in a SYN itself."""
    last = from_client(seq=100, ack=100, window=60)
    row, _ = flows.rows(*opened(scale(3), scale(0)), last)
    assert row["max_window_bytes"] == 512 << 3
    alone, _ = flows.rows(*opened(scale(3)), last)
    assert alone["max_window_bytes"] == 512
    syn, _ = flows.rows(
        from_client(SYN, seq=99, window=4000, options=scale(3)),
        from_server(SYN | ACK, seq=99, ack=100, options=scale(3)),
        last,
    )
    assert syn["max_window_bytes"] == 4000


def test_a_shift_above_14_is_14(flows: Flows) -> None:
    """RFC 7323 2.3: a greater shift is taken as 14."""
    row, _ = flows.rows(*opened(scale(15), scale(0)))
    assert row["window_scale"] == 14


def test_sack_is_permitted_in_a_syn(flows: Flows) -> None:
    """RFC 2018 2: each side's SYN has its own option."""
    client, server = flows.rows(*opened(struct.pack(">BB", 4, 2) + NOP * 2))
    assert (client["sack_permitted"], server["sack_permitted"]) == (True, False)


def test_the_first_block_tells_what_was_received_last(flows: Flows) -> None:
    """RFC 2018 3, RFC 2018 4: the block that covers a segment after a hole acknowledges it."""
    row, _ = flows.rows(
        from_client(seq=100, ack=1, payload=100),
        from_client(seq=300, ack=1, payload=100),
        from_server(seq=1, ack=200, sack=(300, 400)),
    )
    assert (row["rtt_samples"], row["rtt_max_ns"]) == (1, MS)


def test_a_block_below_the_acknowledgement_measures_nothing(flows: Flows) -> None:
    """RFC 2883 4: it reports bytes that arrived twice."""
    row, _ = flows.rows(
        from_client(seq=100, ack=1, payload=100),
        from_server(seq=1, ack=200),
        from_server(seq=1, ack=200, sack=(100, 200)),
    )
    assert row["rtt_samples"] == 1


def test_a_byte_sent_twice_measures_nothing(flows: Flows) -> None:
    """RFC 6298 3: which sending was acknowledged is unknown, also for SYNs."""
    row, _ = flows.rows(
        from_client(SYN, seq=99),
        from_client(SYN, seq=99),
        from_server(SYN | ACK, seq=99, ack=100),
        from_client(seq=100, ack=100, payload=10),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110),
        # any sooner, the second SYN would be a copy of the first
        step=1000 * MS,
    )
    assert (row["rtt_samples"], row["handshake_rtt_ns"]) == (0, None)


def test_a_syn_whose_answer_was_not_captured_measures_nothing(flows: Flows) -> None:
    """RFC 9293 3.5: a SYN answers it; a later acknowledgement waited for an application."""
    row, _ = flows.rows(
        from_client(SYN, seq=99),
        from_client(seq=100, ack=100),
        from_server(seq=100, ack=100, payload=10),
        from_client(seq=100, ack=110, payload=10),
        from_server(seq=110, ack=110),
    )
    assert (row["rtt_samples"], row["rtt_max_ns"], row["handshake_rtt_ns"]) == (1, MS, None)


def test_an_answer_may_acknowledge_part_of_the_data_in_a_syn(flows: Flows) -> None:
    """RFC 9293 3.10.7.3: any acknowledgement of the SYN belongs to this connection."""
    client, server = flows.rows(
        from_client(SYN, seq=99, payload=300),
        from_server(SYN | ACK, seq=99, ack=200),
        from_client(seq=200, ack=100, payload=200),
        from_server(seq=100, ack=400),
    )
    assert client["connection"] == server["connection"]
    assert (client["payload_bytes"], client["retransmitted_bytes"]) == (500, 200)
    assert client["handshake_rtt_ns"] == MS


CONDITIONS = {
    "all five": ({}, 1),
    "nothing outstanding": ({"outstanding": 0}, 0),
    "payload": ({"payload": 1}, 0),
    "FIN": ({"flags": ACK | FIN}, 0),
    "another number": ({"ack": 105}, 0),
    "another window": ({"window": 700}, 0),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_duplicate_acknowledgement_fulfils_all_conditions(flows: Flows, condition: str) -> None:
    """RFC 5681 2: data outstanding, no data, no SYN or FIN, the same number, the same window."""
    changed, expected = CONDITIONS[condition]
    segment = {"flags": ACK, "ack": 110, "payload": 0, "window": 512, "outstanding": 10} | changed
    outstanding = segment.pop("outstanding")
    frames = [from_client(seq=110, ack=100, payload=outstanding)] if outstanding else []
    _, server = flows.rows(
        *opened(),
        from_client(seq=100, ack=100, payload=10),
        from_server(seq=100, ack=110),
        *frames,
        from_server(seq=100, **segment),
    )
    assert server["duplicate_acks"] == expected


def test_every_rule_is_held_by_a_test_and_every_test_names_a_rule() -> None:
    obeyed = {place.rule for place in rules.in_code() if place.file.startswith(rules.CODE[0])}
    held = {place.rule for place in rules.in_tests()}
    assert obeyed
    # These two affect what limited a sender: test_limit_rules.py.
    assert obeyed - held == {"RFC 6298 2.3", "RFC 9293 3.8.6"}
    assert held - {place.rule for place in rules.in_code()} == set()


def test_every_citation_stands_at_a_function_or_a_field() -> None:
    assert [place for place in rules.in_code() if not place.name] == []
