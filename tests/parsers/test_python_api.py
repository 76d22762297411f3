"""`import flowsweep`: its public names, how its objects are displayed, times in DuckDB."""

from __future__ import annotations

import json
import pydoc
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import duckdb
import polars as pl
import pytest
from build import START_NS, pcap, tcp

import flowsweep

MS = 1_000_000
#: Rounded up to the next microsecond.
ODD_NS = 999


@pytest.fixture
def capture(tmp_path) -> Path:
    client, server = ("10.0.0.1", 1000), ("10.0.0.2", 80)
    path = tmp_path / "a.pcap"
    packets = [(0, tcp(*client, *server, flags=0x02, seq=99))]
    packets += [
        (number * MS + ODD_NS, tcp(*client, *server, flags=0x18, seq=100 + number, payload=1))
        for number in range(1, 15)
    ]
    path.write_bytes(pcap(packets))
    return path


def test_the_version_is_that_of_the_package():
    assert flowsweep.__version__ == version("flowsweep")


def test_help_lists_and_explains_every_public_name():
    text = pydoc.plain(pydoc.render_doc(flowsweep))
    for name in set(flowsweep.__all__) - {"__version__"}:
        assert name in text, name
        assert getattr(flowsweep, name).__doc__, name
    assert 'time_unit="us"' in text
    assert set(flowsweep.__all__) <= set(dir(flowsweep))


def test_importing_the_package_loads_no_heavy_library():
    code = "import flowsweep, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"duckdb", "polars", "numpy", "pydantic", "flowsweep._parsers"}


def test_parse_writes_the_tables_of_the_command(capture, command, tmp_path):
    done = flowsweep.parse(capture, tmp_path / "tables", packets=True)
    assert (done.packets, done.connections, done.damage) == (15, 1, ())
    assert repr(done) == (
        f"<15 packets, 1 connection -> {tmp_path / 'tables'}: "
        "captures, flows, intervals, throughput, messages, rdma, packets>"
    )
    assert str(done.tables["flows"]) in done._repr_html_()
    completed = command("flowsweep", "parse", capture, "--packets", "--output", tmp_path / "other")
    assert completed.returncode == 0, completed.stderr
    for name, path in done.tables.items():
        assert path.read_bytes() == (tmp_path / "other" / f"{name}.parquet").read_bytes(), name


def test_parse_tells_of_damage_and_refuses_what_is_no_capture(capture, tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[:-5])
    with pytest.warns(flowsweep.DamagedCaptureWarning, match="damaged at packet 15"):
        done = flowsweep.parse(cut, tmp_path / "tables")
    assert done.packets == 14
    assert "damaged" in repr(done)
    other = tmp_path / "text.pcap"
    other.write_text("no capture")
    with pytest.raises(flowsweep.FlowsweepError, match="not a packet capture"):
        flowsweep.parse(other, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_readers_show_themselves_in_a_line_and_in_a_table(capture, tmp_path, unit):
    flowsweep.parse(capture, tmp_path / "tables")
    packets = flowsweep.read_packets(capture, time_unit=unit)
    assert repr(packets) == f"<packets of {capture}>"
    shown = packets._repr_html_()
    assert "its first 10 rows" in shown
    assert shown.count("<tr>") == 12  # the header has two
    flows = flowsweep.read_flows(tmp_path / "tables", time_unit=unit)
    assert repr(flows) == f"<flows of {tmp_path / 'tables'}>"
    assert "10.0.0.1" in flows._repr_html_()
    assert "first 10 rows" not in flows._repr_html_()


def test_times_in_microseconds_take_all_functions_of_duckdb(capture, tmp_path):
    flowsweep.parse(capture, tmp_path / "tables", packets=True)
    start = datetime.fromtimestamp(START_NS // 10**9, UTC) + timedelta(
        microseconds=(START_NS % 10**9 + 500) // 1000
    )
    for source in (capture, tmp_path / "tables"):
        packets = flowsweep.read_packets(source, time_unit="us")  # noqa: F841 - DuckDB finds it
        answer = duckdb.sql(
            """
            select
                max(time) - min(time), epoch(max(time)) - epoch(min(time)),
                date_trunc('second', min(time)), time_bucket(interval '10ms', max(time)),
                min(time) + interval '1s', max(time) > timestamptz '2000-01-01', min(time)
            from packets
            """
        ).fetchall()[0]
        assert answer[0] == timedelta(microseconds=14_001)
        assert answer[1] == pytest.approx(0.014001, abs=1e-6)
        assert answer[2] == start.replace(microsecond=0)
        assert (
            answer[3] <= start + timedelta(milliseconds=14) < answer[3] + timedelta(milliseconds=10)
        )
        assert answer[4] == start + timedelta(seconds=1)
        assert answer[5] is True
        assert answer[6] == start


def test_time_unit_changes_nothing_but_the_times(capture):
    for read in (
        flowsweep.read_captures,
        flowsweep.read_flows,
        flowsweep.read_intervals,
        flowsweep.read_messages,
        flowsweep.read_packets,
        flowsweep.read_rdma,
        flowsweep.read_throughput,
    ):
        plain, short = pl.DataFrame(read(capture)), pl.DataFrame(read(capture, time_unit="us"))
        assert plain.columns == short.columns
        times = [name for name, kind in plain.schema.items() if kind == pl.Datetime("ns", "UTC")]
        assert [n for n, kind in short.schema.items() if kind == pl.Datetime("us", "UTC")] == times
        half = pl.duration(nanoseconds=500)
        rounded = plain.with_columns((pl.col(times) + half).dt.cast_time_unit("us"))
        texts = [name for name, kind in rounded.schema.items() if not kind.is_numeric()]
        as_text = pl.col([name for name in texts if name not in times]).cast(pl.String)
        assert rounded.with_columns(as_text).equals(short.with_columns(as_text)), read.__name__


def test_another_unit_is_refused(capture):
    with pytest.raises(flowsweep.FlowsweepError, match="time_unit"):
        flowsweep.read_flows(capture, time_unit="s")
