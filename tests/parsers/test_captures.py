"""`flowsweep.read_*`: what Polars, pyarrow and DuckDB get from the Arrow streams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from build import START_NS, arp, pcap, tcp, udp

import flowsweep
from flowsweep.captures import CaptureError
from flowsweep.parsing import parse_tables

FLOW = ("10.0.0.1", 1000, "10.0.0.2", 80)
BACK = ("10.0.0.2", 80, "10.0.0.1", 1000)
MS = 1_000_000


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A short connection, an ARP frame, and two UDP flows separated by a pause."""
    path = tmp_path / "small.pcap"
    path.write_bytes(
        pcap(
            [
                (0, tcp(*FLOW, flags=0x02, seq=100)),
                (1 * MS, tcp(*BACK, flags=0x12, seq=500)),
                (2 * MS, arp()),
                (3 * MS, tcp(*FLOW, seq=101, payload=1000)),
                (3 * MS + 1, tcp(*FLOW, seq=1101, payload=400)),
                (20 * MS, udp("10.0.0.3", 5, "10.0.0.1", 6, payload=7)),
                (90_000 * MS, udp("10.0.0.3", 5, "10.0.0.1", 6, payload=7)),
            ]
        )
    )
    return path


def test_flows_have_one_row_for_each_direction_that_sent(capture: Path) -> None:
    flows = pl.DataFrame(flowsweep.read_flows(capture))
    assert flows["connection"].to_list() == [0, 0, 1, 2]
    assert flows["direction"].to_list() == ["forward", "backward", "forward", "forward"]
    assert flows["payload_bytes"].to_list() == [1400, 0, 7, 7]
    assert flows["start"].to_list() == ["syn", "syn", None, None]


def test_packets_leave_nothing_out(capture: Path) -> None:
    packets = pl.DataFrame(flowsweep.read_packets(capture))
    assert packets["packet"].to_list() == [1, 2, 3, 4, 5, 6, 7]
    assert packets["connection"].to_list() == [0, 0, None, 0, 0, 1, 2]
    assert packets["gap_ns"].to_list()[4] == 1
    assert packets["time"].dt.epoch("ns")[0] == START_NS


def test_bins_begin_at_multiples_of_their_length(capture: Path) -> None:
    bins = pl.DataFrame(flowsweep.read_throughput(capture, bin_ns=4 * MS))
    assert (bins["bin_start"].dt.epoch("ns") % (4 * MS) == 0).all()
    assert bins["packets"].sum() == 6
    assert bins["payload_bytes"].sum() == 1414


def test_intervals_sum_to_packets_less_one_for_each_flow(capture: Path) -> None:
    counts = pl.DataFrame(flowsweep.read_intervals(capture))
    assert counts["count"].sum() == 2
    assert (counts["bucket_low_ns"] < counts["bucket_high_ns"]).all()


def test_a_table_can_be_read_more_than_once_and_by_pyarrow(capture: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    flows = flowsweep.read_flows(capture)
    assert pyarrow.table(flows).num_rows == pyarrow.table(flows).num_rows == 4
    field = pyarrow.table(flows).schema.field("first_time")
    assert field.type == pyarrow.timestamp("ns", tz="UTC")
    assert b"meaning" in field.metadata


def test_duckdb_reads_a_table_without_pyarrow(capture: Path) -> None:
    program = f"""
import sys
sys.modules["pyarrow"] = None
import duckdb, flowsweep
packets = flowsweep.read_packets({str(capture)!r})
print(duckdb.sql("select count(*), min(epoch_ns(time)) from packets").fetchall())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == f"[(7, {START_NS})]", done.stderr


def test_several_files_are_one_capture_whatever_their_order(capture: Path, tmp_path: Path) -> None:
    data = capture.read_bytes()
    # Each record has a header of 16 bytes and a frame of 54: cut after the second record.
    cut = 24 + 2 * (16 + 54)
    first, second = tmp_path / "b.pcap", tmp_path / "a.pcap"
    first.write_bytes(data[:cut])
    second.write_bytes(data[:24] + data[cut:])
    whole = pl.DataFrame(flowsweep.read_flows(capture))
    assert pl.DataFrame(flowsweep.read_flows([second, first])).equals(whole)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"time,src,dst\n1,2,3\n", "text that begins with"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "bytes 89 50 4e 47"),
        (b"\x1f\x8b" + bytes(40), "cannot be unpacked"),
    ],
)
def test_what_is_no_capture_is_stated_at_once(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "trace.pcap"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as error:
        flowsweep.read_flows(path)
    assert found in str(error.value.found)
    assert "pcap or pcapng" in str(error.value.expected)


@pytest.mark.parametrize(
    ("mss", "payload", "merged"),
    [
        (1460, 1460, 0),
        (1460, 2920, 1),
        (8960, 8960, 0),
        (8960, 9100, 1),
        (536, 1460, 0),
        (None, 8960, 0),
        (None, 9300, 1),
    ],
)
def test_a_payload_longer_than_any_mss_was_merged(
    tmp_path: Path, mss: int | None, payload: int, merged: int
) -> None:
    """The SYN may also come last: its MSS still shows what the network carries."""
    data = [(number, tcp(*FLOW, seq=101, payload=payload)) for number in range(3000)]
    syn = tcp(*FLOW, flags=0x02, seq=100, mss=mss)
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap([*data, (3000, syn)]))
    captures = pl.DataFrame(flowsweep.read_captures(path))
    assert captures["super_packets"].to_list() == [3000 * merged]
    parse_tables([path], tmp_path)  # on all cores
    assert pl.read_parquet(tmp_path / "captures.parquet").equals(captures)


@pytest.mark.parametrize(
    ("times", "regressions", "step_back"),
    [
        ([0, 5, 5, 9], 0, 0),
        ([0, 900, 400, 401, 300, 2000], 2, 500),
    ],
)
def test_the_longest_way_back_in_time_is_known(
    tmp_path: Path, times: list[int], regressions: int, step_back: int
) -> None:
    path = tmp_path / "back.pcap"
    path.write_bytes(pcap([(time, tcp(*FLOW, payload=1)) for time in times]))
    captures = pl.DataFrame(flowsweep.read_captures(path))
    assert captures["time_regressions"].to_list() == [regressions]
    assert captures["largest_step_back_ns"].to_list() == [step_back]
