"""Captures with wrong bytes and times: every IP packet still has its place in one row."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from spoiled import DEMO, HEADER, change, copy_run

from flowsweep.captures import Table
from flowsweep.matching import hosts, tables
from flowsweep.parsing import Settings

TABLES = ("packets", "flows")


@pytest.mark.filterwarnings("ignore::flowsweep.captures.DamagedCaptureWarning")
@pytest.mark.parametrize("seed", range(12))
def test_each_record_of_spoiled_captures_stands_once(seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    run = copy_run(DEMO / "nqueens-rtt_64ms-r1", tmp_path / "run")

    def leap(_: int, time: int) -> int:
        # One time in a hundred is off by up to 100 s.
        far = drawn.randrange(1, 10 ** drawn.randrange(1, 12))
        return time if drawn.random() > 0.01 else max(0, time + drawn.choice([-far, far]))

    for host in ("pc1", "pc3"):
        change(run, host, leap)
        path = run / f"{host}.pcap"
        content = bytearray(path.read_bytes())
        for _ in range(drawn.randrange(2000)):
            content[drawn.randrange(HEADER, len(content))] = drawn.randrange(256)
        path.write_bytes(content)
    window = drawn.choice([1, 2, 50, 1 << 20])
    found = hosts.find([run], {})
    summary = tables.write(found, tmp_path / "out", window_packets=window)
    rows = pl.read_parquet(tmp_path / "out" / "fates.parquet")
    on_paths = rows.filter(pl.col("fate") != "outside")
    owners = {address: host.name for host in found for address in host.addresses}
    outside = 0
    for host in found:
        packets = read_packets(list(host.captures))
        assert packets.height == summary["records"][host.name] - summary["without_ip"][host.name]
        ends = [pl.col(end).replace_strict(owners, default=None) for end in ("src_ip", "dst_ip")]
        other = pl.when(ends[0] == host.name).then(ends[1]).otherwise(ends[0])
        is_end = (ends[0] == host.name) != (ends[1] == host.name)
        is_on_path = (is_end & other.is_not_null()).fill_null(value=False)
        outside += packets.filter(~is_on_path).height
        check(packets.filter(is_on_path), on_paths, host.name)
    assert outside == rows.filter(fate="outside").height


def read_packets(files: list[Path]) -> pl.DataFrame:
    """Reads the IP packets of a capture in the order of its files, with their addresses."""
    settings = Settings(keep_duplicates=True, order_window_ns=0)
    packets, flows = (pl.DataFrame(Table(name, tuple(files), settings)) for name in TABLES)
    addresses = flows.select("connection", "direction", "src_ip", "dst_ip")
    return packets.join(addresses, on=["connection", "direction"])


def check(packets: pl.DataFrame, rows: pl.DataFrame, host: str) -> None:
    """Checks that each packet of a host is in exactly one row.

    If segments are matched by their bytes, a segment that carries part of another one is in that
    one's row, and a segment that carries bytes of several is in the row of each.
    """
    sent, received = rows.filter(sender=host), rows.filter(receiver=host)
    numbers = [*sent["packet_sent"].drop_nulls(), *received["packet_received"].drop_nulls()]
    stands = Counter(numbers)
    assert set(stands) <= set(packets["packet"])
    merged = set(received.filter(fate="delivered")["packet_received"])
    assert {number for number, times in stands.items() if times > 1} <= merged
    data = received.filter(pl.col("packet_sent") > 0, pl.col("payload_bytes") > 0)
    spans = data.select("seq", end=pl.col("seq") + pl.col("payload_bytes")).drop_nulls().rows()
    missing = packets.filter(~pl.col("packet").is_in(list(stands)))
    for seq, payload in missing.select("seq", "payload_bytes").iter_rows():
        assert payload > 0
        for byte_number in (seq, seq + payload - 1):
            assert any(low <= byte_number < high for low, high in spans)
