"""The manifest's entry on the clock; agents on one machine share it, so the true offset is 0."""

from __future__ import annotations

import json


def test_two_agents_find_that_they_have_the_same_clock(cable, tmp_path, measurement):
    cable.run("ip netns exec peer ip link set lo up")

    def compare():
        listening = cable.start(
            *("-i", "far", "-w", tmp_path / "a.pcap", "--clock-listen", "127.0.0.1:9123"),
        )
        assert listening.is_ready(), listening.errors()
        agent = cable.start(
            *("-i", "far", "-w", tmp_path / "b.pcap", "--clock-peer", "127.0.0.1:9123"),
        )
        assert agent.is_ready(), agent.errors()
        assert (agent.stop(), listening.stop()) == (0, 0)
        return json.loads((tmp_path / "b.capture.json").read_text())["clock"]

    def check(clock):
        for state in (clock["at_start"], clock["at_end"]):
            peer = state["peer"]
            # An answer after more than 200 ms does not count.
            assert (peer["answers"], peer["error"]) == (8, None)
            assert 0 < peer["round_trip_ns"] < 100_000_000
            assert abs(peer["offset_ns"]) <= peer["round_trip_ns"] / 2 + 2
            assert state["kernel"]["synchronised"] in {True, False}
            assert state["kernel"]["maximum_error_us"] >= 0
        assert clock["at_start"]["time"] < clock["at_end"]["time"]

    measurement(compare).holds(check)
    assert json.loads((tmp_path / "a.capture.json").read_text())["clock"]["at_end"]["peer"] is None


def test_silent_peer_is_a_warning_and_no_reason_not_to_capture(cable, tmp_path):
    agent = cable.start("-i", "far", "-w", tmp_path / "a.pcap", "--clock-peer", "127.0.0.1:9124")
    assert agent.is_ready()
    assert agent.stop() == 0
    assert "--clock-peer" in agent.errors()
    clock = json.loads((tmp_path / "a.capture.json").read_text())["clock"]
    assert clock["at_start"]["peer"]["offset_ns"] is None
    assert clock["at_start"]["peer"]["error"]
