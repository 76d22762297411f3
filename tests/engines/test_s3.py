"""Tables on S3-compatible storage, read in place; captures there, parsed by a workflow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.dataset
import pyarrow.fs
import pytest

from .conftest import CAPTURED, KEY, REGION, SECRET, SUMS, answers

SNAKEFILE = """
storage:
    provider="s3", endpoint_url="{url}", access_key="testing", secret_key="testing-secret"

rule all:
    input: storage.s3("s3://results/tables/flows.parquet")

rule parse:
    input: storage.s3("s3://captures/pc1.pcap.zst")
    output: storage.s3("s3://results/tables/flows.parquet")
    shell: "{python} -m flowsweep parse {{input:q}} --output made"
        " && cp made/flows.parquet {{output:q}}"
"""


def asked(table: Any, question: str) -> list[tuple[object, ...]]:
    """Returns DuckDB's answer from a table of another library."""
    with duckdb.connect() as connection:
        connection.register("asked", table)
        return connection.sql(question.format("asked")).fetchall()


@pytest.fixture
def stored(client: Any, tables: Path) -> str:
    """The address of the flows of two runs."""
    for path in tables.glob("*/*/flows.parquet"):
        client.upload_file(str(path), "results", f"tables/{path.relative_to(tables)}")
    return "results/tables"


def test_polars_reads_the_tables_there(server: str, stored: str, tables: Path) -> None:
    options = {
        "aws_endpoint_url": server,
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "aws_region": REGION,
        "aws_allow_http": "true",
    }
    flows = pl.scan_parquet(
        f"s3://{stored}/*/*/flows.parquet", storage_options=options, hive_partitioning=True
    ).collect()
    assert asked(flows, SUMS) == answers(SUMS, tables / "*/*/flows.parquet")


def test_pyarrow_reads_them_and_duckdb_asks_of_it(server: str, stored: str, tables: Path) -> None:
    files = pyarrow.fs.S3FileSystem(
        endpoint_override=server.removeprefix("http://"), scheme="http", region=REGION,
        access_key=KEY, secret_key=SECRET,
    )  # fmt: skip
    flows = pyarrow.dataset.dataset(stored, filesystem=files, partitioning="hive")
    assert asked(flows, SUMS) == answers(SUMS, tables / "*/*/flows.parquet")
    one = flows.filter(pyarrow.dataset.field("run") == "nqueens-baseline-r1")
    assert {row[0] for row in asked(one, SUMS)} == {"nqueens-baseline-r1"}


def test_a_workflow_parses_what_is_there_and_leaves_its_tables_there(
    server: str, client: Any, tables: Path, tmp_path: Path
) -> None:
    pytest.importorskip("snakemake_storage_plugin_s3", reason="run .config/prepare.sh test")
    client.upload_file(
        str(CAPTURED / "nqueens-baseline-r1" / "pc1.pcap.zst"), "captures", "pc1.pcap.zst"
    )
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(url=server, python=sys.executable))
    words = [Path(sys.executable).parent / "snakemake", "--cores", "1"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    client.download_file("results", "tables/flows.parquet", str(tmp_path / "flows.parquet"))
    columns = "connection, direction, packets, wire_bytes"
    there, here = (
        duckdb.sql(f"select {columns} from '{path}' order by all").fetchall()
        for path in (
            tmp_path / "flows.parquet",
            f"{tables}/run=nqueens-baseline-r1/host=pc1/flows.parquet",
        )
    )
    assert there == here
    assert len(here) > 2
