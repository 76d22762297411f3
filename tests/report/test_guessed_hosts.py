"""Whose capture it is, where nothing says so: `show` and the report guess alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny

from flowsweep import addresses
from flowsweep.warehouse import Warehouse

PHONE, SERVER, SILENT = "192.168.1.5", "20.0.0.1", "10.0.0.9"
BACK = {"direction": "backward"}

CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    # Both have as many packets: the one of a private network, not the first by the alphabet.
    "phone": (
        [tiny.flow(PHONE, SERVER, packets=9), tiny.flow(SERVER, PHONE, packets=90, **BACK)],
        PHONE,
    ),
    # It is polled by several, and answers none of them.
    "asked": (
        [
            tiny.flow("10.0.0.1", SILENT, packets=50),
            tiny.flow("10.0.0.2", SILENT, packets=40, connection=1),
        ],
        "10.0.0.1",
    ),
    # Between two public ones it is who opened the connection.
    "opened": (
        [
            tiny.flow("30.0.0.1", SERVER, packets=9),
            tiny.flow(SERVER, "30.0.0.1", packets=9, **BACK),
        ],
        "30.0.0.1",
    ),
    # The end that acknowledges late is afar, whatever network it is of.
    "near": (
        [
            tiny.flow(PHONE, SERVER, packets=9, rtt_min_ns=10),
            tiny.flow(SERVER, PHONE, packets=9, rtt_min_ns=1_000, **BACK),
        ],
        SERVER,
    ),
    "many": (
        [
            tiny.flow("10.0.0.1", SERVER, packets=9),
            tiny.flow(SERVER, "10.0.0.1", packets=9, **BACK),
            tiny.flow("10.0.0.2", SERVER, packets=9, connection=1),
            tiny.flow(SERVER, "10.0.0.2", packets=9, connection=1, **BACK),
        ],
        SERVER,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_address_is_that_of_the_host(tmp_path: Path, name: str) -> None:
    flows, expected = CASES[name]
    flows = [{"rtt_min_ns": None} | flow for flow in flows]
    tiny.runs(tmp_path, [{"run": "r", "status": "no record"}])
    tiny.table(tmp_path, "flows", "r", "pc", flows)
    (host,) = Warehouse(tmp_path).select("select address, is_guessed from hosts").rows()
    assert host == (expected, True)
    frame = pl.DataFrame(flows, schema_overrides={"rtt_min_ns": pl.Int64})
    assert addresses.guess(frame) == expected
