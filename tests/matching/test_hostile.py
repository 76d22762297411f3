"""Captures with wrong bytes and wrong times: every IP packet still has its place in one row."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from spoiled import DEMO, HEADER, change, copy_run

from flowsweep.matching import hosts, tables


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
    summary = tables.write(hosts.find([run], {}), tmp_path / "out", window_packets=window)
    rows = pl.read_parquet(tmp_path / "out" / "fates.parquet")
    read = sum(summary["records"].values()) - sum(summary["without_ip"].values())
    sightings = sum(
        rows[column].is_not_null().sum() for column in ("packet_sent", "packet_received")
    )
    assert sightings == read
