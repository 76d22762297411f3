"""Runs with deliberate faults are invalid, each for the right reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

EXPERIMENT = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 200Mbit/s}
tcp: {congestion_control: reno, buffer: 64KiB}
workload: {app: nqueens, problem: {board: 11, node_ns: 12000}}
repetitions: 1
warmup: 0
retries: 0
timeout: 200s
"""
IDLE = "limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 20ms}\n"


@pytest.fixture
def make(tmp_path, namespaces, flowsweep):
    def run(text: str) -> dict:
        path = tmp_path / "spoiled.yaml"
        path.write_text(text)
        shutil.rmtree(tmp_path / "one", ignore_errors=True)
        done = flowsweep("run", path, "-o", tmp_path / "one")
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "one" / "run.json").read_text())

    return run


@pytest.fixture
def busy_cores():
    """A busy loop on every core."""
    loops = [
        subprocess.Popen(
            [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile 1: pass"]
        )
        for core in os.sched_getaffinity(0)
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_a_busy_loop_on_every_core_is_reported(make, busy_cores):
    record = make(EXPERIMENT)
    assert record["status"] == "invalid"
    assert "other programs used" in record["reason"]
    assert record["machine"]["idle"] < 0.03


FLOOD = """
import os, socket
address = dict(pair.split("=") for pair in os.environ["FLOWSWEEP_HOSTS"].split(","))["pc2"]
if os.environ["FLOWSWEEP_HOST"] == "pc1":
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(20_000):
        sender.sendto(bytes(64), (address, 9))
"""


def test_a_capture_ring_of_4_kb_loses_packets_and_says_so(make, tmp_path):
    (tmp_path / "flood.py").write_text(FLOOD)
    workload = f"command: '{sys.executable} {tmp_path}/flood.py'"
    text = EXPERIMENT.replace("app: nqueens", workload).replace("problem", "name: flood, problem")
    record = make(text + IDLE + "capture: {buffer: 4kB}\n")
    assert record["status"] == "invalid"
    assert re.search("capture on pc1 lost [0-9,]+ packets", record["reason"]), record["reason"]


def test_a_link_that_was_down_is_reported(make):
    command = (
        "test $FLOWSWEEP_HOST != pc1 || { ip link set exp0 down; sleep 0.7; ip link set exp0 up; }"
    )
    text = EXPERIMENT.replace(
        "{app: nqueens, problem: {board: 11, node_ns: 12000}}", f"{{command: {command!r}}}"
    )
    record = make(text + IDLE)
    assert record["status"] == "invalid"
    assert re.search(r"the link of pc1 was down for [0-9.]+ s, lost 1 time", record["reason"])
    assert "link of pc2" not in record["reason"]


def test_a_run_says_what_the_machine_gave(make, measurement):
    made = measurement(lambda: make(EXPERIMENT + IDLE))
    record = made.value
    if record["status"] == "invalid":  # other programs on the cores
        assert record["reason"].startswith(("emulator late", "idle RTT")), record["reason"]
    machine = record["machine"]
    # The kernel grants the requested buffer, and connections use it.
    both = {"least": 65536, "most": 65536}
    assert machine["socket_buffers"] == {"receive": both, "send": both}
    assert machine["congestion_controls"] == ["reno"]
    assert [rank["rank"] for rank in machine["ranks"]] == [0, 1, 2]
    assert all(0 <= rank["waited_share"] <= 1 for rank in machine["ranks"])
    assert 0 <= machine["other_programs"] <= 1
    lateness = record["emulator"]["lateness_ns"]
    assert lateness["p50"] <= lateness["p99"] <= lateness["max"]

    def check(record):
        (path,) = record["paths"]
        assert abs(path["rtt_after_ns"] - path["rtt_ns"]) < 2_000_000

    made.holds(check)
