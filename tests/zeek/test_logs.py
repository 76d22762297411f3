"""From Zeek's logs to tables: types from header or values, and no silent loss."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import forks
import polars as pl
import pyarrow as pa
import pytest
from collection import ZEEK_LOGS, by_size

from flowsweep.errors import FlowsweepError
from flowsweep.zeek import convert, tsv
from flowsweep.zeek.blocks import blocks

HEADER = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\t{path}
#open\t2026-11-21-00-24-44
#fields\t{fields}
#types\t{types}
"""
ALL = {
    "ts": ("time", "1460053414.353031"),
    "uid": ("string", "CGzHQQ2IfV2DResrUj"),
    "id.orig_h": ("addr", "fe80::1"),
    "id.orig_p": ("port", "65535"),
    "net": ("subnet", "10.0.0.0/8"),
    "proto": ("enum", "tcp"),
    "duration": ("interval", "-0.000001"),
    "bytes": ("count", "18446744073709551615"),
    "offset": ("int", "-7"),
    "score": ("double", "1.5e-07"),
    "local": ("bool", "T"),
    "names": ("set[string]", "a\\x2cb,\\x2d,(empty)"),
    "ports": ("vector[port]", "80,-,443"),
    "none": ("set[addr]", "(empty)"),
    "empty": ("string", "(empty)"),
    "unset": ("count", "-"),
    "dash": ("string", "\\x2d"),
    "path": ("string", "C:\\x5cd\\x09é"),
    "times": ("vector[time]", "0.000001,1.000000"),
}


def log(path: str = "all", rows: int = 1, columns: dict[str, tuple[str, str]] = ALL) -> str:
    """Returns a TSV log as Zeek writes it."""
    fields, types = "\t".join(columns), "\t".join(kind for kind, _ in columns.values())
    line = "\t".join(value for _, value in columns.values())
    head = HEADER.format(path=path, fields=fields, types=types)
    return head + f"{line}\n" * rows + "#close\t2026-11-21-00-24-45\n"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", "zeek-logs", *arguments)


def test_every_type_has_its_column(tmp_path: Path) -> None:
    (tmp_path / "all.log").write_text(log())
    done = run(tmp_path / "all.log", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = pl.read_parquet(tmp_path / "out/all.parquet").rows(named=True)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert row == {
        "ts": epoch + timedelta(seconds=1460053414, microseconds=353031),
        "uid": "CGzHQQ2IfV2DResrUj",
        "id.orig_h": "fe80::1",
        "id.orig_p": 65535,
        "net": "10.0.0.0/8",
        "proto": "tcp",
        "duration": timedelta(microseconds=-1),
        "bytes": 2**64 - 1,
        "offset": -7,
        "score": 1.5e-07,
        "local": True,
        "names": ["a,b", "-", "(empty)"],
        "ports": [80, None, 443],
        "none": [],
        "empty": "",
        "unset": None,
        "dash": "-",
        "path": "C:\\d\té",
        "times": [epoch + timedelta(microseconds=1), epoch + timedelta(seconds=1)],
    }


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
        (".lz4", lambda data: pa.compress(data, codec="lz4", asbytes=True)),
    ],
)
def test_compressed_logs_are_read(tmp_path: Path, suffix: str, pack: object) -> None:
    file = tmp_path / f"conn.2026-11-24-10-00-00.log{suffix}"
    file.write_bytes(pack(log("conn", 5).encode()))  # type: ignore[operator]
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "out/conn.parquet").height == 5


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("conn.log", "conn"),
        ("pc1.conn.log.gz", "conn"),
        ("conn.2026-11-24-10-00-00-2026-11-24-11-00-00.log", "conn"),
        ("conn.10:00:00-11:00:00.log.zst", "conn"),
        ("mqtt_connect_20261124_10.log", "mqtt_connect"),
        ("x509.log", "x509"),
    ],
)
def test_the_kind_of_a_json_log_is_that_of_its_name(name: str, kind: str) -> None:
    assert convert._kind(Path(name), "") == kind


def test_json_and_tsv_give_the_same_times_and_counts(tmp_path: Path) -> None:
    objects = [
        {
            "ts": 1460053414.353031,
            "uid": "C1",
            "id.orig_p": 80,
            "duration": 0.142992,
            "local": True,
        },
        {"ts": 1460053415.0, "uid": "C2", "id.orig_p": 81, "tunnel_parents": ["a", "b"]},
    ]
    (tmp_path / "conn.log").write_text("".join(json.dumps(one) + "\n" for one in objects))
    types = log(
        "conn", 0, {"ts": ALL["ts"], "duration": ALL["duration"], "id.orig_p": ALL["id.orig_p"]}
    )
    (tmp_path / "types").write_text(types)
    done = run(tmp_path / "conn.log", "-o", tmp_path / "out", "--types", tmp_path / "types")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "out/conn.parquet")
    assert table["ts"].dtype == pl.Datetime("ns", "UTC")
    assert table["ts"].cast(pl.Int64).to_list() == [1460053414353031000, 1460053415000000000]
    assert table["duration"].to_list() == [timedelta(microseconds=142992), None]
    assert table["id.orig_p"].dtype == pl.UInt16
    assert table["tunnel_parents"].to_list() == [None, ["a", "b"]]


