"""Copies and retransmissions are distinguished: the emulator knows which frame is which."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

EXPERIMENT = """\
sites: {{west: [pc1], east: [pc2]}}
link: {{rtt: 10ms, rate: 50Mbit/s, {disturbance}}}
workload: {{app: {workload}}}
limits: {{other_programs: 100%, cpu_pressure: 100%, lateness: 1s}}
"""


PINGPONG = "pingpong, problem: {message_bytes: 1048576, repetitions: 3, warmup: 0}"
BULK = "bulk, problem: {{transport: {}, megabytes: 8, start_mbit_s: 20}}"
#: Packets overtake each other.
OVERTAKING = "loss: 0.5%, jitter: 3ms, reorder: true"
HALF_RTT_NS = 5_000_000
#: A full segment with its link header.
FRAME = 1514
ADDRESSES = {"pc1": "10.77.1.1", "pc2": "10.77.2.1"}


def run(
    tmp_path: Path, flowsweep, workload: str, disturbance: str
) -> tuple[dict[str, int], dict[str, int]]:
    """Runs and ingests one experiment; returns the emulator's counters for both directions."""
    text = EXPERIMENT.format(disturbance=disturbance, workload=workload)
    (tmp_path / "small.yaml").write_text(text)
    done = flowsweep("run", tmp_path / "small.yaml", "-o", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    done = flowsweep("ingest", tmp_path / "one", "-o", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    there, back = json.loads((tmp_path / "one/run.json").read_text())["emulator"]["links"]
    assert there["dropped_loss"] + back["dropped_loss"] > 10
    return there, back


def table(tmp_path: Path, host: str, name: str) -> pl.DataFrame:
    return pl.read_parquet(tmp_path / f"tables/run=one/host={host}/{name}.parquet")


@pytest.mark.parametrize("disturbance", ["loss: 1%", "loss: 0.5%, duplicate: 1%"])
def test_copies_are_what_the_emulator_duplicated(
    tmp_path: Path, flowsweep, namespaces, disturbance: str
) -> None:
    there, back = run(tmp_path, flowsweep, PINGPONG, disturbance)
    emulator = json.loads((tmp_path / "one/run.json").read_text())["emulator"]
    # On a busy machine the duplicate may leave half a round trip late, like a retransmission.
    most_missed = 2 if emulator["lateness_ns"]["max"] > HALF_RTT_NS else 0
    # A host records a copy for each frame that the link to it duplicated.
    for host, link in (("pc1", back), ("pc2", there)):
        captures = table(tmp_path, host, "captures")
        flows = table(tmp_path, host, "flows")
        # A host may send equal RSTs without identification, which cannot be distinguished from
        # copies.
        resets = flows.filter(pl.col("dst_ip") == ADDRESSES[host])["rst_packets"].sum()
        missed = link["duplicated"] - captures["duplicate_packets"].sum()
        assert 0 <= missed <= most_missed + max(resets - 1, 0)
        assert (link["duplicated"] > 10) == ("duplicate" in disturbance)
        assert flows["retransmitted_packets"].sum() > 0


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("disturbance", ["loss: 1%", OVERTAKING])
def test_what_was_lost_or_overtaken_is_no_copy(
    tmp_path: Path, flowsweep, namespaces, transport: str, disturbance: str
) -> None:
    there, _ = run(tmp_path, flowsweep, BULK.format(transport), disturbance)
    for host in ("pc1", "pc2"):
        captures = table(tmp_path, host, "captures")
        assert captures["duplicate_packets"].sum() == 0
        assert captures["packets"].sum() > 5_000
    # pc1 sends, and retransmits lost segments of TCP.
    sent = table(tmp_path, "pc1", "flows").filter(
        (pl.col("src_ip") == "10.77.1.1") & (pl.col("protocol") == transport)
    )
    if transport == "tcp":
        lost = there["dropped_loss_bytes"] // FRAME
        assert sent["retransmitted_packets"].sum() >= lost > 10
    else:
        # UDP does not retransmit: each packet arrives or is lost.
        arrived = table(tmp_path, "pc2", "flows").filter(pl.col("protocol") == "udp")
        gone = sent["packets"].sum() - arrived["packets"].sum()
        assert abs(gone - there["dropped_loss"]) <= 5
