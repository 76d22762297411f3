"""A receiver closes its window: did data wait for it, and for how long?"""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from conversation import ACK, KINDS, MS, RTT, US, Conversation, Kind, tables
from hypothesis import given, settings
from hypothesis import strategies as st

#: When the receiver acknowledged the data with a zero window, and when it reopened the window.
CLOSED, OPENED = 100 * MS + RTT, 900 * MS


def conversation(kind: Kind, probes: str, resumed: int) -> Conversation:
    """Sends 1,000 bytes, `probes` the zero window, and sends again `resumed` ns after it opens."""
    made = Conversation(kind)
    made.open(0)
    made.send(100 * MS, 0, payload=1000)

    def answer(time: int, window: int) -> None:
        frame = bytearray(made.frame(1, ACK, made.sent[1], made.sent[0]))
        at = (14 if kind.vlan is None else 18) + (40 if kind.v6 else 20) + 14
        frame[at : at + 2] = struct.pack(">H", window)
        made.packets.append((time, bytes(frame)))

    answer(CLOSED, 0)
    for number in range(3 if probes != "none" else 0):
        time = CLOSED + (number + 1) * 200 * MS
        first, payload = {"below": (-1, 0), "beyond": (0, 1)}[probes]
        frame = made.frame(0, ACK, made.sent[0] + first, made.sent[1], payload)
        made.packets.append((time, frame))
        answer(time + RTT, 0)
    answer(OPENED, 65_535)
    made.send(OPENED + resumed, 0, payload=1000)
    made.send(OPENED + resumed + RTT, 1)
    return made


@settings(max_examples=60, deadline=None)
@given(
    kind=KINDS,
    probes=st.sampled_from(["below", "beyond"]),
    resumed=st.sampled_from([20 * US, 1 * MS, 30 * MS]),
)
def test_a_sender_that_probes_waits_for_the_window(
    kind: Kind, probes: str, resumed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Linux probes with an old number and no byte, other systems with the next byte."""
    made = conversation(kind, probes, resumed)
    found = tables(made.write(tmp_path_factory.mktemp("closed") / "a.pcap"))["flows"]
    [sent] = found.filter(pl.col("payload_bytes") > 0).rows(named=True)
    assert sent["window_probes"] == 3
    # Time that the sender spent with an open window is not the receiver's.
    slack = max(1 * MS, resumed)
    assert sent["receiver_limited_ns"] == pytest.approx(OPENED - CLOSED, abs=slack)
    assert sent["network_limited_ns"] <= resumed


@pytest.mark.parametrize(("resumed", "closed_ns"), [(20 * US, OPENED - CLOSED), (300 * MS, 0)])
def test_without_a_probe_data_soon_behind_the_opening_waited_for_it(
    resumed: int, closed_ns: int, tmp_path: Path
) -> None:
    made = conversation(Kind(), "none", resumed)
    found = tables(made.write(tmp_path / "a.pcap"))["flows"]
    [sent] = found.filter(pl.col("payload_bytes") > 0).rows(named=True)
    assert sent["receiver_limited_ns"] == pytest.approx(closed_ns, abs=1 * MS)
    assert sent["app_limited_ns"] >= OPENED - CLOSED - closed_ns
