"""A second program next to that of the run: in the captures, and repeated until the run ends."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import flowsweep
from flowsweep.testbed.namespaces.beside import PORTS

EXPERIMENT = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 20Mbit/s}
workload:
  - app: nqueens
    problem: {board: 10, node_ns: 60000}
  - app: jigsaw
    problem: {side: 4, colours: 9, node_ns: 20000}
  - name: telling
    where: first
    command: FOLDER/tell
  - name: silent
    where: first
    command: sleep 99
  - name: failing
    where: first
    command: echo no luck >&2; exit 3
repetitions: 1
warmup: 0
timeout: 60s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""
# Sends one datagram per round. The background sleep must end with the program.
TELL = """\
#!/bin/bash
sleep 77.0625 &
echo hello > /dev/udp/10.77.2.1/5555
sleep 0.3
"""


@pytest.fixture
def make(tmp_path, namespaces, flowsweep):
    (tmp_path / "tell").write_text(TELL)
    (tmp_path / "tell").chmod(0o755)

    def run(beside: str, timeout: str = "60s"):
        text = EXPERIMENT.replace("FOLDER", str(tmp_path)).replace("60s", timeout)
        (tmp_path / "two.yaml").write_text(text)
        output = tmp_path / beside
        done = flowsweep("run", tmp_path / "two.yaml", "--set", f"beside={beside}", "-o", output)
        assert done.returncode == 0, done.stderr
        return json.loads((output / "run.json").read_text()), output

    return run


def ports(capture: Path, protocol: str) -> list[set[int]]:
    """Returns the two ports of each connection with payload."""
    found = pl.DataFrame(flowsweep.read_flows(str(capture))).filter(
        pl.col("protocol") == protocol, pl.col("payload_bytes") > 0
    )
    return [{row["src_port"], row["dst_port"]} for row in found.iter_rows(named=True)]


def read(path: Path) -> bytes:
    """Returns a process's file in /proc, or nothing if the process has just ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def is_others(pair: set[int]) -> bool:
    return any(PORTS[0] <= port <= PORTS[1] for port in pair)


def test_both_applications_are_in_the_captures_and_distinguished_by_their_ports(make):
    record, output = make("jigsaw")
    assert record["status"] == "valid", record["reason"]
    assert record["app"] == "nqueens"
    assert record["application"]["app"] == "nqueens"
    beside = record["beside"]
    assert (beside["app"], beside["mpi_ports"]) == ("jigsaw", list(PORTS))
    # The run's time is that of the main program; rounds of the other one are shorter.
    assert beside["rounds"] == len(beside["completion_s"]) > 0
    assert all(0 < seconds < record["completion_s"] for seconds in beside["completion_s"])
    assert len(record["machine"]["ranks"]) == len(record["ranks"])
    for host in ("pc1", "pc2"):
        pairs = ports(output / f"{host}.pcap.zst", "tcp")
        others = [pair for pair in pairs if is_others(pair)]
        # Each round opens its own connections; the main program has one, in both directions.
        assert len(others) >= 2 * beside["rounds"]
        assert 2 <= len(pairs) - len(others) <= 4
    assert not list(output.glob("*beside*"))


def test_a_command_beside_it_is_begun_again_and_nothing_of_it_is_left(make):
    record, output = make("telling")
    assert record["status"] == "valid", record["reason"]
    beside = record["beside"]
    assert (beside["rounds"] > 1, beside["mpi_ports"]) == (True, None)
    assert beside["completion_s"] == [None] * beside["rounds"]
    assert any(5555 in pair for pair in ports(output / "pc2.pcap.zst", "udp"))
    commands = [read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert commands
    assert not [command for command in commands if b"77.0625" in command]


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ("failing", "failing, which was to run beside it, failed: exit code 3: no luck"),
        ("silent", "silent, which was to run beside it, sent no packet within 2 s"),
    ],
)
def test_a_run_whose_other_program_never_began_does_not_count(make, beside, reason):
    record, _ = make(beside, "2s")
    assert (record["status"], record["completion_s"]) == ("invalid", None)
    assert record["reason"] == reason
