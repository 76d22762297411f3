"""Logs that others wrote, renamed, sent or truncated: each becomes a table, or is reported."""

from __future__ import annotations

import codecs
import json
import subprocess
import time
from pathlib import Path

import forks
import polars as pl
import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.files import staging
from flowsweep.zeek import convert, header

HEADER = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
CONN = {
    "ts": ("time", "1.500000"), "uid": ("string", "C1"), "id.orig_h": ("addr", "10.0.0.1"),
    "id.orig_p": ("port", "4000"), "id.resp_h": ("addr", "10.0.0.2"), "id.resp_p": ("port", "80"),
    "proto": ("enum", "tcp"), "orig_pkts": ("count", "4"), "orig_ip_bytes": ("count", "218"),
    "resp_pkts": ("count", "3"), "resp_ip_bytes": ("count", "176"), "service": ("string", "-"),
}  # fmt: skip


def log(path: str = "conn", uid: str = "C1") -> str:
    """Returns a TSV log with one connection."""
    kinds, values = zip(*CONN.values(), strict=True)
    lines = (("#path", path), ("#fields", *CONN), ("#types", *kinds), values)
    text = "".join("\t".join(words) + "\n" for words in lines)
    return HEADER + text.replace("C1", uid)


def flowsweep(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", *arguments)


def ingested(folder: Path, logs: dict[str, str | bytes]) -> Path:
    """Creates a run r1 of host pc1 with these logs; returns its tables."""
    host = folder / "runs/r1/pc1"
    host.mkdir(parents=True)
    for name, data in logs.items():
        (host / name).write_bytes(data.encode() if isinstance(data, str) else data)
    done = flowsweep("ingest", host.parent, "-o", folder / "tables")
    assert done.returncode == 0, done.stderr
    return folder / "tables"


def table(tables: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(tables / f"run=r1/host=pc1/{name}.parquet")


@pytest.mark.parametrize("kind", ["x509", "http2", "dnp3", "a-1", "0"])
def test_a_log_whose_name_holds_a_digit_takes_no_table_with_it(tmp_path: Path, kind: str) -> None:
    rows = json.dumps({"ts": 1.6, "uid": "C1"}) + "\n"
    tables = ingested(tmp_path, {"conn.log": log(), f"{kind}.log": rows})
    assert table(tables, "flows").height == 2
    assert table(tables, f"zeek_{kind.replace('-', '_')}").height == 1
    assert flowsweep("ingest", tmp_path / "runs/r1", "-o", tables).returncode == 0
    assert table(tables, "flows").height == 2


def test_a_place_that_is_none_of_a_table_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="no place of a table"):
        staging.check_places(tmp_path, ["../run=r1"])


def test_logs_that_differ_in_case_or_signs_are_rows_of_one_table(tmp_path: Path) -> None:
    rows = json.dumps({"a": 1}) + "\n"
    logs = {"conn.log": log(), "one.log": log("CONN", "C2"), "my-x.log": rows, "my_x.log": rows}
    tables = ingested(tmp_path, logs)
    assert sorted(table(tables, "zeek_conn")["uid"]) == ["C1", "C2"]
    assert table(tables, "flows").height == 4
    assert table(tables, "zeek_my_x").height == 2


@pytest.mark.parametrize("kind", ["flows", "intervals", "messages", "throughput"])
def test_a_log_that_is_called_as_a_table_of_ours_keeps_its_rows(tmp_path: Path, kind: str) -> None:
    rows = json.dumps({"_path": kind, "mine": 7}) + "\n"
    tables = ingested(tmp_path, {"conn.log": log(), "other.log": rows})
    assert table(tables, f"zeek_{kind}_log")["mine"].to_list() == [7]
    assert "mine" not in table(tables, "zeek_flows").columns
    assert table(tables, "zeek_flows").height == 2


ENCODED = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bom": lambda text: codecs.BOM_UTF8 + text.encode(),
    "bom-crlf": lambda text: codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be-crlf": lambda text: (
        codecs.BOM_UTF16_BE + text.replace("\n", "\r\n").encode("utf-16-be")
    ),
}


@pytest.mark.parametrize("encode", ENCODED.values(), ids=ENCODED)
def test_a_log_that_windows_wrote_again_is_read_as_it_was(tmp_path: Path, encode: object) -> None:
    texts = {"conn.log": log(), "json.log": '{"uid":"C1"}\n{"uid":"é"}\n'}
    tables = ingested(tmp_path, {name: encode(text) for name, text in texts.items()})  # type: ignore[operator]
    plain = ingested(tmp_path / "plain", dict(texts))
    for name in ("zeek_conn", "flows", "zeek_json"):
        assert table(tables, name).drop("file", strict=False).equals(table(plain, name)), name
    assert table(tables, "zeek_conn")["service"].to_list() == [None]


