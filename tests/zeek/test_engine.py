"""Zeek as the flow engine: the program, its failures, and tables from our script's logs."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import forks
import polars as pl
import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.warehouse import Warehouse
from flowsweep.zeek import hosts, program

CONN = {
    "ts": 1.5, "uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 4000, "id.resp_h": "10.0.0.2",
    "id.resp_p": 80, "proto": "tcp", "duration": 2.0, "orig_pkts": 4, "orig_ip_bytes": 218,
    "resp_pkts": 3, "resp_ip_bytes": 176, "history": "ShADadFf",
}  # fmt: skip
HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 128, 1)
A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


def flowsweep(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", *arguments)


def write(path: Path, *rows: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def frame(source: bytes, target: bytes, seq: int, flags: int, payload: int) -> bytes:
    """Returns an Ethernet frame with a TCP segment; ports 4000 and 80, no checksums."""
    ports = (4000, 80) if source == A else (80, 4000)
    tcp = struct.pack("!HHIIBBHHH", *ports, seq, 1, 5 << 4, flags, 500, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + payload, 1, 0x4000, 64, 6, 0, source, target)
    return bytes(12) + b"\x08\x00" + ip + tcp + bytes(payload)


def capture(path: Path, snaplen: int = 128) -> Path:
    """Writes a connection of ten packets 7 ms apart; longer ones are truncated."""
    steps = [(A, 0, 2, 0), (B, 0, 18, 0), (A, 1, 16, 0), (A, 1, 24, 300), (B, 1, 24, 1000),
             (A, 301, 24, 20), (B, 1001, 16, 0), (A, 321, 17, 0), (B, 1001, 17, 0),
             (A, 322, 16, 0)]  # fmt: skip
    records = b""
    for number, (source, seq, flags, payload) in enumerate(steps):
        data = frame(source, B if source == A else A, seq, flags, payload)
        stamp = 7_000 * number
        kept = data[:snaplen]
        records += struct.pack("<IIII", 1_700_000_000, stamp, len(kept), len(data)) + kept
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(HEADER + records)
    return path


def needs_zeek() -> None:
    try:
        words = program.command(Path())
    except FlowsweepError as error:
        pytest.skip(f"needs Zeek: {error.found}")
    if words[0].endswith(("apptainer", "podman", "docker")):
        pytest.skip("needs an installed Zeek: containers are not tried here")


def test_the_script_counts_what_the_parser_counts(tmp_path: Path) -> None:
    needs_zeek()
    capture(tmp_path / "runs/r1/pc1.pcap")
    done = flowsweep("ingest", tmp_path / "runs/r1", "-o", tmp_path / "tables", "--engine", "both")
    assert done.returncode == 0, done.stderr

    def rows(table: str, *columns: str) -> list[tuple[object, ...]]:
        found = pl.read_parquet(next((tmp_path / "tables" / table).rglob("*.parquet")))
        return found.select(columns).rows()

    flow = ("direction", "src_ip", "src_port", "first_time", "last_time", "packets", "ip_bytes")
    assert rows("zeek_flows", *flow) == rows("flows", *flow)
    bins = ("bin_start", "src_ip", "dst_ip", "packets", "wire_bytes", "payload_bytes")
    assert rows("zeek_throughput", *bins) == rows("throughput", *bins)
    gaps = ("direction", "bucket_low_ns", "bucket_high_ns", "count")
    assert rows("zeek_intervals", *gaps) == rows("intervals", *gaps)
    sizes = ("direction", "first_time", "bytes")
    assert rows("zeek_messages", *sizes) == rows("messages", *sizes)
    flowsweep("runs", tmp_path / "runs", "-o", tmp_path / "tables/runs.parquet")
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("agreement")["class"].to_list() == ["the same"]


def test_zeek_alone_leads_to_the_same_figures(tmp_path: Path) -> None:
    needs_zeek()
    capture(tmp_path / "runs/r1/pc1.pcap")
    done = flowsweep("ingest", tmp_path / "runs/r1", "-o", tmp_path / "tables", "--engine", "zeek")
    assert done.returncode == 0, done.stderr
    flowsweep("runs", tmp_path / "runs", "-o", tmp_path / "tables/runs.parquet")
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("flow_sizes")["is_of_zeek"].to_list() == [False, False]
    assert warehouse.rows("agreement").is_empty()


@pytest.mark.parametrize(
    ("zeek", "says"),
    [("echo no such script >&2; exit 3", "failed with exit code 3"),
     ("kill -9 $$", "was killed by signal 9")],
)  # fmt: skip
def test_a_zeek_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zeek: str, says: str
) -> None:
    monkeypatch.setenv(program.COMMAND, f"sh -c '{zeek}'")
    capture(tmp_path / "runs/r1/pc1.pcap")
    done = flowsweep("ingest", tmp_path / "runs/r1", "-o", tmp_path / "tables", "--engine", "both")
    assert done.returncode == 2
    assert says in done.stderr
    assert "pc1.pcap" in done.stderr
    assert not list((tmp_path / "tables").rglob("*.parquet"))


def test_a_machine_without_zeek_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(program.COMMAND, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program, "FOLDERS", (str(tmp_path),))
    with pytest.raises(FlowsweepError, match="Zeek is not on this machine") as caught:
        program.command(tmp_path)
    assert program.COMMAND in (caught.value.remedy or "")


def test_rotated_parts_go_to_zeek_as_one_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(program.COMMAND, "sh -c 'cat > stdin.log'")
    parts = [capture(tmp_path / name) for name in ("pc1.pcap", "pc1-00001.pcap")]
    (tmp_path / "out").mkdir()
    (log,) = program.logs_of(parts, tmp_path / "out")
    assert log.read_bytes() == parts[0].read_bytes() + parts[1].read_bytes()[len(HEADER) :]
    parts[1].write_bytes(struct.pack("<I", 0xA1B23C4D) + parts[1].read_bytes()[4:])
    (tmp_path / "again").mkdir()
    with pytest.raises(FlowsweepError, match="cannot be put behind the first"):
        program.logs_of(parts, tmp_path / "again")


@pytest.mark.parametrize(
    "names",
    [("pc1.pcap", "pc1-00001.pcap"), ("pc1.pcap2", "pc1.pcap10"), ("pc1.pcap1", "pc1.pcap0")],
)
def test_rotated_parts_go_to_zeek_in_the_order_of_their_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    """File names may not show the order: a ring begins again at its first file."""
    monkeypatch.setenv(program.COMMAND, f"sh -c 'cat >{tmp_path}/fed; exit 3'")
    whole = capture(tmp_path / "whole.pcap").read_bytes()
    middle = len(HEADER) + 16 + struct.unpack_from("<I", whole, len(HEADER) + 8)[0]
    run = tmp_path / "r1"
    run.mkdir()
    for name, part in zip(names, (whole[:middle], HEADER + whole[middle:]), strict=True):
        (run / name).write_bytes(part)
    done = flowsweep("ingest", run, "-o", tmp_path / "tables", "--engine", "zeek")
    assert done.returncode == 2
    assert (tmp_path / "fed").read_bytes() == whole


def test_logs_of_our_script_become_tables(tmp_path: Path) -> None:
    run = tmp_path / "r1"
    write(run / "pc1.conn.log", CONN)
    write(
        run / "pc1.flowsweep_directions.log",
        {"uid": "C1", "is_orig": True, "first": 1.5, "last": 3.25, "packets": 4},
        {"uid": "C1", "is_orig": False, "first": 1.75, "last": 3.5, "packets": 3},
    )
    write(
        run / "pc1.flowsweep_intervals.log",
        {"uid": "C1", "is_orig": False, "low_ns": 1024, "high_ns": 1040, "gaps": 2},
        {"uid": "C1", "is_orig": True, "low_ns": 0, "high_ns": 1, "gaps": 3},
    )
    message = {"uid": "C1", "is_orig": True, "bytes": 5, "packets": 1, "evidence": "turn"}
    write(
        run / "pc1.flowsweep_messages.log",
        message | {"first": 2.5, "last": 2.5},
        message | {"first": 1.5, "last": 2.0},
    )
    ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
    counts = {"packets": 2, "wire_bytes": 200, "payload_bytes": 70}
    write(run / "pc1.flowsweep_bins.log", {"ts": 1.5} | ends | counts)
    logs = hosts.logs_by_host(run)["pc1"]
    hosts.write(logs, lambda table: tmp_path / f"{table}.parquet", 10_000_000, has_capture=False)

    def rows(table: str, *columns: str) -> list[tuple[object, ...]]:
        return pl.read_parquet(tmp_path / f"{table}.parquet").select(columns).rows()

    assert rows("flows", "direction", "duration_ns") == [
        ("forward", 1_750_000_000),
        ("backward", 1_750_000_000),
    ]
    assert rows("intervals", "connection", "direction", "bucket_low_ns", "count") == [
        (0, "forward", 0, 3),
        (0, "backward", 1024, 2),
    ]
    assert rows("messages", "direction", "gap_before_ns", "evidence") == [
        ("forward", None, "turn"),
        ("forward", 500_000_000, "turn"),
    ]
    assert rows("throughput", "bin_ns", "wire_bytes", "payload_bytes") == [(10_000_000, 200, 70)]


def test_a_cut_capture_keeps_what_the_parser_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(program.COMMAND, "sh -c 'echo truncated dump file >&2; exit 1'")
    whole = capture(tmp_path / "runs/r1/pc1.pcap")
    whole.write_bytes(whole.read_bytes()[:-3])
    done = flowsweep("ingest", tmp_path / "runs/r1", "-o", tmp_path / "tables", "--engine", "both")
    assert done.returncode == 1
    assert "truncated dump file" in done.stderr
    (flows,) = (tmp_path / "tables").rglob("flows.parquet")
    assert pl.read_parquet(flows)["packets"].sum() == 9
    done = flowsweep("ingest", tmp_path / "runs/r1", "-o", tmp_path / "zeek", "--engine", "zeek")
    assert done.returncode == 2
