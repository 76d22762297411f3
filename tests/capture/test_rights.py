"""The right to open raw sockets is enough, and it is gone once the interface is open."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

NET_RAW_ALONE = ["--bounding-set=-all,+net_raw", "--inh-caps=-all"]
NOBODY = 65534
FILTER = ["-i", "far", "--filter", "udp"]


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=os.environ["PATH"] + ":/sbin:/usr/sbin") is None:
            pytest.skip(f"no `{program}` here")


def rights(pid: int) -> dict[str, int]:
    """Returns sets of capabilities, and whether new ones can be gained."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in lines)
    names = ["CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs"]
    return {name: int(fields[name], 16) for name in names}


DROPPED = {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1}


def test_every_privilege_is_dropped_and_the_capture_goes_on(cable, tmp_path):
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap", "--rotate", "100kB")
    assert agent.is_ready()
    assert rights(agent.pid) == DROPPED
    cable.burst(1_000, port=7)
    assert agent.stop() == 0, agent.errors()
    manifest = json.loads((tmp_path / "a.capture.json").read_text())
    assert manifest["packets_written"] == manifest["received"] == 1_000
    assert manifest["capabilities"] == []
    assert len(manifest["files"]) > 5


def test_net_raw_alone_is_enough(cable, tmp_path):
    needs("setpriv")
    folder = cable.small_disk(4_000)
    under = ("setpriv", *NET_RAW_ALONE, cable.program)
    agent = cable.start(*FILTER, "-w", f"{folder}/a.pcap", under=under)
    assert agent.is_ready(), agent.errors()
    assert rights(agent.pid) == DROPPED
    cable.burst(500)
    assert agent.stop() == 0, agent.errors()
    cable.take(folder, tmp_path)
    assert json.loads((tmp_path / "a.capture.json").read_text())["packets_written"] == 500


def test_program_with_the_file_capability_captures_for_any_user(cable, tmp_path):
    needs("setpriv", "setcap")
    if os.geteuid() != 0:
        pytest.skip("setcap needs root")
    folder = cable.small_disk(8_000)
    program = f"{folder}/flowsweep-capture"
    cable.run(
        'cp "$1" "$2" && chmod 755 "$2" && setcap cap_net_raw+ep "$2"', cable.program, program
    )
    user = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    under = ("setpriv", *user, program)
    agent = cable.start(*FILTER, "-w", f"{folder}/a.pcap.zst", under=under)
    assert agent.is_ready(), agent.errors()
    assert rights(agent.pid) == DROPPED
    cable.burst(500)
    assert agent.stop() == 0, agent.errors()
    cable.run(f"rm {program}")
    cable.take(folder, tmp_path)
    assert json.loads((tmp_path / "a.capture.json").read_text())["packets_written"] == 500
    without = cable.start(*FILTER, "-w", f"{folder}/b", under=("setpriv", *user, "true"))
    assert without.wait() == 0


def test_root_in_somebody_else_s_folder_keeps_the_one_right_it_needs(cable, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(tmp_path, NOBODY, NOBODY)
    tmp_path.chmod(stat.S_IRWXU)
    agent = cable.start(*FILTER, "-w", tmp_path / "a.pcap", "--rotate", "10kB")
    assert agent.is_ready(), agent.errors()
    dac_override = 1 << 1
    assert rights(agent.pid) == DROPPED | {"CapPrm": dac_override, "CapEff": dac_override}
    cable.burst(200)
    assert agent.stop() == 0, agent.errors()
    manifest = json.loads((tmp_path / "a.capture.json").read_text())
    assert manifest["capabilities"] == ["cap_dac_override"]
    assert len(manifest["files"]) > 1
