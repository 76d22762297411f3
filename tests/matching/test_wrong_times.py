"""Single packets with wrong times do not change the fates of other packets."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import datagram, ethernet, ip, pcap

MS, SECOND = 1_000_000, 1_000_000_000
DELAY = 5 * MS
A, B = ("10.0.0.1", 5), ("10.0.0.2", 6)
COUNT = 300
LOST = range(7, COUNT, 20)


def frame(number: int, *, answers: bool) -> bytes:
    """Returns the datagram of A, or its answer."""
    (source, sport), (target, dport) = (B, A) if answers else (A, B)
    return ethernet(ip(source, target, 17, datagram(sport, dport, 20), ident=number + 1))


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        (86_400 * SECOND, [0]),
        *(
            (seconds * SECOND, wrong)
            for seconds in (10, 86_400, -86_400)
            for wrong in ([100], [101], [200, 201, 202])
        ),
    ],
)
def test_a_wrong_time_is_of_one_packet(
    step: int, wrong: list[int], tmp_path: Path, match, table
) -> None:
    at_a, at_b = [], []
    for number in range(COUNT):
        time = 10 * number * MS
        there, back = (frame(number, answers=answers) for answers in (False, True))
        at_a += [(time, there), (time + 2 * DELAY, back)]
        at_b += [] if number in LOST else [(time + DELAY, there)]
        at_b.append((time + DELAY, back))
    for place in wrong:
        at_b[place] = (at_b[place][0] + step, at_b[place][1])
    at_a.sort(key=lambda packet: packet[0])
    for name, packets in (("a", at_a), ("b", at_b)):
        (tmp_path / f"{name}.pcap").write_bytes(pcap(packets))
    named = (f"--address=a={A[0]}", f"--address=b={B[0]}")
    assert match(tmp_path / "a.pcap", tmp_path / "b.pcap", *named).returncode == 0
    rows = table("fates").group_by("sender", "fate").len().sort("sender", "fate").rows()
    whole = COUNT - len(LOST)
    assert rows == [("a", "delivered", whole), ("a", "lost", len(LOST)), ("b", "delivered", COUNT)]
    assert table("clocks").height == 2
    assert table("clocks")["offset_ns"].to_list() == [0, 0]
    # A wrong time shows no delay.
    delays = table("one_way")["delay_ns"]
    assert set(delays.drop_nulls()) == {DELAY}
    assert delays.null_count() == len(wrong)
