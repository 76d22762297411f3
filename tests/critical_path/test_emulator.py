"""Critical paths of a real program over an emulated link, compared with its own record."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from flowsweep.warehouse import Warehouse

EXPERIMENT = """\
sites:
  west: [pc1]
  east: [pc2]
link: {rtt: 20ms, rate: 100Mbit/s}
tcp: {congestion_control: reno}
workload:
  app: pingpong
  problem: {message_bytes: 10000, repetitions: 40, warmup: 0}
axes: {rtt: [60ms], rate: [10Mbit/s]}
analysis: {match: true}
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 1s}
"""
RUNS = {"base": "baseline", "far": "rtt_60ms", "slow": "rate_10Mbit"}
#: Messages fit into TCP's initial window, so that none takes a second round trip.
#: Messages: 40 in each direction.
JOURNEYS = 80


@pytest.fixture(scope="module")
def rows(
    tmp_path_factory: pytest.TempPathFactory, namespaces: None, measurement: object
) -> dict[str, dict[str, float]]:
    """The rows of `time_path`."""
    folder = tmp_path_factory.mktemp("pingpong")
    (folder / "exchange.yaml").write_text(EXPERIMENT)

    def flowsweep(*words: object) -> None:
        command = [sys.executable, "-m", "flowsweep", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr

    for point in RUNS.values():
        name = f"pingpong-{point}-r1"
        run = folder / "runs" / name
        flowsweep("run", folder / "exchange.yaml", "--run", name, "--output", run)
        flowsweep("ingest", "--match", run, "--output", folder / "tables")
    flowsweep("runs", folder / "runs", "--output", folder / "tables" / "runs.parquet")
    by_run = {row["run"]: row for row in Warehouse(folder).rows("time_path").to_dicts()}
    found = {name: by_run[f"pingpong-{point}-r1"] for name, point in RUNS.items()}
    for name, point in RUNS.items():
        record = json.loads((folder / "runs" / f"pingpong-{point}-r1" / "run.json").read_text())
        assert found[name]["path_s"] == pytest.approx(record["completion_s"], abs=1e-6)
    return found


def slowed(rows: dict[str, dict[str, float]], name: str) -> float:
    """Returns how much longer the run took, except for longer computing on a busy machine."""
    return grown(rows, name, "completion_s") - grown(rows, name, "computing_s")


def grown(rows: dict[str, dict[str, float]], name: str, *columns: str) -> float:
    return sum(rows[name][column] - rows["base"][column] for column in columns)


def test_propagation_grows_as_the_completion_time_does(
    rows: dict[str, dict[str, float]],
) -> None:
    growth = slowed(rows, "far")
    assert grown(rows, "far", "propagation_s") == pytest.approx(growth, rel=0.05)
    # At an RTT of 60 ms each message takes 30 ms.
    messages = rows["far"]["crossings"]
    assert messages >= JOURNEYS
    assert rows["far"]["propagation_s"] == pytest.approx(messages * 30e-3, rel=0.02)


def test_serialisation_grows_with_the_bytes_of_all_messages(
    rows: dict[str, dict[str, float]],
) -> None:
    growth = slowed(rows, "slow")
    link = grown(rows, "slow", "serialisation_s", "queueing_s")
    assert link == pytest.approx(growth, rel=0.05)
    # 10,000 bytes, and the headers of 8 packets.
    assert rows["slow"]["serialisation_s"] == pytest.approx(JOURNEYS * 10_550 * 8 / 1e7, rel=0.03)
