"""The tables of captured runs, and what DuckDB says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[2]
CAPTURED = ROOT / "workflows" / "experiments" / "captured" / "demo" / "runs"
FLOWSWEEP = [sys.executable, "-m", "flowsweep"]
#: What a person asks of the flows of each run: `totals` begins with it, and so does `limits`.
SUMS = """
    select run, protocol, sum(packets)::bigint as packets, sum(wire_bytes)::bigint as wire_bytes,
        sum(retransmitted_packets)::bigint as retransmitted
    from {} group by all order by all
"""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of two runs with four hosts each, as `flowsweep ingest` lays them out."""
    folder = tmp_path_factory.mktemp("engines") / "tables"
    for run in ("nqueens-baseline-r1", "nqueens-rtt_64ms-r1"):
        words = [*FLOWSWEEP, "ingest", "--output", folder, "--bin", "10ms", "--", CAPTURED / run]
        subprocess.run([*map(str, words)], check=True, capture_output=True, timeout=300)
    return folder


def answers(question: str, folder: Path) -> list[tuple[object, ...]]:
    """What DuckDB, which answers every query of flowsweep, makes of the files."""
    files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    return duckdb.sql(question.format(files)).fetchall()
