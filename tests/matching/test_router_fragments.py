"""A router between the two captures divides datagrams into fragments."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import datagram, ethernet, ip, pcap

MS = 1_000_000
DELAY = 5 * MS
A, B = "10.0.0.1", "10.0.0.2"
COUNT = 200
LOST = range(7, COUNT, 15)
MORE = 0x2000
#: Bytes of IP payload in a fragment.
PART = 800


def packets(number: int) -> tuple[bytes, list[bytes]]:
    """Returns a datagram as A sends it, and as it arrives at B: every other one is fragmented."""
    content = datagram(5, 6, 1_400 if number % 2 else 100)
    parts = [content[at : at + PART] for at in range(0, len(content), PART)]
    fields = [at * PART // 8 | (MORE if at + 1 < len(parts) else 0) for at in range(len(parts))]
    arriving = [
        ethernet(ip(A, B, 17, part, ident=number + 1, fragment=field))
        for part, field in zip(parts, fields, strict=True)
    ]
    return ethernet(ip(A, B, 17, content, ident=number + 1)), arriving


@pytest.mark.parametrize("is_divided", [True, False])
def test_they_are_neither_lost_nor_missing(is_divided: bool, tmp_path: Path, match, table) -> None:
    at_a, at_b = [], []
    for number in range(COUNT):
        time = 10 * number * MS
        whole, parts = packets(number)
        arriving = parts if is_divided else [whole]
        at_a.append((time, whole))
        at_b += [] if number in LOST else [(time + DELAY, part) for part in arriving]
        # Comparing clocks takes packets in both directions.
        back = ethernet(ip(B, A, 17, datagram(6, 5, 20), ident=number + 1))
        at_b.append((time + DELAY, back))
        at_a.append((time + 2 * DELAY, back))
    for name, records in (("a", at_a), ("b", at_b)):
        records.sort(key=lambda record: record[0])
        (tmp_path / f"{name}.pcap").write_bytes(pcap(records))
    named = (f"--address=a={A}", f"--address=b={B}")
    assert match(tmp_path / "a.pcap", tmp_path / "b.pcap", *named).returncode == 0
    found = dict(table("fates").filter(sender="a").group_by("fate").len().rows())
    large = COUNT // 2
    lost = sum(not number % 2 or not is_divided for number in LOST)
    whole = COUNT - large if is_divided else COUNT
    parts = 2 * (large - sum(number % 2 for number in LOST))
    expected = {"delivered": whole - lost, "lost": lost}
    if is_divided:
        expected["unknown"] = large + parts
        assert set(table("fates").filter(fate="unknown")["evidence"]) == {"merged"}
    assert found == {fate: count for fate, count in expected.items() if count}