@pytest.mark.parametrize(
    "time", ["1460053414.353", "1460053414353", '"2016-04-07T18:23:34.353000Z"']
)
def test_the_times_that_zeek_writes_in_json(tmp_path: Path, time: str) -> None:
    (tmp_path / "x.log").write_text(f'{{"ts":{time}}}\n')
    assert run(tmp_path / "x.log", "-o", tmp_path / "out").returncode == 0
    times = pl.read_parquet(tmp_path / "out/x.parquet")["ts"].cast(pl.Int64).to_list()
    assert times == [1460053414353000000]


def test_a_field_that_comes_late_in_json_is_kept(tmp_path: Path) -> None:
    early = json.dumps({"ts": 1.0, "uid": "C" * 40, "n": 1}) + "\n"
    lines = early * (2 * (4 << 20) // len(early))
    late = json.dumps({"ts": 2.0, "uid": 'a "quoted": b', "n": 2.5, "service": "http"}) + "\n"
    (tmp_path / "conn.log").write_text(lines + late)
    assert run(tmp_path, "-o", tmp_path / "out").returncode == 0
    table = pl.read_parquet(tmp_path / "out/conn.parquet")
    assert table.height == lines.count("\n") + 1
    assert table["service"].drop_nulls().to_list() == ["http"]
    assert table["n"][-1] == 2.5
    assert table["uid"][-1] == 'a "quoted": b'


def test_logs_with_other_columns_become_one_table(tmp_path: Path) -> None:
    one = {"ts": ("time", "1.000000"), "uid": ("string", "C1"), "n": ("count", "1")}
    two = {"uid": ("string", "C2"), "ts": ("time", "2.000000"), "n": ("double", "2.5"),
           "more": ("set[string]", "a,b")}  # fmt: skip
    # A concatenated log has several headers.
    (tmp_path / "x.1.log").write_text(log("x", 2, one) + log("x", 1, two))
    (tmp_path / "x.2.log").write_text(log("x", 1, one))
    assert run(tmp_path, "-o", tmp_path / "out").returncode == 0
    table = pl.read_parquet(tmp_path / "out/x.parquet")
    assert table["uid"].to_list() == ["C1", "C1", "C2", "C1"]
    assert table["n"].to_list() == [1.0, 1.0, 2.5, 1.0]
    assert table["more"].to_list() == [None, None, ["a", "b"], None]


def test_a_column_whose_type_changed_is_reported_with_both_logs(tmp_path: Path) -> None:
    (tmp_path / "all.1.log").write_text(log(columns={"a": ("count", "7"), "b": ("count", "1")}))
    (tmp_path / "all.2.log").write_text(log(columns={"a": ("string", "x"), "b": ("double", "2.5")}))
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "out/all.parquet")
    assert rows.to_dict(as_series=False) == {"a": ["7", "x"], "b": [1.0, 2.5]}
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    one, other = tmp_path / "all.1.log", tmp_path / "all.2.log"
    note = "note: all: column {} is of several types: UInt64 in {}, {} in {}, kept as {}"
    assert notes == [
        note.format("a", one, "String", other, "String"),
        note.format("b", one, "Float64", other, "Float64"),
    ]


def test_intervals_and_times_beside_text_become_text(tmp_path: Path) -> None:
    kinds = {"a": ("interval", "0.000559"), "b": ("vector[interval]", "0.5,-"),
             "c": ("vector[time]", "1.500000,2.000000"), "d": ("time", "1.500000")}  # fmt: skip
    (tmp_path / "all.1.log").write_text(log(columns=kinds))
    (tmp_path / "all.2.log").write_text(log(columns=dict.fromkeys(kinds, ("string", "x"))))
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "out/all.parquet").to_dict(as_series=False) == {
        "a": ["0.000559", "x"],
        "b": ["[0.5, null]", "x"],
        "c": ['["1970-01-01 00:00:01.500000+00:00", "1970-01-01 00:00:02+00:00"]', "x"],
        "d": ["1970-01-01 00:00:01.500000000+00:00", "x"],
    }


