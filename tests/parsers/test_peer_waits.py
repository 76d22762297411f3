"""Time that a sender waits for the other side, with packets made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from build import pcap, tcp

import flowsweep

MS = 1_000_000
V4 = ("10.0.0.1", 1000), ("10.0.0.2", 80)
V6 = ("fd00::1", 1000), ("fd00::2", 80)
SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18
MSS, WINDOW = 1400, 60_000
RTT_MS = 20
REQUEST = 100


class Exchange:
    """A client that sends requests to a server, captured at one of them."""

    def __init__(self, *, at_server: bool = False, ends: Any = V4) -> None:
        self.ends, self.at_server = ends, at_server
        self.sent, self.time = [1, 1], 0
        self.packets: list[tuple[int, bytes]] = []
        self.hear(0, SYN, self._far(0))
        self.hear(1, SYN_ACK, self._far(1))
        self.hear(0, ACK, self._far(0), handshake=False)

    def _far(self, side: int) -> int:
        """Returns a packet's delay to the capture; a round trip is RTT_MS at either end."""
        return RTT_MS if (side == 1) != self.at_server else 0

    def hear(
        self, side: int, flags: int, ms: float, payload: int = 0, *, handshake: bool = True
    ) -> None:
        """Captures a packet of a side, `ms` after the previous one."""
        self.time += round(ms * MS)
        opens = handshake and flags in (SYN, SYN_ACK)
        seq = 0 if opens else self.sent[side]
        ack = 0 if flags == SYN else self.sent[1 - side]
        options = {"mss": MSS} if opens else {}
        src, dst = self.ends[side], self.ends[1 - side]
        frame = tcp(*src, *dst, flags, seq, payload, ack, window=WINDOW, **options)
        self.packets.append((self.time, frame))
        self.sent[side] += payload

    def ask(self, think_ms: float, serve_ms: float, answer: int = 1, spread_ms: float = 0) -> None:
        """Sends a request after the client thought, and the response of `answer` packets."""
        self.hear(0, PUSH, think_ms + self._far(0), REQUEST)
        self.hear(1, PUSH, serve_ms + self._far(1), REQUEST)
        for _ in range(answer - 1):
            self.hear(1, PUSH, spread_ms, REQUEST)

    def rows(self, folder: Path, snaplen: int = 65535) -> dict[str, dict[str, Any]]:
        file = folder / "exchange.pcap"
        file.write_bytes(pcap([(time, frame[:snaplen]) for time, frame in self.packets]))
        flows = pl.DataFrame(flowsweep.read_flows(file))
        return {row["direction"]: row for row in flows.rows(named=True)}


def waits(row: dict[str, Any]) -> tuple[float, float, int]:
    """Returns ms of waiting for the peer and of own work, and the number of waits."""
    wait = row["peer_wait_ns"]
    return wait / MS, (row["app_limited_ns"] - wait) / MS, row["peer_waits"]


@pytest.mark.parametrize("snaplen", [96, 65535])
@pytest.mark.parametrize("ends", [V4, V6])
def test_a_client_waits_for_its_answers_and_thinks_between(
    tmp_path: Path, ends: Any, snaplen: int
) -> None:
    talk = Exchange(ends=ends)
    for _ in range(10):
        talk.ask(think_ms=7, serve_ms=5)
    rows = talk.rows(tmp_path, snaplen)
    # ten responses; the client thinks between them
    assert waits(rows["forward"]) == pytest.approx((10 * 25, 9 * 7, 10), abs=0.01)


def test_a_server_waits_for_requests_and_works_between(tmp_path: Path) -> None:
    talk = Exchange(at_server=True)
    for _ in range(10):
        talk.ask(think_ms=7, serve_ms=5)
    rows = talk.rows(tmp_path)
    assert waits(rows["backward"]) == pytest.approx((9 * 27, 9 * 5, 9), abs=0.01)
    assert rows["backward"]["rtt_min_ns"] == RTT_MS * MS


def test_what_the_other_host_took_is_the_rest_of_the_round_trips(tmp_path: Path) -> None:
    """Both ends of one exchange: the client waits for the server's work and the path."""
    near, far = Exchange(), Exchange(at_server=True)
    for talk in (near, far):
        for _ in range(10):
            talk.ask(think_ms=7, serve_ms=5)
    wait, _, count = waits(near.rows(tmp_path)["forward"])
    _, work, answers = waits(far.rows(tmp_path)["backward"])
    assert wait / count - work / answers == pytest.approx(RTT_MS, abs=0.01)


def test_an_answer_is_under_way_until_its_last_packet(tmp_path: Path) -> None:
    talk = Exchange()
    for _ in range(5):
        talk.ask(think_ms=3, serve_ms=0, answer=4, spread_ms=2)
    wait, think, count = waits(talk.rows(tmp_path)["forward"])
    # of the last response, only the time to its acknowledgement is included
    assert (wait, think, count) == pytest.approx((4 * 26 + 20, 4 * 3, 5), abs=0.01)


def test_who_writes_by_a_clock_and_is_acknowledged_waits_for_nobody(tmp_path: Path) -> None:
    talk = Exchange()
    for _ in range(10):
        talk.hear(0, PUSH, 50, REQUEST)
        talk.hear(1, ACK, RTT_MS)
    wait, own, count = waits(talk.rows(tmp_path)["forward"])
    assert (wait, count) == (0, 0)
    assert own == pytest.approx(9 * 70 + 20, abs=0.01)
