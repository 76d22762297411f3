"""The netem backend on kernels without netem: all of it is real, but a queue replaces the delay."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

# `namespaces.hub` with a discipline that every kernel has in place of netem.
HUB = """
import sys
from flowsweep.testbed import netem
from flowsweep.testbed.namespaces import hub
from flowsweep.testbed.namespaces import netem as in_place
netem.netem = lambda link, undisturbed=False: "bfifo limit 10000000"
in_place.missing = lambda spec: None
sys.exit(hub.main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
"""
RUN = """
import subprocess, sys
from pathlib import Path
from flowsweep import experiment
from flowsweep.testbed import runner
from flowsweep.testbed.namespaces import isolation
class Popen(subprocess.Popen):
    def __init__(self, words, **options):
        if "-m" in words:
            place = words.index("-m")
            words[place:place + 2] = [sys.argv[1]]
        super().__init__(words, **options)
isolation.subprocess.Popen = Popen
runner.perform(experiment.load(sys.argv[2]).run_at({}), Path(sys.argv[3]), print)
"""
FLOOD = """
import os, socket, time
if os.environ["FLOWSWEEP_HOST"] == "west1":
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(2000):
        sender.sendto(bytes(1200), ("10.77.2.1", 9))
        # A queue of 64 KiB holds 52 of them: it overflows however long the sleep takes.
        if number % 100 == 0:
            time.sleep(0.005)
"""
EXPERIMENT = """\
sites: {west: 2, east: 1}
link: {rtt: RTT, rate: 20Mbit/s, queue: 64KiB}
workload: {command: 'PYTHON FOLDER/flood.py'}
repetitions: 1
warmup: 0
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


@pytest.fixture
def make(tmp_path, namespaces):
    kinds = ("htb default 1", "bfifo limit 1000")
    for kind in kinds:
        add = f"ip link add x type dummy || ip link add x type veth; tc qdisc add dev x root {kind}"
        words = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "sh", "-c", add]
        if subprocess.run(words, capture_output=True, check=False).returncode != 0:
            pytest.skip(f"this kernel has no {kind.split()[0]}")

    def run(rtt: str) -> dict:
        shutil.rmtree(tmp_path / "one", ignore_errors=True)
        text = EXPERIMENT.replace("RTT", rtt).replace("PYTHON", sys.executable)
        (tmp_path / "x.yaml").write_text(text.replace("FOLDER", str(tmp_path)))
        (tmp_path / "flood.py").write_text(FLOOD)
        (tmp_path / "hub.py").write_text(HUB)
        words = [sys.executable, "-c", RUN]
        words += [str(tmp_path / name) for name in ("hub.py", "x.yaml", "one")]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "one" / "run.json").read_text())

    return run


def test_what_is_dropped_before_the_uplink_is_accounted_for(make, measurement):
    def check(record):
        assert record["emulator"]["backend"] == "netem"
        assert record["status"] == "valid", record["reason"]

    made = measurement(lambda: make("0ms"))
    made.holds(check)
    record = made.value
    west = record["emulator"]["links"][0]
    assert west["received"] == 2000
    assert west["dropped_queue"] > 100
    assert west["delivered"] == record["frames"]["east1"]["received"]
    assert west["delivered"] + west["dropped_queue"] == 2000


def test_netem_that_does_not_delay_is_left_for_flowsweep_wan(make, measurement):
    def check(record):
        assert record["emulator"]["backend"] == "flowsweep-wan"
        assert record["emulator"]["backend_reason"].startswith("netem was tried: RTT 0.")
        assert record["status"] == "valid", record["reason"]
        assert record["axes"]["rtt"]["measured"].startswith(("20.", "19."))

    measurement(lambda: make("20ms")).holds(check)
