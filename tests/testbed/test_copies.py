"""Copies of packets and retransmissions are told apart: the emulator knows which frame is which."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

EXPERIMENT = """\
sites: {{west: [pc1], east: [pc2]}}
link: {{rtt: 10ms, rate: 50Mbit/s, {disturbance}}}
workload: {{app: pingpong, problem: {{message_bytes: 1048576, repetitions: 3, warmup: 0}}}}
limits: {{other_programs: 100%, cpu_pressure: 100%, lateness: 1s}}
"""


@pytest.mark.parametrize("disturbance", ["loss: 1%", "loss: 0.5%, duplicate: 1%"])
def test_copies_are_what_the_emulator_duplicated(
    tmp_path: Path, flowsweep, namespaces, disturbance: str
) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT.format(disturbance=disturbance))
    done = flowsweep("run", tmp_path / "small.yaml", "-o", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    done = flowsweep("ingest", tmp_path / "one", "-o", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    there, back = json.loads((tmp_path / "one/run.json").read_text())["emulator"]["links"]
    assert there["dropped_loss"] + back["dropped_loss"] > 10
    # A host records a copy for each frame that the link towards it duplicated.
    for host, link in (("pc1", back), ("pc2", there)):
        tables = tmp_path / f"tables/run=one/host={host}"
        captures = pl.read_parquet(tables / "captures.parquet")
        assert captures["duplicate_packets"].sum() == link["duplicated"]
        assert (link["duplicated"] > 10) == ("duplicate" in disturbance)
        sent = pl.read_parquet(tables / "flows.parquet")
        assert sent["retransmitted_packets"].sum() > 0
