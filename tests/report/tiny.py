"""Tables of a few rows, written by hand in the test that needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

TIME = pl.Datetime("ns", "UTC")
T0 = 1_767_225_600_000_000_000
MS = 1_000_000
HOSTS = [
    {"name": "pc1", "site": "west", "address": "10.77.1.1"},
    {"name": "pc3", "site": "east", "address": "10.77.2.1"},
]


def run(name: str, **changes: Any) -> dict[str, Any]:
    """Returns a row of `runs`: valid, at 1 ms and 100 Mbit/s, 100 bins of 10 ms long."""
    row: dict[str, Any] = {
        "run": name,
        "experiment": "tiny",
        "app": "app",
        "problem": '{"n": 1}',
        "repetition": 1,
        "baseline": False,
        "warmup": False,
        "rtt_asked_ns": 1 * MS,
        "rtt_measured_ns": 1 * MS,
        "rate_asked_bit_s": 1e8,
        "rate_measured_bit_s": 1e8,
        "start": T0,
        "end": T0 + 1_000 * MS,
        "completion_s": 1.0,
        "status": "valid",
        "reason": None,
        "hosts": HOSTS,
    }
    return row | changes


def runs(directory: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes tables/runs.parquet with the columns of the rows."""
    tables = directory / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    times = [pl.col(name).cast(TIME) for name in ("start", "end") if name in frame.columns]
    frame.with_columns(times).write_parquet(tables / "runs.parquet")
    return directory


def table(directory: Path, name: str, run: str, host: str, rows: list[dict[str, Any]]) -> None:
    """Writes one Hive partition; columns named like times become times, in ns since 1970."""
    path = directory / "tables" / f"run={run}" / f"host={host}" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    ends = ("_time", "bin_start", "time_sent", "time_received", "time_sent_reference")
    times = [column for column in frame.columns if column.endswith(ends)]
    frame.with_columns(pl.col(times).cast(TIME)).write_parquet(path)


def capture(**changes: Any) -> dict[str, Any]:
    """Returns a row of `captures` without faults."""
    row = {
        "file": "x.pcap", "interface": "eth0", "snaplen": 96, "packets": 10_000,
        "wire_bytes": 1_000_000, "first_time": T0, "last_time": T0 + 1_000 * MS,
        "truncated_tail": False, "undecoded_packets": 0, "fragments": 0, "super_packets": 0,
        "time_regressions": 0, "dropped_kernel": 0, "dropped_interface": 0,
    }  # fmt: skip
    return row | changes


def flow(src: str, dst: str, **changes: Any) -> dict[str, Any]:
    """Returns a row of `flows`: TCP from SYN to FIN."""
    row = {
        "connection": 0, "direction": "forward", "protocol": "tcp",
        "src_ip": src, "src_port": 1000, "dst_ip": dst, "dst_port": 2000,
        "first_time": T0, "last_time": T0 + 500 * MS, "duration_ns": 500 * MS,
        "packets": 10, "wire_bytes": 10_000, "payload_bytes": 9_000, "start": "syn", "end": "fin",
    }  # fmt: skip
    return row | changes


def graded_flow(src: str, dst: str, **changes: Any) -> dict[str, Any]:
    """Returns a row of `flows` with all columns that a grade depends on."""
    columns = {
        "ip_bytes": 9_500, "syn_packets": 1, "rst_packets": 0, "vlan": None, "tunnel": None,
        "tunnel_id": None, "retransmitted_packets": 0, "retransmitted_bytes": 0,
        "retransmitted_probes": 0, "unseen_acked_bytes": 0,
    }  # fmt: skip
    return flow(src, dst, **columns | changes)


def queue_pair(src: str, dst: str, **changes: Any) -> dict[str, Any]:
    """Returns a row of `rdma`: three messages without loss."""
    row = {
        "connection": 0, "src_ip": src, "dst_ip": dst, "destination_qp": 17, "service": "rc",
        "first_time": T0, "last_time": T0, "packets": 10, "payload_bytes": 9_000,
        "messages": 3, "message_bytes": 9_000, "read_requests": 0, "lost_packets": 0,
        "resent_packets": 0, "repeated_packets": 0, "sequence_nak_packets": 0,
        "rnr_nak_packets": 0, "other_nak_packets": 0, "cnp_packets": 0, "ce_packets": 0,
        "rtt_samples": 0, "rtt_min_ns": None, "rtt_mean_ns": None,
    }  # fmt: skip
    return row | changes


def message(size: int, **changes: Any) -> dict[str, Any]:
    """Returns a row of `messages`: one packet of `size` bytes on the connection of `flow`."""
    row = {
        "connection": 0, "direction": "forward", "first_time": T0, "last_time": T0,
        "bytes": size, "packets": 1, "gap_before_ns": None, "evidence": "turn+short",
        "at_sender": True, "merged_possible": False,
    }  # fmt: skip
    return row | changes


def sent(
    directory: Path,
    run: str,
    sender: str,
    receiver: str,
    story: str,
    error_ns: int | None = MS // 2,
) -> None:
    """Writes the matched tables of packets from one host to another, one letter per packet.

    a: it arrived, after 1 ms and one more for each packet before it; x: a quarter of it was lost;
    ?: its fate is unknown. Delays may be off by `error_ns`; with None they are unknown.
    """
    fates = {"a": "delivered", "x": "lost", "?": "unknown"}
    packets = [
        {
            "sender": sender, "receiver": receiver, "protocol": "tcp",
            "time_sent": T0 + place * MS, "packet_sent": place + 1, "fate": fates[letter],
            "is_retransmission": False, "reordered_by": 0 if letter == "a" else None,
            "payload_bytes": 1000, "lost_bytes": 250 if letter == "x" else None,
        }
        for place, letter in enumerate(story)
    ]  # fmt: skip
    table(directory, "fates", run, sender, packets)
    delays = [
        {
            "sender": sender, "receiver": receiver, "protocol": "tcp", "packet_sent": place + 1,
            "delay_ns": None if error_ns is None else (place + 1) * MS, "delay_error_ns": error_ns,
            "queue_ns": place * MS,
        }
        for place, letter in enumerate(story)
        if letter == "a"
    ]  # fmt: skip
    table(directory, "one_way", run, sender, delays)


def bins(src: str, dst: str, sizes: dict[int, int]) -> list[dict[str, Any]]:
    """Returns rows of `throughput`: wire bytes by number of the 10 ms bin since T0."""
    return [
        {
            "bin_start": T0 + number * 10 * MS, "bin_ns": 10 * MS, "src_ip": src, "dst_ip": dst,
            "packets": 1, "wire_bytes": size, "payload_bytes": size,
        }
        for number, size in sizes.items()
    ]  # fmt: skip