def test_what_is_called_a_log_and_is_none_is_reported(tmp_path: Path) -> None:
    host = tmp_path / "runs/r1/pc1"
    host.mkdir(parents=True)
    (host / "stderr.log").write_text("listening on eth0\n")
    done = flowsweep("ingest", host.parent, "-o", tmp_path / "tables")
    assert done.returncode == 2
    assert f"{host / 'stderr.log'}: no log of Zeek" in done.stderr
    (host / "conn.log").write_text(log())
    done = flowsweep("ingest", host.parent, "-o", tmp_path / "tables")
    assert done.returncode == 0
    assert f"note: {host / 'stderr.log'}: passed over" in done.stderr
    assert table(tmp_path / "tables", "flows").height == 2


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("#separator \\", "\\"),
        ("#separator \\xZZ", "\\xZZ"),
        ("#separator ", "''"),
        ("#separator", "''"),
        ("#separator \\x0a", "\\n"),
        ("#separator \\x0d", "\\r"),
        ("#separator \\N{BULLET}", "N{BULLET}"),
        ("#set_separator\t", "''"),
    ],
)
def test_a_header_that_separates_nothing_is_refused_with_what_it_says(
    tmp_path: Path, line: str, found: str
) -> None:
    key = line.split(maxsplit=1)[0]
    lines = [line if other.split()[0] == key else other for other in log().splitlines()]
    path = tmp_path / "conn.log"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FlowsweepError, match="not the header of a Zeek log") as caught:
        convert.convert([convert.look(path)], tmp_path / "out.parquet")  # type: ignore[list-item]
    assert caught.value.found is not None
    assert found in caught.value.found
    assert "Traceback" not in flowsweep("zeek-logs", path, "-o", tmp_path / "out").stderr


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("set[vector[count]]", "1,2", ["1", "2"]),
        ("vector[set[string]]", "(empty)", []),
        ("table[set[set[port]]]", "-", None),
        ("set[]", "a", ["a"]),
        ("set[", "a", "a"),
        ("", "a", "a"),
    ],
)
def test_a_container_of_containers_is_a_list_of_texts(
    tmp_path: Path, kind: str, value: str, kept: object
) -> None:
    path = tmp_path / "x.log"
    path.write_text(f"{HEADER}#path\tx\n#fields\tn\ta\n#types\tcount\t{kind}\n7\t{value}\n")
    done = flowsweep("zeek-logs", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "out/x.parquet").to_dict(as_series=False)
    assert rows == {"n": [7], "a": [kept]}


def test_a_header_longer_than_a_block_is_read_to_its_end(tmp_path: Path) -> None:
    names = [f"a_column_with_a_long_name_{number}" for number in range(header.MOST_COLUMNS)]
    path = tmp_path / "x.log"
    lines = (("#path", "x"), ("#fields", *names), ("#types", *["count"] * len(names)))
    path.write_text(HEADER + "".join("\t".join(words) + "\n" for words in lines))
    found = convert.look(path)
    assert found is not None
    assert len(found.schema) == header.MOST_COLUMNS


def test_more_columns_than_a_log_can_have_are_refused_at_once(tmp_path: Path) -> None:
    many = header.MOST_COLUMNS + 1
    path = tmp_path / "x.log"
    names, types = "".join(f"\t{number}" for number in range(many)), "\tcount" * many
    path.write_text(f"{HEADER}#path\tx\n#fields{names}\n#types{types}\n")
    with pytest.raises(FlowsweepError, match="more columns than"):
        convert.look(path)
    path.write_text(json.dumps({str(number): 1 for number in range(many)}) + "\n")
    log = convert.look(path)
    with pytest.raises(FlowsweepError, match="more columns than"):
        convert.convert([log], tmp_path / "out.parquet")  # type: ignore[list-item]


def test_another_column_in_each_line_is_refused_before_there_are_too_many(tmp_path: Path) -> None:
    """A frame of 10,000 columns and as many rows would take a minute."""
    path = tmp_path / "x.log"
    lines = [json.dumps({f"c{number}": {"inner": "a"}}) for number in range(header.MOST_COLUMNS)]
    path.write_text("\n".join(lines))
    convert.convert([convert.look(path)], tmp_path / "out.parquet")  # type: ignore[list-item]
    path.write_text("\n".join([*lines, *(f'{{"d{number}": 1}}' for number in range(10_000))]))
    log, begin = convert.look(path), time.process_time()
    with pytest.raises(FlowsweepError, match="11,024"):
        convert.convert([log], tmp_path / "out.parquet")  # type: ignore[list-item]
    assert time.process_time() - begin < 10


