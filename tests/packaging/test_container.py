"""The container's definition matches the preparation of a checkout; its steps work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from containerfile import ROOT, stages

#: By -dev package: the library that programs link against.
LIBRARY = {"libpcap-dev": "libpcap0.8"}
#: Packages that only a build needs.
TO_BUILD = {"build-essential", "ca-certificates", "curl", "python3-venv"}


def prepared() -> set[str]:
    """Returns the system packages that `.config/prepare.sh build` looks for."""
    text = (ROOT / ".config" / "prepare.sh").read_text(encoding="utf-8")
    for_all = text.partition('if [ "$purpose" = test ]')[0]
    return set(re.findall(r"^ *want ([a-z0-9.-]+) ", for_all, re.MULTILINE))


def steps(instruction: str) -> list[str]:
    return [text for stage in stages() for name, text in stage.steps if name == instruction]


def test_it_installs_what_a_checkout_is_prepared_with() -> None:
    build, final = stages()
    wanted = prepared()
    assert {"build-essential", "libpcap-dev", "iproute2", "util-linux"} <= wanted
    assert wanted - build.packages() == set()
    # Without a toolchain, prepare.sh fetches one with `curl`.
    assert {"curl", "ca-certificates", "python3"} <= build.packages()
    runtime = {LIBRARY.get(name, name) for name in wanted} - TO_BUILD
    assert runtime - final.packages() == set()


def test_it_has_the_programs_that_a_testbed_starts() -> None:
    """The programs named in the checks of `flowsweep testbed check` and in a machine's keeper."""
    _, final = stages()
    packages = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "mount": "mount",
                "setpriv": "util-linux", "ping": "iputils-ping", "ssh": "openssh-client",
                "ethtool": "ethtool"}  # fmt: skip
    text = "".join(
        path.read_text(encoding="utf-8")
        for ending in ("py", "sh")
        for path in (ROOT / "python" / "flowsweep" / "testbed").rglob(f"*.{ending}")
    )
    started = {
        name: package for name, package in packages.items() if re.search(rf"\b{name}\b", text)
    }
    assert started == packages
    assert set(started.values()) - final.packages() == set()


def test_what_it_copies_and_runs_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # .dockerignore excludes no file of the repository.
    assert [name for name in listed if name.split("/")[0] in ignored] == []
    commands = " && ".join(steps("RUN"))
    assert (ROOT / ".config" / "prepare.sh").stat().st_mode & 0o111
    assert "RUN .config/prepare.sh build\n" in (ROOT / "Containerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"runtime_lock\.py ([a-z ]+)>", commands)
    assert set(extras.split()) <= set(project["optional-dependencies"])
    assert "sweep" in extras.split()
    (start,) = steps("ENTRYPOINT")
    assert start == '["flowsweep"]'
    assert "flowsweep" in project["scripts"]


def test_what_it_installs_is_locked_with_hashes() -> None:
    """Runs the Containerfile's own command."""
    words = [sys.executable, ".config/runtime_lock.py", "sweep"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^[^ ].*(?:\n +.*)*", done.stdout, re.MULTILINE)
    assert all(f"{entry}\n" in lock and "--hash=sha256:" in entry for entry in entries)
    names = {entry.partition("==")[0] for entry in entries}
    assert {"duckdb", "polars", "snakemake", "pydantic-core", "vl-convert-python"} <= names
    # A package may have different entries for different Pythons.
    packages = [line.partition("==")[0] for line in lock.splitlines() if "==" in line]
    kept = [entry.partition("==")[0] for entry in entries]
    assert all(packages.count(name) == kept.count(name) for name in names)
    assert not {"pytest", "ruff", "mypy", "maturin", "playwright"} & names
    for text in steps("RUN"):
        for command in re.findall("pip install[^&]*", text):
            assert "--require-hashes" in command or "--no-index" in command


def test_its_steps_in_a_fresh_debian(tmp_path: Path) -> None:
    if not os.environ.get("FLOWSWEEP_FRESH_DEBIAN"):
        pytest.skip("takes five minutes: FLOWSWEEP_FRESH_DEBIAN=1 runs it")
    script = Path(__file__).with_name("fresh_debian.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path / "roots"],
        capture_output=True, text=True, check=False, timeout=3600,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
