"""Links between nodes with kernel disciplines, and errors where those are refused.

A queue replaces netem on a kernel without it: rate, queue, counters and bridges are real.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from flowsweep import experiment
from flowsweep.testbed import describe, netem

from .test_slurm import record, write

TC = """#!/bin/sh
echo "tc $*" >>FOLDER/asked
case "$1 $*" in
-batch*)
    cat "$2" >>FOLDER/asked
    sed 's/ netem .*/ bfifo limit 10000000/' "$2" >FOLDER/batch
    exec TC -batch FOLDER/batch
    ;;
*" netem "*) ANSWER ;;
esac
exec TC "$@"
"""
FLOOD = """\
import os, socket, time
if os.environ["FLOWSWEEP_HOST"] == "pc1":
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(2000):
        sender.sendto(bytes(1200), ("10.77.2.1", 9))
        # A queue of 64 KiB holds 52 of them: it overflows however long the sleep takes.
        if number % 100 == 0:
            time.sleep(0.005)
"""
RUN = "timeout 90 salloc -Q -N4 --exclusive bash -c 'flowsweep run one.yaml -o one'"


@pytest.fixture
def asked(tmp_path: Path, namespaces: None, monkeypatch: pytest.MonkeyPatch):
    """Puts a `tc` first in PATH that logs its calls and answers for netem."""
    real = shutil.which("tc", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
    for kind in ("htb default 1", "bfifo limit 1000"):
        add = f"ip link set lo up; tc qdisc add dev lo root {kind}"
        words = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "sh", "-c", add]
        if real is None or subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip(f"this machine has no tc with {kind.split()[0]}")

    def put(answer: str) -> Path:
        (tmp_path / "bin").mkdir()
        text = TC.replace("FOLDER", str(tmp_path)).replace("exec TC", f"exec {real}")
        (tmp_path / "bin" / "tc").write_text(text.replace("ANSWER", answer))
        (tmp_path / "bin" / "tc").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        return tmp_path / "asked"

    return put


def test_netem_on_a_node_makes_the_links_and_counts_them(box, asked, tmp_path: Path) -> None:
    calls = asked("exit 0")
    (tmp_path / "flood.py").write_text(FLOOD)
    workload = f"{{command: {json.dumps(f'python3 {tmp_path}/flood.py')}}}"
    write(tmp_path / "one.yaml", workload, "emulate: true")
    text = (tmp_path / "one.yaml").read_text()
    text = text.replace("rate: 100Mbit/s}", "rate: 20Mbit/s, loss: 1%, queue: 64KiB}")
    (tmp_path / "one.yaml").write_text(text + "emulation: {backend: netem}\n")
    box(
        f"{RUN} || exit 9\n"
        "for i in 1 2 3 4; do on n$i ip -br link; on n$i ip netns list; done >left"
    )
    made = record(tmp_path / "one")
    assert made["status"] == "valid", made["reason"]
    assert made["emulator"]["backend"] == "netem"
    assert made["emulator"]["backend_reason"] == "between the nodes, on n4"
    west, east = made["emulator"]["links"]
    assert (west["from"], west["to"]) == ("west", "east")
    assert west["dropped_queue"] > 100
    assert west["received"] == west["delivered"] + west["dropped_queue"] > 2000
    assert east["received"] == east["delivered"] >= 5
    # Rate, delay and loss, in the kernel's terms.
    lines = calls.read_text().splitlines()
    spec = describe.spec_of(experiment.load(tmp_path / "one.yaml").run_at({}))
    wanted = netem.commands(spec)
    assert [line for line in lines if line in wanted] == wanted
    assert sum("htb rate 20000000bit" in line for line in lines) == 2
    assert sum("delay 5000.000us loss random 1%" in line for line in lines) == 2
    assert "flowsweep-" not in (tmp_path / "left").read_text()


def test_a_kernel_that_refuses_netem_has_flowsweep_wan_or_is_named(
    box, asked, tmp_path: Path
) -> None:
    asked("echo 'Error: Specified qdisc kind is unknown.' >&2; exit 2")
    write(tmp_path / "one.yaml", "{command: 'true'}", "emulate: true")
    text = (tmp_path / "one.yaml").read_text()
    (tmp_path / "two.yaml").write_text(text + "emulation: {backend: netem}\n")
    box(f"{RUN} || exit 9\n{RUN.replace('one', 'two')} 2>said\necho $? >code")
    made = record(tmp_path / "one")
    assert made["status"] == "valid", made["reason"]
    assert made["emulator"]["backend"] == "flowsweep-wan"
    reason = "between the nodes, on n4; its kernel has no netem"
    assert made["emulator"]["backend_reason"] == reason
    errors = (tmp_path / "said").read_text()
    assert (tmp_path / "code").read_text() == "2\n", errors
    assert "n4" in errors
    assert "its kernel has no netem" in errors
    assert "emulation: {backend: flowsweep-wan}" in errors
    assert not (tmp_path / "two").exists()
