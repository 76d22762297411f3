"""Every table in the programs that read Parquet: no cast, no setting, no nanosecond lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest
import roce
from build import START_NS, arp, pcap, tcp, udp

MS = 1_000_000
#: Counting in microseconds loses its last digit, a float the last eight digits.
ODD_NS = 1
TABLES = ["captures", "flows", "intervals", "throughput", "messages", "rdma", "packets"]
TIME_COLUMNS = {"first_time", "last_time", "bin_start", "time"}
#: By table: a time column, and its minimum.
TIMES = {
    "captures": ("first_time", START_NS),
    "flows": ("first_time", START_NS),
    "throughput": ("bin_start", START_NS - START_NS % (10 * MS)),
    "messages": ("first_time", START_NS + 2 * MS),
    "rdma": ("first_time", START_NS + 60 * MS),
    "packets": ("time", START_NS),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a small capture that has values in every kind of column."""
    path = tmp_path_factory.mktemp("readers") / "a.pcap"
    client, server = ("10.0.0.1", 1000), ("10.0.0.2", 80)
    rdma = roce.Talk()
    rdma.ask(60 * MS, roce.SEND_ONLY, 0, 100)
    rdma.answer(61 * MS, 0)
    path.write_bytes(
        pcap(
            [
                (0, tcp(*client, *server, flags=0x02, seq=99)),
                (MS, tcp(*server, *client, flags=0x12, seq=499)),
                (2 * MS, tcp(*client, *server, flags=0x18, seq=100, payload=700)),
                (3 * MS + ODD_NS, tcp(*client, *server, flags=0x18, seq=800, payload=10)),
                (30 * MS, tcp(*server, *client, flags=0x18, seq=500, payload=20)),
                (40 * MS, arp()),
                (50 * MS, udp("10.0.0.3", 5, "10.0.0.1", 6, payload=7)),
                *rdma.packets,
            ]
        )
    )
    command = [
        sys.executable,
        "-m",
        "flowsweep",
        "parse",
        path,
        "--output",
        path.parent,
        "--packets",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path.parent


def table_of(folder: Path, table: str) -> str:
    path = folder / f"{table}.parquet"
    if not path.exists():
        pytest.skip(f"`flowsweep parse` writes no table {table}")
    return str(path)


def test_every_table_that_is_written_is_in_the_list(folder: Path) -> None:
    assert {path.stem for path in folder.glob("*.parquet")} <= set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_the_readers_see_the_same_rows(folder: Path, table: str) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    path = table_of(folder, table)
    polars = pl.read_parquet(path)
    arrow = pyarrow.read_table(path)
    duck = duckdb.sql(f"select * from '{path}'")
    assert (
        polars.height == arrow.num_rows == duckdb.sql(f"from '{path}'").count("*").fetchall()[0][0]
    )
    assert polars.height > 0
    assert polars.columns == arrow.column_names == duck.columns
    kinds = dict(zip(duck.columns, map(str, duck.types), strict=True))
    for name in polars.columns:
        if name in TIME_COLUMNS:
            assert kinds[name] == "TIMESTAMPTZ_NS"
            continue
        values = [value for (value,) in duckdb.sql(f'select "{name}" from duck').fetchall()]
        assert arrow[name].to_pylist() == polars[name].to_list() == values, name


@pytest.mark.parametrize("table", TIMES)
def test_nanoseconds_survive(folder: Path, table: str) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    path = table_of(folder, table)
    column, first = TIMES[table]
    assert duckdb.sql(f"select min(epoch_ns({column})) from '{path}'").fetchall() == [(first,)]
    times = pl.read_parquet(path)[column]
    assert times.dtype == pl.Datetime("ns", "UTC")
    assert times.dt.epoch("ns").min() == first
    arrow = pyarrow.read_table(path)[column]
    assert str(arrow.type) == "timestamp[ns, tz=UTC]"
    assert min(arrow.cast("int64").to_pylist()) == first


@pytest.mark.parametrize("table", TIMES)
def test_duckdb_gives_times_to_python(folder: Path, table: str) -> None:
    """With the locked dependencies: DuckDB needs pytz for this."""
    path = table_of(folder, table)
    column, _ = TIMES[table]
    times = [value for (value,) in duckdb.sql(f"select {column} from '{path}'").fetchall()]
    assert times
    assert times == pl.read_parquet(path)[column].dt.cast_time_unit("us").to_list()


def test_a_gap_of_one_odd_nanosecond_is_seen_by_duckdb_alone_from_the_times(folder: Path) -> None:
    path = table_of(folder, "packets")
    times = duckdb.sql(f"select epoch_ns(time) from '{path}' order by packet").fetchall()
    assert times[3][0] - times[2][0] == MS + ODD_NS
    gaps = duckdb.sql(f"select gap_ns from '{path}' order by packet").fetchall()
    assert gaps[3][0] == MS + ODD_NS


#: Spark looks here first for the types of a table. Its own type for times ends at microseconds,
#: and it refuses a column of nanoseconds unless this schema declares it an integer.
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
#: By Spark's type: the physical and logical type that it reads as such. Times are nanoseconds since
#: 1970, with both readers of Spark 4.0.1: timestamp_micros(time div 1000) is the time without the
#: last three digits, and time % 1000 are those digits.
SPARK_READS = {
    "boolean": ("BOOLEAN", "None"),
    "integer": ("INT32", "None"),
    "long": ("INT64", "None"),
    "string": ("BYTE_ARRAY", "String"),
}


@pytest.mark.parametrize("table", TABLES)
def test_spark_gets_a_type_for_every_column(folder: Path, table: str) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    file = pyarrow.ParquetFile(table_of(folder, table))
    schema = json.loads(file.metadata.metadata[SPARK_SCHEMA])
    assert schema["type"] == "struct"
    assert [field["name"] for field in schema["fields"]] == file.schema.names
    for index, field in enumerate(schema["fields"]):
        column = file.schema.column(index)
        physical, logical = SPARK_READS[field["type"]]
        assert column.physical_type == physical
        if field["name"] in TIME_COLUMNS:
            logical = "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds"
        assert str(column.logical_type).startswith(logical), field["name"]
        assert field["nullable"] == file.schema_arrow.field(index).nullable


@pytest.mark.parametrize("table", TABLES)
def test_every_page_can_be_read_by_spark(folder: Path, table: str) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    group = pyarrow.ParquetFile(table_of(folder, table)).metadata.row_group(0)
    for index in range(group.num_columns):
        column = group.column(index)
        assert column.compression == "ZSTD"
        # What its vectorised reader supports; version 2, with DELTA_BYTE_ARRAY, came with 3.3.
        assert set(column.encodings) <= {"PLAIN", "RLE", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"}
