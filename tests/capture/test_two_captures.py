"""Two captures of one name: nothing is lost of a running one or of a killed one."""

from __future__ import annotations

import json
import signal

import pytest

FILTER = ("-i", "far", "--filter", "udp port 9")


def refused(cable, *arguments: object) -> str:
    """Returns the error of a capture that does not start."""
    agent = cable.start(*FILTER, *arguments)
    assert not agent.is_ready()
    assert agent.wait() == 2
    return agent.errors()


def test_while_one_runs_no_other_takes_its_file(cable, pcap, tmp_path):
    path = tmp_path / "a.pcap.zst"
    agent = cable.start(*FILTER, "-w", path)
    assert agent.is_ready()
    cable.burst(500)
    message = refused(cable, "-w", path)
    assert f"found     another process writes {tmp_path}/a." in message
    assert "Give another path" in message
    cable.burst(500)
    assert agent.stop() == 0
    assert "1000 packets" in agent.errors()
    assert len(pcap.read(path).packets) == 1_000
    assert json.loads((tmp_path / "a.capture.json").read_text())["packets_written"] == 1_000
    assert {entry.name for entry in tmp_path.iterdir()} == {"a.pcap.zst", "a.capture.json"}


@pytest.mark.parametrize(
    "second",
    [
        ("-w", "a.pcap", "--manifest", "b.json"),
        ("-w", "b.pcap", "--manifest", "a.capture.json"),
    ],
)
def test_that_it_runs_is_seen_in_further_files_and_in_the_manifest(cable, tmp_path, second):
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap", "--rotate", "20kB")
    assert agent.is_ready()
    cable.burst(300)
    refused(cable, *(word if word[0] == "-" else tmp_path / word for word in second))
    assert agent.stop() == 0
    manifest = json.loads((tmp_path / "a.capture.json").read_text())
    assert len(manifest["files"]) > 2
    assert manifest["packets_written"] == 300
    names = {entry["file"] for entry in manifest["files"]} | {"a.capture.json"}
    assert {entry.name for entry in tmp_path.iterdir()} == names


@pytest.mark.parametrize("name", ["a.pcap", "a.pcap.zst"])
def test_what_a_killed_one_recorded_is_kept(cable, pcap, tmp_path, name, until):
    manifest = tmp_path / "a.capture.json"
    for packets in (1_000, 700):
        agent = cable.start(*FILTER, "-w", tmp_path / name)
        assert agent.is_ready()
        cable.burst(packets)
        until(
            lambda: json.loads(manifest.read_text())["packets_written"] == packets,  # noqa: B023
            "all packets in the manifest",
        )
        agent.stop(signal.SIGKILL)
    agent = cable.start(*FILTER, "-w", tmp_path / name)
    assert agent.is_ready()
    cable.burst(10)
    assert agent.stop() == 0
    errors = agent.errors()
    assert f"note: {tmp_path / name}.part: of a capture that was killed, kept as" in errors
    kept = {f"{one}{end}" for one in (name, manifest.name) for end in (".killed", ".killed-2")}
    there = {entry.name for entry in tmp_path.iterdir()}
    assert there == {name, manifest.name, *kept}
    counts = []
    for end, packets in ((".killed", 1_000), (".killed-2", 700)):
        about = json.loads((tmp_path / f"{manifest.name}{end}").read_text())
        assert about["packets_written"] == packets
        # It is still readable.
        part = tmp_path / "killed" / f"{name}.part"
        part.parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}{end}").replace(part)
        counts.append(len(pcap.read(part).packets))
    assert counts == [1_000, 700]
    assert len(pcap.read(tmp_path / name).packets) == 10
