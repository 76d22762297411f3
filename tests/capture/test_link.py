"""A link that is down carries no packets: the manifest distinguishes it from silence."""

from __future__ import annotations

import json
import time

import pytest

FILTER = ["-i", "far", "--filter", "udp port 9"]
# The agent checks twice a second.
BROKEN_S = 0.7


@pytest.fixture
def cut(cable):
    """Takes an end of the cable down and up again."""

    def cut(end: str, seconds: float) -> None:
        on = "-n peer" if end == "far" else ""
        cable.run(f"ip {on} link set {end} down; sleep {seconds}; ip {on} link set {end} up")
        cable.run(
            "ip neigh replace 10.77.0.2 dev near lladdr"
            " $(ip netns exec peer cat /sys/class/net/far/address)"
        )

    yield cut
    cable.run("ip link set near up; ip -n peer link set far up")


def history(folder):
    return json.loads((folder / "a.capture.json").read_text())["link"]


@pytest.mark.parametrize("end", ["near", "far"])
def test_a_link_that_goes_down_is_in_the_manifest(cable, cut, tmp_path, end):
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap")
    assert agent.is_ready()
    cable.burst(20)
    begin = time.time()
    cut(end, BROKEN_S)
    passed = time.time() - begin
    cable.burst(30)
    assert agent.stop() == 0, agent.errors()
    manifest = json.loads((tmp_path / "a.capture.json").read_text())
    assert manifest["packets_written"] == 50
    link = manifest["link"]
    assert (link["up_at_start"], link["up_at_end"], link["downs"]) == (True, True, 1)
    assert [change["up"] for change in link["changes"]] == [False, True]
    # Half a second shorter or longer if only the carrier was lost.
    assert BROKEN_S - 0.55 <= link["down_s"] <= passed + 0.55
    first, second = (change["time"] for change in link["changes"])
    assert manifest["start"] < first < second < manifest["end"]


def test_a_loss_of_the_carrier_that_is_too_short_to_be_seen_is_counted(cable, cut, tmp_path):
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap")
    assert agent.is_ready()
    for _ in range(3):
        cut("near", 0.01)
    assert agent.stop() == 0, agent.errors()
    assert history(tmp_path)["downs"] == 3
    assert history(tmp_path)["up_at_end"] is True


def test_a_link_that_is_down_all_the_time_is_in_the_manifest_too(cable, cut, tmp_path):
    cable.run("ip link set near down")
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap")
    assert agent.is_ready()
    assert history(tmp_path)["up_at_end"] is False
    time.sleep(BROKEN_S)
    assert agent.stop() == 0, agent.errors()
    link = history(tmp_path)
    assert (link["up_at_start"], link["up_at_end"], link["downs"]) == (False, False, 0)
    assert link["changes"] == []
    assert link["down_s"] >= BROKEN_S


def test_other_interfaces_are_none_of_its_business(cable, tmp_path):
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap")
    assert agent.is_ready()
    cable.run("ip -n peer link add other type veth peer name another; ip -n peer link set other up;"
              "ip -n peer link set other down; ip -n peer link del other")  # fmt: skip
    assert agent.stop() == 0, agent.errors()
    assert "link" not in json.loads((tmp_path / "a.capture.json").read_text())