def test_connections_in_no_tunnel_may_be_all_that_json_has(tmp_path: Path) -> None:
    row = {"ts": 1.5, "uid": "C1", "proto": "tcp", "orig_pkts": 4, "orig_ip_bytes": 218,
           "resp_pkts": 3, "resp_ip_bytes": 176, "tunnel_parents": [], "duration": 1}  # fmt: skip
    ends = {"id.orig_h": "10.0.0.1", "id.orig_p": 4000, "id.resp_h": "10.0.0.2", "id.resp_p": 80}
    tables = ingested(tmp_path, {"conn.log": json.dumps(row | ends) + "\n"})
    flows = table(tables, "flows")
    assert flows["tunnel_parents"].to_list() == [None, None]
    assert flows["duration_ns"].to_list() == [10**9, 10**9]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("orig_pkts", "many"),
        ("proto", [6]),
        ("id.orig_p", 70_000),
        ("uid", {"a": 1}),
        ("vlan", "x"),
    ],
)
def test_a_column_of_another_type_is_reported_with_its_value(
    tmp_path: Path, name: str, value: object
) -> None:
    row = {key: words for key, (_, words) in CONN.items()} | {name: value}
    host = tmp_path / "runs/r1/pc1"
    host.mkdir(parents=True)
    (host / "conn.log").write_text(json.dumps(row) + "\n")
    done = flowsweep("ingest", host.parent, "-o", tmp_path / "tables")
    assert done.returncode == 2, done.stderr
    assert f"{host / 'conn.log'}: column {name}: " in done.stderr
    assert "please report" not in done.stderr


def test_a_log_of_our_script_without_its_columns_is_reported(tmp_path: Path) -> None:
    host = tmp_path / "runs/r1/pc1"
    host.mkdir(parents=True)
    (host / "conn.log").write_text(log())
    (host / "messages.log").write_text('{"_path":"flowsweep_messages","uid":"C1"}\n')
    done = flowsweep("ingest", host.parent, "-o", tmp_path / "tables")
    assert done.returncode == 2
    assert f"{host / 'messages.log'}: a log without columns that its table needs" in done.stderr
    assert "no is_orig, first, last" in done.stderr


def test_a_time_that_is_an_object_is_left_null_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text('{"ts": {"a": 1}, "uid": "C1"}\n')
    done = flowsweep("zeek-logs", path, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "1 value left null" in done.stderr
    assert pl.read_parquet(tmp_path / "out/x.parquet")["ts"].to_list() == [None]


BLOCK = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
    "#path\tx\n#fields\ta\tb\n#types\tcount\tstring\n"
)


def converted(path: Path, text: str) -> tuple[convert.Converted, pl.DataFrame]:
    path.write_text(text)
    log = convert.look(path)
    assert log is not None
    done = convert.convert([log], path.with_suffix(".parquet"))
    return done, pl.read_parquet(path.with_suffix(".parquet"))


def test_headers_that_say_the_same_cost_no_more_than_their_bytes(tmp_path: Path) -> None:
    start = time.process_time()
    done, rows = converted(tmp_path / "x.log", BLOCK + "1\tx\n#close\t2\n" * 70_000)
    assert (done.rows, rows.height) == (70_000, 70_000)
    assert time.process_time() - start < 10  # a slow reader takes minutes


def test_lines_between_headers_have_their_numbers(tmp_path: Path) -> None:
    text = BLOCK + "1\tx\n#close\t2\n" + BLOCK + "2\ty\nz\tz\n#close\t3\n\n3\tz\n"
    done, rows = converted(tmp_path / "x.log", text)
    assert rows["a"].to_list() == [1, 2, None, 3]
    ((_, faults),) = done.faults
    assert faults.first == "in line 18 a value of a that is no count: z"
    assert text.split("\n")[17] == "z\tz"


def test_a_header_that_changes_is_another_one(tmp_path: Path) -> None:
    text = BLOCK + "1\t-\n#unset_field\tx\n2\t-\n#fields\ta\tc\n3\tq\n"
    _, rows = converted(
        tmp_path / "x.log", text.replace("#fields\ta\tc", "#fields\ta\tc\n#types\tcount\tint")
    )
    assert rows.to_dict(as_series=False) == {
        "a": [1, 2, 3], "b": [None, "-", None], "c": [None, None, None],
    }  # fmt: skip


def test_a_header_that_changes_without_an_end_is_refused(tmp_path: Path) -> None:
    many = "".join(f"#unset_field\t{number % 2}\n1\tx\n" for number in range(70_000))
    with pytest.raises(FlowsweepError, match="more headers than a log can have"):
        converted(tmp_path / "x.log", BLOCK + many)
    some = "".join(
        f"#fields\ta\tb{number}\n#types\tcount\tstring\n1\tx\n"
        for number in range(header.MOST_HEADERS)
    )
    done, rows = converted(tmp_path / "x.log", BLOCK + "1\tx\n" + some)
    assert done.rows == rows.height == header.MOST_HEADERS + 1
    assert rows.width == header.MOST_HEADERS + 2


@pytest.mark.parametrize(
    "half", [b'"\\ud800"', b'["\\uD800"]', b'{"\\udfff": 1}', b'"\xed\xa0\x80"']
)
def test_half_of_a_character_costs_its_line_alone(tmp_path: Path, half: bytes) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b'{"a": "b"}\n{"a": %s}\nno object\n{"a": "\\ud83d\\ude00"}\n' % half)
    done = flowsweep("zeek-logs", path, "-o", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    assert "2 lines without a row" in done.stderr
    assert pl.read_parquet(tmp_path / "out/x.parquet")["a"].to_list() == ["b", "\U0001f600"]
