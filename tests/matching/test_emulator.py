"""Fates compared with the emulator's log, frame by frame, where it drops and duplicates them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from laboratory import read_fates

TWO_SITES = """\
sites:
  west: [pc1]
  east: [pc2]
link: {rtt: 20ms, rate: 20Mbit/s, loss: 2%, duplicate: 1%}
tcp: {congestion_control: reno}
workload:
  app: pingpong
  problem: {message_bytes: 500000, repetitions: 2, warmup: 0}
axes: {rtt: [40ms]}
"""
#: As in das3-quick.yaml, with loss and jitter.
THREE_SITES = """\
sites:
  uva: [pc1]
  vu: [pc2]
  lu: [pc3]
link: {rtt: 2.64ms, rate: 50Mbit/s, loss: 0.5%, jitter: 0.3ms}
pairs:
  - {between: [vu, lu], rtt: 1.40ms}
  - {between: [lu, uva], rtt: 1.26ms}
tcp: {congestion_control: cubic}
workload:
  app: modelcheck
  problem: {floors: 6, persons: 3}
axes: {rate: [100Mbit/s]}
"""
COMMON = """\
emulation: {backend: flowsweep-wan, fates: true}
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 1s}
"""


@pytest.mark.parametrize("experiment", [TWO_SITES, THREE_SITES], ids=["two sites", "three sites"])
def test_each_frame_has_the_fate_that_the_emulator_gave_it(
    experiment, tmp_path, namespaces, measurement, match, table
):
    (tmp_path / "loss.yaml").write_text(experiment + COMMON)
    run = tmp_path / "one"
    words = ["run", tmp_path / "loss.yaml", "--output", run]
    done = subprocess.run(
        [sys.executable, "-m", "flowsweep", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert match(run).returncode == 0
    rows = table("fates")
    log = read_fates(run / "wan.fates")
    header = json.loads((run / "wan.fates").open("rb").readline())
    record = json.loads((run / "run.json").read_text())
    host_of = {host["site"]: host["name"] for host in record["hosts"]}
    for number, link in enumerate(record["emulator"]["links"]):
        path = rows.filter(sender=host_of[link["from"]], receiver=host_of[link["to"]])
        counts = dict(path.group_by("fate").len().iter_rows())
        # A host answers two packets with equal RSTs without identification: if one is lost, which
        # one is unknown.
        unknown = path.filter(fate="unknown")
        assert {*unknown["evidence"]} <= {"alike"}
        assert {*unknown["ip_id"], *unknown["payload_bytes"]} <= {0}
        assert unknown.height <= 4
        assert counts.get("duplicated", 0) == link["duplicated"]
        lost = link["dropped_loss"] + link["dropped_queue"]
        assert counts["lost"] <= lost <= counts["lost"] + unknown.height
        arrived = link["delivered"] - counts["delivered"] - link["duplicated"]
        assert lost - counts["lost"] + arrived == unknown.height
        duplicated = {"duplicated"} if link["duplicated"] else set()
        assert set(counts) - {"unknown"} == {"delivered", "lost"} | duplicated
        # In the order of sending; the log also has frames of probes before and after the captures.
        sent = path.filter(pl.col("packet_sent").is_not_null()).sort("packet_sent")
        begin = sent["time_sent"].dt.timestamp("ns").min()
        frames = log[(log["link"] == number) & (log["arrive_ns"] >= begin)]
        fates = {}
        for frame in np.sort(frames, order=["number", "fate"]):
            fates.setdefault(int(frame["number"]), header["fates"][frame["fate"]])
        known = {"delivered": "delivered", "loss": "lost", "queue": "lost"}
        logged = [known[fate] for fate in fates.values()]
        assert len(logged) >= sent.height
        for place, (by_log, found) in enumerate(zip(logged, sent["fate"], strict=False)):
            assert found in {by_log, "unknown"}, place
