"""A clock is set during the capture, by more than the time that packets are in transit."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import datagram, ethernet, ip, pcap

MS, SECOND = 1_000_000, 1_000_000_000
DELAY = 5 * MS
A, B = ("10.0.0.1", 5), ("10.0.0.2", 6)
EPOCH = 1_000_000 * SECOND
COUNT = 3_000
LOST = range(7, COUNT, 20)


def frame(number: int, *, answers: bool) -> bytes:
    """Returns the datagram of A, or its answer."""
    (source, sport), (target, dport) = (B, A) if answers else (A, B)
    return ethernet(ip(source, target, 17, datagram(sport, dport, 20), ident=number + 1))


def write(
    folder: Path, host: str, first: int, step: int, silence: int, *, is_exchanged: bool = False
) -> None:
    """Writes the captures of A and B; the clock of `host` is set before datagram `first`.

    If `is_exchanged`, that datagram and the following ones come first in the file of `host`.
    """
    captures: dict[str, list[tuple[int, int, bytes]]] = {"a": [], "b": []}
    for number in range(COUNT):
        time = EPOCH + 10 * number * MS + (silence if number >= first else 0)
        there, back = (frame(number, answers=answers) for answers in (False, True))
        captures["a"] += [(time, number, there), (time + 2 * DELAY, number, back)]
        captures["b"] += [] if number in LOST else [(time + DELAY, number, there)]
        captures["b"].append((time + DELAY, number, back))
    for name, packets in captures.items():
        packets.sort(key=lambda packet: packet[0])
        set_by = step if name == host else 0
        records = [
            (time + (set_by if number >= first else 0), data) for time, number, data in packets
        ]
        if is_exchanged and name == host:
            place = sum(number < first for _, number, _ in packets)
            records = records[place:] + records[:place]
        (folder / f"{name}.pcap").write_bytes(pcap(records))


@pytest.mark.parametrize("host", ["a", "b"])
@pytest.mark.parametrize("silence", [0, 40 * SECOND])
@pytest.mark.parametrize("first", [100, 1_400])
@pytest.mark.parametrize("seconds", [30, 86_400, 1.5, -1.5, -9, -86_400])
def test_packets_behind_it_have_their_fates(
    seconds: float, first: int, silence: int, host: str, tmp_path: Path, match, table
) -> None:
    write(tmp_path, host, first, int(seconds * SECOND), silence)
    named = (f"--address=a={A[0]}", f"--address=b={B[0]}")
    assert match(tmp_path / "a.pcap", tmp_path / "b.pcap", *named).returncode == 0
    rows = table("fates").group_by("sender", "fate").len().sort("sender", "fate").rows()
    whole = COUNT - len(LOST)
    assert rows == [("a", "delivered", whole), ("a", "lost", len(LOST)), ("b", "delivered", COUNT)]
    delays = table("one_way").drop_nulls("delay_ns")
    assert ((delays["delay_ns"] - DELAY).abs() <= delays["delay_error_ns"]).all()
    # A clock that was set back shows the same times twice.
    read_twice = max(-seconds * SECOND - silence, 0) if seconds > -COUNT / 100 else 0
    assert delays.height >= (COUNT + whole) * (0.9 - 2 * read_twice / (COUNT * 10 * MS))


@pytest.mark.parametrize("host", ["a", "b"])
def test_packets_that_come_too_late_in_the_file_are_unknown(
    host: str, tmp_path: Path, match, table
) -> None:
    write(tmp_path, host, 1_400, 0, 0, is_exchanged=True)
    named = (f"--address=a={A[0]}", f"--address=b={B[0]}")
    done = match(tmp_path / "a.pcap", tmp_path / "b.pcap", *named)
    assert done.returncode == 0, done.stderr
    assert f"the capture of {host} goes back in time" in done.stdout
    fates = table("fates")
    counts = dict(fates.group_by("fate").len().rows())
    # Only the part after the exchange meets packets of the other capture.
    behind = COUNT - 1_400
    lost = sum(number >= 1_400 for number in LOST)
    assert set(counts) <= {"delivered", "lost", "unknown"}
    assert counts["delivered"] == 2 * behind - lost
    assert counts.get("lost", 0) in {0, lost}