def test_damaged_lines_and_values_are_reported(tmp_path: Path) -> None:
    columns = {"ts": ("time", "1.000000"), "uid": ("string", "C1"), "n": ("count", "1")}
    text = log("x", 2, columns).replace(
        "#close", "2.0\tC2\n3.0\tC3\tmany\tmore\n4.0\tC4\tfive\n#close"
    )
    (tmp_path / "x.log").write_text(text + "5.0\tcut")
    done = run(tmp_path / "x.log", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "3 lines without a row and 1 value left null" in done.stderr
    assert "in line 11 2 values of 3 fields: 2.0" in done.stderr
    assert pl.read_parquet(tmp_path / "out/x.parquet")["n"].to_list() == [1, 1, None]


def test_a_value_of_another_type_is_reported_with_its_line(tmp_path: Path) -> None:
    columns = {"ts": ("time", "1.000000"), "n": ("count", "1")}
    (tmp_path / "x.log").write_text(log("x", 200_000, columns) + "2.0\tfive\n")
    done = run(tmp_path / "x.log", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "in line 200010 a value of n that is no count: five" in done.stderr
    assert pl.read_parquet(tmp_path / "out/x.parquet").height == 200_001


@pytest.mark.parametrize(
    ("kind", "value"), [("time", "1e300"), ("interval", "-1e11"), ("bool", "true")]
)
def test_a_value_that_its_type_cannot_hold_is_reported(
    tmp_path: Path, kind: str, value: str
) -> None:
    columns = {"n": ("count", "1"), "some": (kind, "-")}
    (tmp_path / "x.log").write_text(log("x", 2, columns) + f"2\t{value}\n")
    done = run(tmp_path / "x.log", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "1 value left null" in done.stderr
    assert f"in line 12 a value of some that is no {kind}: " in done.stderr
    assert pl.read_parquet(tmp_path / "out/x.parquet")["some"].to_list() == [None] * 3


def test_bytes_that_are_no_text_are_kept_as_escapes(tmp_path: Path) -> None:
    columns = {"ts": ("time", "1.000000"), "name": ("string", "é?")}
    content = log("x", 3, columns).encode().replace(b"\xc3\xa9?", b"\xff\xc3", 1)
    (tmp_path / "x.log").write_bytes(content)
    done = run(tmp_path / "x.log", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "1 line not in UTF-8, kept" in done.stderr
    assert "in line 9 bytes" in done.stderr
    table = pl.read_parquet(tmp_path / "out/x.parquet")
    assert table["name"].to_list() == ["\\xff\\xc3", "é?", "é?"]
    assert table["ts"].null_count() == 0


def test_a_damaged_line_of_json_takes_no_other_with_it(tmp_path: Path) -> None:
    rows = ['{"ts":1.0,"u":"a"}', '{"ts":2.0', '{"ts":"none","u":"b"}', '{"ts":3.0,"u":"c"}']
    (tmp_path / "x.log").write_text("\n".join(rows))
    done = run(tmp_path / "x.log", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "1 line without a row and 1 value left null" in done.stderr
    assert "in line 2 no JSON object" in done.stderr
    times = pl.read_parquet(tmp_path / "out/x.parquet")["ts"].cast(pl.Int64).to_list()
    assert times == [1_000_000_000, None, 3_000_000_000]


def test_a_damaged_file_keeps_what_came_before(tmp_path: Path) -> None:
    packed = gzip.compress(log("conn", 200_000).encode())
    (tmp_path / "conn.log.gz").write_bytes(packed[: len(packed) * 3 // 4])
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "damaged" in done.stderr
    assert 100_000 < pl.read_parquet(tmp_path / "out/conn.parquet").height < 200_000


@pytest.mark.parametrize("text", ["", "hello\n", "#fields\ta\n1\n", "[1, 2]\n", "{broken\n"])
def test_what_is_no_log_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "conn.log").write_text(text)
    done = run(tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("error:")
    assert "Traceback" not in done.stderr


def test_rows_before_a_header_are_refused(tmp_path: Path) -> None:
    (tmp_path / "conn.log").write_text("a\tb\n")
    with pytest.raises(FlowsweepError):
        list(tsv.frames(blocks(tmp_path / "conn.log"), "conn.log", tsv.Faults()))


def test_every_line_that_zeek_wrote_is_a_row(tmp_path: Path) -> None:
    logs = sorted(ZEEK_LOGS.rglob("*.log.gz"))
    assert len(logs) >= by_size(small=37, large=251)
    done = run(ZEEK_LOGS, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for path in logs for line in gzip.decompress(path.read_bytes()).splitlines()]
    rows = sum(1 for line in lines if line and not line.startswith(b"#"))
    tables = [pl.read_parquet(path) for path in tmp_path.glob("*.parquet")]
    assert sum(table.height for table in tables) == rows


def test_a_full_disk_is_the_systems_error(tmp_path):
    """Polars, which writes the table, would report its own error without the file's name."""
    path = tmp_path / "all.log"
    path.write_text(log())
    with pytest.raises(OSError, match="No space left on device"):
        convert.convert([convert.look(path)], Path("/dev/full"))
