"""A run with every impairment on a link stays valid and accounts for all frames."""

from __future__ import annotations

import json
import shutil

import numpy as np

EXPERIMENT = """\
sites:
  west: [pc1]
  east: {hosts: [pc2], uplink: {rate: 500Mbit/s, links: 2}}
  south: [pc3]
link:
  rtt: 4ms
  rate: 20Mbit/s
  loss: 2%
  loss_burst: 2
  jitter: 10%
  duplicate: 1%
  links: 2
  discipline: codel
pairs:
  - between: [west, south]
    rtt: 8ms
    loss: 0%
    discipline: drop-tail
    queue_packets: 50
    back: {rate: 200kbit/s}
schedule:
  - {at: 100ms, between: [west, east], links: 3}
emulation: {overhead: ethernet, fates: true}
tcp: {congestion_control: reno}
workload:
  command: "ping -q -f -c 2000 -s 200 10.77.2.1 >/dev/null; ping -c 1 10.77.3.1"
  where: first
axes: {rtt: [8ms]}
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


def test_all_impairments_at_once(tmp_path, namespaces, flowsweep, measurement):
    (tmp_path / "all.yaml").write_text(EXPERIMENT)

    def run():
        shutil.rmtree(tmp_path / "one", ignore_errors=True)
        done = flowsweep("run", tmp_path / "all.yaml", "-o", tmp_path / "one")
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "one" / "run.json").read_text())

    def check(record):
        # ping -f loses replies and exits with 1; only the links' counters matter.
        assert record["status"] == "valid", record["reason"]
        rtts = {tuple(path["between"]): path["rtt_ns"] for path in record["paths"]}
        # Measured idle, without loss and jitter.
        assert abs(rtts["pc1", "pc2"] - 4e6) < 1e6
        assert abs(rtts["pc1", "pc3"] - 8e6) < 1e6

    made = measurement(run)
    made.holds(check)
    record = made.value
    assert record["emulator"]["backend"] in ("flowsweep-wan", "netem")
    links = {(link["from"], link["to"]): link for link in record["emulator"]["links"]}
    west = links["west", "east"]
    assert west["received"] > 1000
    # 2 % in bursts of 2: five standard deviations of 1500 frames are 2.6 %.
    assert 0 < west["dropped_loss"] / west["received"] < 0.05
    assert 0 < west["duplicated"] / west["received"] < 0.03
    assert west["parallel"] == 3
    assert links["west", "south"]["dropped_loss"] == 0
    assert 0 < float(record["axes"]["loss"]["asked"].removesuffix("%")) == 2
    fates = tmp_path / "one" / "wan.fates"
    header = json.loads(fates.open("rb").readline())
    table = np.fromfile(fates, [tuple(pair) for pair in header["dtype"]], offset=header["offset"])
    lost = table["fate"] == header["fates"].index("loss")
    # The log also contains frames sent before the program, when nothing was captured yet.
    assert lost.sum() >= sum(link["dropped_loss"] for link in links.values())
    on_the_way = table["deliver_ns"] - table["depart_ns"]
    there = (table["fate"] == 0) & (table["link"] == 0)
    assert np.std(on_the_way[there]) > 50_000  # 10 % of 2 ms requested; order is kept
