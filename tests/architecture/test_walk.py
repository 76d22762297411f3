"""One packet of the kept demo, found at every station by its number, bytes or time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import flowsweep
from flowsweep.render import page
from flowsweep.warehouse import Warehouse

RUN = "nqueens-rtt_16ms-r1"
#: Half of the requested RTT.
ONE_WAY_NS = 8_000_000
BIN_NS = 10_000_000


@dataclass(frozen=True)
class Record:
    """A record of a pcap file: its number from 1, offset, time and bytes."""

    number: int
    offset: int
    time_ns: int
    wire_bytes: int
    data: bytes

    @property
    def ip(self) -> bytes:
        return self.data[14:]

    @property
    def name(self) -> bytes:
        """Bytes that no other packet of the run has: identification, addresses, sequence number."""
        return self.ip[4:6] + self.ip[12:20] + self.ip[20:28]

    @property
    def payload(self) -> int:
        header = (self.ip[32] >> 4) * 4
        return int.from_bytes(self.ip[2:4], "big") - 20 - header


def records(capture: Path) -> list[Record]:
    """Returns all TCP packets of an agent's capture: nanoseconds, little-endian, Ethernet."""
    data = subprocess.run(["zstd", "-dc", capture], capture_output=True, check=True).stdout
    assert data[:4] == bytes.fromhex("4d3cb2a1")
    found, at, number = [], 24, 0
    while at < len(data):
        second, fraction, kept, length = (
            int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4, 8, 12)
        )
        frame = data[at + 16 : at + 16 + kept]
        number += 1
        if frame[12:14] == b"\x08\x00" and frame[23] == 6:
            time_ns = second * 1_000_000_000 + fraction
            found.append(Record(number, at, time_ns, length, frame))
        at += 16 + kept
    return found


@pytest.fixture(scope="module")
def experiment(
    root: Path,
    command: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The run's tables, made like the workflow's."""
    results = tmp_path_factory.mktemp("walk")
    (results / "runs").mkdir()
    (results / "runs" / RUN).symlink_to(runs(root) / RUN)
    command("flowsweep", "ingest", results / "runs" / RUN, "-o", results / "tables")
    command("flowsweep", "runs", results / "runs", "-o", results / "tables/runs.parquet")
    return results


def runs(root: Path) -> Path:
    return root / "workflows/experiments/captured/demo/runs"


@pytest.fixture(scope="module")
def packet(root: Path) -> tuple[Record, Record]:
    """The first segment with payload from pc1 to pc3, as pc1 and as pc3 recorded it."""
    sent = records(runs(root) / RUN / "pc1.pcap.zst")
    one = next(
        record
        for record in sent
        if record.payload and record.ip[12:20] == bytes([10, 77, 1, 1, 10, 77, 2, 1])
    )
    received = records(runs(root) / RUN / "pc3.pcap.zst")
    (other,) = [record for record in received if record.name == one.name]
    return one, other


def test_it_crosses_the_network_with_its_delay(packet: tuple[Record, Record]) -> None:
    sent, received = packet
    assert sent.ip[20:] == received.ip[20:]  # unchanged above IP
    # One machine, one clock; the link's delay, and less than that again for the rest.
    assert ONE_WAY_NS <= received.time_ns - sent.time_ns < 2 * ONE_WAY_NS


def test_it_is_a_row_of_packets_of_a_flow_and_of_a_message(
    root: Path, packet: tuple[Record, Record]
) -> None:
    capture = runs(root) / RUN / "pc1.pcap.zst"
    sent, _ = packet
    rows = pl.DataFrame(flowsweep.read_packets(capture))
    (row,) = rows.filter(pl.col("packet") == sent.number).iter_rows(named=True)
    time = rows.filter(pl.col("packet") == sent.number)["time"].dt.timestamp("ns").item()
    assert (time, row["file_offset"]) == (sent.time_ns, sent.offset)
    assert (row["wire_bytes"], row["payload_bytes"]) == (sent.wire_bytes, sent.payload)
    assert row["seq"] == int.from_bytes(sent.ip[24:28], "big")
    side = (pl.col("connection") == row["connection"]) & (pl.col("direction") == row["direction"])
    around = (pl.col("first_time").dt.timestamp("ns") <= time) & (
        pl.col("last_time").dt.timestamp("ns") >= time
    )
    (flow,) = pl.DataFrame(flowsweep.read_flows(capture)).filter(side & around).to_dicts()
    flow_packets = rows.filter(side)
    assert flow["packets"] == flow_packets.height
    assert flow["payload_bytes"] == flow_packets["payload_bytes"].sum()
    assert (flow["src_ip"], flow["dst_ip"]) == ("10.77.1.1", "10.77.2.1")
    message = pl.DataFrame(flowsweep.read_messages(capture)).filter(side & around)
    assert message.height == 1
    gaps = pl.DataFrame(flowsweep.read_intervals(capture)).filter(side)
    assert gaps["count"].sum() == flow_packets.height - 1
    gap = gaps.filter(
        (pl.col("bucket_low_ns") <= row["gap_ns"]) & (pl.col("bucket_high_ns") > row["gap_ns"])
    )
    assert gap["count"].sum() >= 1


def test_its_bin_reaches_the_page(experiment: Path, packet: tuple[Record, Record]) -> None:
    """As received by pc3: the report shows this host."""
    _, received = packet
    warehouse = Warehouse(experiment)
    bin_ns = received.time_ns // BIN_NS * BIN_NS
    bin_of_it = [
        record
        for record in records(experiment / "runs" / RUN / "pc3.pcap.zst")
        if record.time_ns // BIN_NS * BIN_NS == bin_ns
    ]
    from_pc1 = [r for r in bin_of_it if r.ip[12:20] == received.ip[12:20]]
    to_pc3 = [r for r in bin_of_it if r.ip[16:20] == received.ip[16:20]]
    staged = warehouse.select(
        "select sum(packets)::bigint as packets, sum(wire_bytes)::bigint as wire_bytes "
        "from stg_throughput where host = 'pc3' and src_ip = '10.77.1.1' and "
        f"dst_ip = '10.77.2.1' and epoch_ns(bin_start) = {bin_ns}"
    )
    assert staged.row(0) == (len(from_pc1), sum(r.wire_bytes for r in from_pc1))
    own = warehouse.select(
        "select packets, wire_bytes, mbit_s from host_traffic where host = 'pc3' and "
        f"direction = 'in' and bin_start_ns = {bin_ns}"
    )
    wire_bytes = sum(r.wire_bytes for r in to_pc3)
    assert own.row(0) == (len(to_pc3), wire_bytes, wire_bytes * 8e3 / BIN_NS)
    start_ns = warehouse.select("select start_ns from windows where host = 'pc3'").item()
    begin_s = (bin_ns - start_ns) / 1e9
    step = warehouse.rows("throughput_series").filter(
        (pl.col("direction") == "in")
        & (pl.col("start_s") - 1e-6 < begin_s)
        & (pl.col("end_s") - 1e-6 > begin_s)
    )
    assert step["host"].to_list() == ["pc3"]
    assert step["wire_bytes"].item() >= wire_bytes
    assert 'id="throughput_series"' in page.build(experiment).html.replace("\u00a0", " ")
