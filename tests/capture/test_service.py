"""The unit files of capture and report: systemd accepts them, and the programs run confined."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "capture" / "agent" / "flowsweep-capture@.service"
WATCH = UNIT.with_name("flowsweep-watch@.service")
INSTALLED = "/usr/local/bin/flowsweep-capture"


def setting(name: str) -> list[str]:
    """Returns all values of a setting of the unit, with continued lines joined."""
    text = UNIT.read_text().replace("\\\n", " ")
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def analyze(*words: object) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze (part of systemd)")
    done = ["systemd-analyze", *map(str, words)]
    return subprocess.run(done, capture_output=True, text=True, check=False, timeout=60)


def members(name: str) -> set[str]:
    """Returns the system calls of a systemd set, with those of nested sets."""
    lines = [line.strip() for line in analyze("syscall-filter", name).stdout.splitlines()[1:]]
    found = {line for line in lines if re.fullmatch("[a-z_0-9]+", line)}
    return found.union(*(members(line) for line in lines if line.startswith("@")))


def test_systemd_takes_it(capture_program: Path, tmp_path: Path) -> None:
    unit = tmp_path / "flowsweep-capture@eth0.service"
    unit.write_text(UNIT.read_text().replace(INSTALLED, str(capture_program)))
    done = analyze("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("ExecStart=/", "ExecStart=nowhere/"))
    assert analyze("verify", unit).returncode != 0


def test_it_is_confined() -> None:
    done = analyze("security", "--offline=true", UNIT)
    level = re.search(r"exposure level .*: ([0-9.]+)", done.stdout)
    if level is None:
        pytest.skip(f"this systemd-analyze cannot look at a file: {done.stderr.strip()}")
    assert float(level[1]) <= 2.5  # an ordinary service of root has 10


def test_its_options_are_those_of_the_agent(capture_program: Path) -> None:
    (command,) = setting("ExecStart")
    known = subprocess.run(
        [capture_program, "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = re.findall(r"--[a-z-]+", command)
    assert "--max-disk" in options
    assert [option for option in options if f"{option} " not in known] == []
    variables = set(re.findall(r"\$\{([A-Z_]+)\}", command))
    assert variables == set(re.findall(r"([A-Z_]+)=", setting("Environment")[0]))


def test_the_unit_of_the_report_is_taken_and_confined(tmp_path: Path, command) -> None:
    unit = tmp_path / WATCH.name
    unit.write_text(WATCH.read_text().replace("/usr/local/bin/flowsweep", "/bin/sh"))
    done = analyze("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")
    level = re.search(
        r"exposure level .*: ([0-9.]+)", analyze("security", "--offline=true", WATCH).stdout
    )
    assert level is None or float(level[1]) <= 2.5
    line = re.search(r"^ExecStart=(.*?[^\\])$", WATCH.read_text(), re.MULTILINE | re.DOTALL)
    assert line is not None
    known = command("flowsweep", "watch", "--help").stdout
    options = re.findall(r"--[a-z]+", line[1])
    assert set(options) == {"--output", "--interval", "--period", "--quiet"}
    assert [option for option in options if f"{option} " not in known] == []
    # It watches the folder that the capture unit writes to.
    assert "StateDirectory=flowsweep/%i" in UNIT.read_text()
    assert "watch %S/private/flowsweep/%i " in line[1]


def test_the_files_of_the_start_before_are_kept_and_older_ones_go(tmp_path: Path) -> None:
    (command,) = setting("ExecStartPre")
    script = re.fullmatch(r"/bin/sh -c '(.*)'", command)
    assert script is not None
    for start in (1, 2, 3):
        subprocess.run(["/bin/sh", "-c", script[1]], cwd=tmp_path, check=True)
        (tmp_path / f"eth0-{start}.pcap.zst").write_bytes(b"x")
    there = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.zst"))
    assert there == ["before/eth0-2.pcap.zst", "eth0-3.pcap.zst"]


def test_every_system_call_of_the_agent_is_allowed(
    namespaces: None, capture_program: Path, tmp_path: Path
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace (apt install strace)")
    allowed: set[str] = set()
    for value in setting("SystemCallFilter"):
        names = value.removeprefix("~").split()
        listed = set().union(*(members(one) if one[0] == "@" else {one} for one in names))
        allowed = allowed - listed if value.startswith("~") else allowed | listed
    script = f"""
ip link set lo up
strace -f -o trace {capture_program} -i lo -w lo.pcap.zst --rotate 1MB --max-disk 10MB \
    --when-full remove-oldest >said & strace=$!
until grep -q ready said; do kill -0 $strace || exit 77; sleep 0.05; done
kill -TERM $(cat /proc/$strace/task/$strace/children)
wait $strace
"""
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    words = ["unshare", *user, "--net", "sh", "-c", script]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode == 77:
        pytest.skip(f"nothing can be traced here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "trace").read_text()
    used = set(re.findall("^[0-9]+ +([a-z_0-9]+)[(]", lines, re.MULTILINE))
    assert "socket" in used
    assert used - allowed == set()
