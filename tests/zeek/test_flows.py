"""Flows from Zeek's conn.log, compared with ours from the same capture."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import forks
import polars as pl
from collection import PCAPS, ZEEK_LOGS, by_size

import flowsweep
from flowsweep.zeek import tables

KEY = ["protocol", "src_ip", "src_port", "dst_ip", "dst_port"]
SUMS = ["packets", "ip_bytes"]
#: Captures of fragments, which Zeek counts as whole packets, or leaves out; of tunnels whose
#: inner endpoints only one of the two sees; and of ports of one address at two times.
APART = ("frag", "defrag", "reasm", "vxlan", "geneve", "teredo", "rtmp", "arkime_synthetic",
         "cisco-fabric-path", "vntag", "ip6_esp", "ipv6_options", "l7fuzzing", "test2.rewrite_seed",
         "data2", "nb6-http", "6syns", "long_rtt", "pcap_v2.2", "bug7")  # fmt: skip
CONN = {
    "ts": 1.5, "uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 4000, "id.resp_h": "10.0.0.2",
    "id.resp_p": 80, "proto": "tcp", "duration": 2.0, "orig_bytes": 10, "resp_bytes": 20,
    "conn_state": "SF", "missed_bytes": 0, "history": "ShADadFr", "orig_pkts": 4,
    "orig_ip_bytes": 218, "resp_pkts": 3, "resp_ip_bytes": 176,
}  # fmt: skip


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", *arguments)


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_connection_becomes_the_flows_that_sent_packets(tmp_path: Path) -> None:
    unanswered = CONN | {"ts": 1.0, "uid": "C0", "resp_pkts": 0, "history": "S", "id.orig_p": 1}
    file = write(tmp_path / "conn.log", CONN, unanswered)
    done = run("parse", file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "out/flows.parquet")
    assert rows["connection"].to_list() == [0, 1, 1]
    assert rows["uid"].to_list() == ["C0", "C1", "C1"]
    assert rows["direction"].to_list() == ["forward", "forward", "backward"]
    assert rows["src_port"].to_list() == [1, 4000, 80]
    assert rows["start"].to_list() == ["syn", "syn", "syn"]
    # An RST of either side ends both directions, as in the native table.
    assert rows["end"].to_list() == ["open", "rst", "rst"]
    assert rows["duration_ns"].to_list() == [2_000_000_000] * 3
    assert rows["payload_bytes"].to_list() == [10, 10, 20]
    assert rows["rtt_min_ns"].null_count() == 3
    names = [name for name, *_ in flowsweep._parsers.columns("flows")]
    own = ["uid", "conn_state", "history", "missed_bytes", "community_id", "tunnel_parents"]
    assert rows.columns == [*names, *own]
    assert rows["community_id"].null_count() == 3


def test_payload_that_no_packet_could_carry_is_unknown(tmp_path: Path) -> None:
    """Zeek counts TCP bytes by sequence numbers, and a stray RST may have any number."""
    reset = CONN | {"conn_state": "RSTOS0", "history": "SR", "orig_bytes": 4_294_967_000}
    missed = CONN | {"id.orig_p": 1, "resp_bytes": 1_176, "missed_bytes": 1_000}
    file = write(tmp_path / "conn.log", reset, missed)
    assert run("parse", file, "-o", tmp_path / "out").returncode == 0
    rows = pl.read_parquet(tmp_path / "out/flows.parquet")
    assert rows["payload_bytes"].to_list() == [None, 20, 10, 1_176]


def test_flows_of_zeek_are_read_as_tables_are(tmp_path: Path) -> None:
    run("parse", write(tmp_path / "conn.log", CONN), "-o", tmp_path / "out")
    assert pl.DataFrame(flowsweep.read_flows(tmp_path / "out")).height == 2


def test_a_log_without_flows_is_refused(tmp_path: Path) -> None:
    done = run("parse", write(tmp_path / "dns.log", {"ts": 1.0, "uid": "C"}), "-o", tmp_path / "o")
    assert done.returncode == 2
    assert "flowsweep zeek-logs" in done.stderr
    assert not (tmp_path / "o").exists()


def test_show_tells_of_a_log(tmp_path: Path) -> None:
    done = run("show", write(tmp_path / "conn.log", CONN))
    assert done.returncode == 0, done.stderr
    assert "7 packets  394 B of IP packets  30 B payload" in done.stdout
    assert "10.0.0.2:80" in done.stdout
    shown = json.loads(run("show", "--format", "json", tmp_path / "conn.log").stdout)
    assert shown[0]["counts"]["conn_state"] == {"SF": 1}
    (most, least) = shown[0]["largest"]
    assert (most["payload_bytes"], least["payload_bytes"]) == (20, 10)
    # The log's time covers the connection to its end.
    assert shown[0]["span_s"] == most["duration_ns"] / 1e9 > 0


def test_zeek_and_the_native_parser_count_the_same(tmp_path: Path) -> None:
    """If both see one flow, packets and bytes are exactly equal."""
    compared = 0
    for log in sorted(ZEEK_LOGS.rglob("conn.log.gz")):
        capture = PCAPS / log.parent.relative_to(ZEEK_LOGS)
        if any(word in str(capture) for word in APART) or not capture.exists():
            continue
        paths = {name: tmp_path / f"{name}.parquet" for name in tables.FILLED}
        tables.write([log], paths)
        zeek = pl.read_parquet(paths["flows"]).group_by(KEY).agg(pl.sum(*SUMS))
        # Zeek has ports for TCP and UDP only.
        ports = [pl.when(pl.col("protocol").is_in(["tcp", "udp"])).then(pl.col(name)).alias(name)
                 for name in ("src_port", "dst_port")]  # fmt: skip
        native = pl.DataFrame(flowsweep.read_flows(capture)).with_columns(ports)
        ours = native.group_by(KEY).agg(pl.sum(*SUMS))
        both = zeek.join(ours, on=KEY, how="full", nulls_equal=True, suffix="_ours")
        for name in SUMS:
            assert both[name].equals(both[f"{name}_ours"]), (capture, name)
        compared += both.height
    assert compared >= by_size(small=50, large=2001)


def test_a_compressed_log_is_shown(tmp_path: Path) -> None:
    (tmp_path / "conn.log.gz").write_bytes(gzip.compress(json.dumps(CONN).encode() + b"\n"))
    assert run("show", tmp_path / "conn.log.gz").returncode == 0
