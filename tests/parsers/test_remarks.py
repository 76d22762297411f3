"""What `show` says about captures that are correct but may surprise a reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversation import MS, SYN, US, Conversation, Kind, whole

from flowsweep.analysis.capture_summary import summarise

THREADS = Path(__file__).parents[1] / "data" / "threads"


def texts(path: Path) -> str:
    return "; ".join(f"{note.level} {note.text}" for note in summarise(path).notes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("04-replayed.pcap", "ok 1 connection on ports that an earlier one used"),
        ("10-reuse-without-syn.pcap", "ok 1 connection on ports that an earlier one used"),
        (
            "12-window-probe.pcap",
            "ok 1 packet with a byte of a keep-alive or window probe again: no",
        ),
        ("21-fcs.pcap", "ok packets end with 4 B of frame check sequence, which no length counts"),
        ("22-fcs.pcapng", "ok packets end with 4 B of frame check sequence"),
    ],
)
def test_each_condition_has_a_line(name: str, text: str) -> None:
    assert text in texts(THREADS / name)


def test_numbers_that_a_firewall_rewrites_are_another_connection(tmp_path: Path) -> None:
    inside, outside = whole(Kind()), whole(Kind(client_isn=3_000_000_000, server_isn=7))
    late = [(time + 20 * US, frame) for time, frame in outside.packets]
    both = Conversation(packets=sorted(inside.packets + late, key=lambda packet: packet[0]))
    remarks = texts(both.write(tmp_path / "a.pcap"))
    assert "note 1 TCP connection on the ports of another one at the same time" in remarks
    assert "earlier one" not in remarks


def test_a_usual_capture_has_none_of_them(tmp_path: Path) -> None:
    remarks = texts(whole(Kind()).write(tmp_path / "a.pcap"))
    assert not [word for word in ("ports", "probe", "frame check") if word in remarks]


def test_bytes_of_probes_are_not_sent_again_in_the_list_of_flows() -> None:
    [sent, _] = summarise(THREADS / "12-window-probe.pcap").top
    assert sent["retransmitted_packets"] == 0
    assert sent["limited_ns"]["window"] == pytest.approx(490_000_000, abs=2_000_000)


@pytest.mark.parametrize("side", [0, 1])
def test_a_mirror_of_one_direction_is_reported(side: int, tmp_path: Path) -> None:
    made = whole(Kind())
    made.packets = [packet for packet in made.packets if (packet[1][29] == 2) == bool(side)]
    assert "note 1 TCP connection with packets of one direction alone" in texts(
        made.write(tmp_path / "a.pcap")
    )


@pytest.mark.parametrize("end", [26, 30])
@pytest.mark.parametrize(("late", "is_noted"), [(20 * US, True), (50 * MS, False)])
def test_both_sides_of_a_translation_are_reported(
    end: int, late: int, is_noted: bool, tmp_path: Path
) -> None:
    """NAT of one address: 10.0.0.1 becomes 10.9.0.1, or 10.0.0.2 becomes 10.9.0.2."""
    inside = whole(Kind())
    digit = 1 if end == 26 else 2
    outside = []
    for time, frame in inside.packets:
        changed = bytearray(frame)
        for at in (26, 30):
            if frame[at + 3] == digit:
                changed[at + 1] = 9
        outside.append((time + late, bytes(changed)))
    both = Conversation(packets=sorted([*inside.packets, *outside]))
    found = texts(both.write(tmp_path / "a.pcap"))
    assert ("note 1 connection with the packets, bytes and times of another" in found) == is_noted


def test_attempts_that_nobody_answered_are_whole(tmp_path: Path) -> None:
    made = Conversation()
    made.send(0, 0, SYN)
    assert "one direction" not in texts(made.write(tmp_path / "a.pcap"))
