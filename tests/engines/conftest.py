"""The tables of captured runs, and DuckDB's answers from them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

ROOT = Path(__file__).parents[2]
CAPTURED = ROOT / "workflows" / "experiments" / "captured" / "demo" / "runs"
FLOWSWEEP = [sys.executable, "-m", "flowsweep"]
#: For the S3 server.
KEY, SECRET, REGION = "testing", "testing-secret", "us-east-1"
#: A question about the flows of each run, the beginning of `totals` and `limits`.
SUMS = """
    select run, protocol, sum(packets)::bigint as packets, sum(wire_bytes)::bigint as wire_bytes,
        sum(retransmitted_packets)::bigint as retransmitted
    from {} group by all order by all
"""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of two runs with four hosts each, in the layout of `flowsweep ingest`."""
    folder = tmp_path_factory.mktemp("engines") / "tables"
    for run in ("nqueens-baseline-r1", "nqueens-rtt_64ms-r1"):
        words = [*FLOWSWEEP, "ingest", "--output", folder, "--bin", "10ms", "--", CAPTURED / run]
        subprocess.run([*map(str, words)], check=True, capture_output=True, timeout=300)
    return folder


def answers(question: str, pattern: Path) -> list[tuple[object, ...]]:
    """Returns the answer of DuckDB, which runs all queries of flowsweep."""
    files = f"read_parquet('{pattern}', hive_partitioning = true)"
    return duckdb.sql(question.format(files)).fetchall()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server that keeps everything in memory."""
    moto = pytest.importorskip("moto.server", reason="run .config/prepare.sh test")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def client(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the server, with its two buckets."""
    boto3 = pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    made = boto3.client(
        "s3", endpoint_url=server, aws_access_key_id=KEY, aws_secret_access_key=SECRET
    )
    for bucket in ("results", "captures"):
        made.create_bucket(Bucket=bucket)
    return made
