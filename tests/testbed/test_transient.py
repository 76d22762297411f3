"""A transient testbed failure ends no sweep; an unforeseen one is reported with its location."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import transient
from flowsweep.testbed.namespaces import agents, counters, isolation
from flowsweep.testbed.transient import TransientError

# Several may run at once: mkdir succeeds for one of them only.
TOOL = """#!/bin/sh
for call in $(seq {times}); do
    if mkdir {made}.$call 2>/dev/null; then
        echo "RTNETLINK answers: Cannot allocate memory" >&2
        exit 1
    fi
done
exec {real} "$@"
"""
NO_MEMORY = "RTNETLINK answers: Cannot allocate memory"


@pytest.fixture
def failing(tmp_path):
    """Returns an environment in which each program fails its first `times` calls."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(**times: int) -> dict[str, str]:
        for name, number in times.items():
            real = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
            script = TOOL.format(made=folder / f"{name}.made", times=number, real=real)
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    return make


def test_what_fails_once_is_done_once_more(experiment, flowsweep, failing, tmp_path):
    # The first set-up fails, and then the first start of mpirun's daemon.
    done = flowsweep("run", experiment, "-o", tmp_path / "one", env=failing(bridge=1, nsenter=1))
    assert done.returncode == 0, done.stderr
    assert f"set up once more: testbed: bridge failed: {NO_MEMORY}" in done.stderr
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    assert record["invalid_tries"][0].startswith("mpirun could not start its daemon on pc")
    assert NO_MEMORY in record["invalid_tries"][0]
    assert record["application"]["correct"] is True


def test_what_fails_again_and_again_is_an_error(experiment, flowsweep, failing, tmp_path):
    done = flowsweep("run", experiment, "-o", tmp_path / "one", env=failing(bridge=99))
    assert done.returncode == 2
    assert done.stderr.count("set up once more") == len(isolation.PAUSES_S)
    assert f"error: testbed: bridge failed\n  found     {NO_MEMORY}" in done.stderr
    assert not (tmp_path / "one").exists()


KILL = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {where: first, command: "test -e DONE || {
    touch DONE; kill -9 $(pgrep -x flowsweep-wan); sleep 99; }"}
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 500ms}
"""


def test_a_run_in_which_the_emulator_dies_is_made_again(namespaces, flowsweep, tmp_path):
    (tmp_path / "kill.yaml").write_text(KILL.replace("DONE", str(tmp_path / "done")))
    done = flowsweep("run", tmp_path / "kill.yaml", "-o", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    line = "testbed: flowsweep-wan ended too early: killed by SIGKILL"
    assert record["invalid_tries"][0] == line
    assert f"once more: {line}" in done.stderr
    assert record["status"] == "valid", record["reason"]


def test_an_exception_that_was_not_foreseen_is_reported_with_type_message_and_place(monkeypatch):
    def broken(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(counters.socket, "socket", broken)
    with pytest.raises(BlockingIOError) as caught:
        counters._interfaces()
    error = transient.unexpected(caught.value)
    found = error.found or ""
    assert found.startswith("BlockingIOError: [Errno 11] Resource temporarily unavailable (")
    assert f"{Path(__file__).name}:" in found
    assert "in broken" in found
    assert "in _dump, counters.py:" in found
    assert vars(transient.from_event(transient.to_event(error))) == vars(error)


@pytest.mark.parametrize(
    ("text", "stderr", "transient_", "in_program", "found"),
    [
        ("", "", True, False, "exit code 1"),
        ('{"event": "started"}\n', "", True, True, "exit code 1"),
        ('{"event": "started"}\n{"event": "resu', "", True, True, "exit code 1"),
        ("", "unshare: unshare failed: Operation not permitted", False, False, "not permitted"),
        ("", "unshare: unshare failed: No space left on device", True, False, "No space left"),
        ("", '  File "hub.py", line 7\nNameError: x', True, False, 'x (File "hub.py", line 7)'),
    ],
)
def test_a_hub_without_a_result_is_reported_as_far_as_it_came(
    text, stderr, transient_, in_program, found
):
    with pytest.raises(FlowsweepError) as caught:
        isolation._outcome(1, text, stderr)
    assert isinstance(caught.value, TransientError) == transient_
    assert getattr(caught.value, "in_program", False) == in_program
    assert found in (caught.value.found or "")


def test_an_agent_that_could_not_write_is_reported_with_its_own_remedy():
    log = ["note", "error: pc1.pcap.zst: cannot be written", "  found     No space left on device",
           "  expected  room on this disk", "  remedy    Make room."]  # fmt: skip
    found = "pc1.pcap.zst: cannot be written: No space left on device"
    assert agents._read_failure(log) == (found, "Make room.")
    lines = ["first", "panicked at", "again"]
    assert agents._read_failure(lines) == (" / ".join(lines), "")
    assert agents._read_failure([]) == ("", "")


def test_a_further_set_up_begins_without_the_captures_of_the_first(monkeypatch, tmp_path):
    """The agent keeps a killed agent's files, but a run contains only its own captures."""
    monkeypatch.setattr(agents.Agent, "__init__", lambda *_: None)
    for name in ("pc1.pcap.zst.part", "pc1.capture.json"):
        (tmp_path / name).touch()
    spec = SimpleNamespace(
        folder=str(tmp_path), snaplen=96, capture_buffer_bytes=1, capture_filter=None
    )
    agents.Capture(spec, SimpleNamespace(name="pc1", namespace=None))
    assert not list(tmp_path.iterdir())
