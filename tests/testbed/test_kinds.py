"""Kinds of testbed: a new kind takes a folder and one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flowsweep import experiment
from flowsweep.experiment import testbeds
from flowsweep.testbed import kinds

from .conftest import LIMIT_S, ROOT

PACKAGE = ROOT / "python" / "flowsweep"
LINE = '    "ssh": "flowsweep.testbed.ssh",\n'
SETTINGS = '''
"""Hosts that are processes of this machine, without links."""
from typing import ClassVar, Literal
from pydantic import Field
from flowsweep.experiment import settings

class Settings(settings.Settings):
    shapes_links: ClassVar[bool] = False
    one_at_a_time: ClassVar[bool] = False
    kind: Literal["local"] = "local"
    colour: str = Field("blue", description="Only of this kind.")

    def address_of(self, host):
        return "127.0.0.1"
'''
KIND = """
import os, subprocess, time
from flowsweep.testbed import lock
from flowsweep.testbed.result import RunResult

class Session:
    def __init__(self):
        self.lock = lock.open_file("local")

    def run(self, spec, say):
        start = time.time_ns()
        known = {**os.environ, "FLOWSWEEP_OUTPUT": spec.output}
        done = subprocess.run(spec.program, env=known, check=False)
        return RunResult(
            start_ns=start, end_ns=time.time_ns(),
            failure=f"exit code {done.returncode}" if done.returncode else None,
            spoiled=None, faults=[], tcp={}, emulator={"backend": "none", "links": []},
            machine={}, frames={},
            paths=[{"between": ["a", "b"], "rtt_ns": 5000, "rtt_after_ns": 6000,
                    "rate_bit_s": None}],
            cost_s={"set_up": 0.0, "program": 0.0, "take_down": 0.0},
        )

class Local:
    def session(self, run, ahead):
        return Session()

    def describe(self, spec, run):
        return spec

    def python_on_host(self, run, program):
        return ["python3", str(program)]

    def warnings(self, runs):
        return [f"warning: {len(runs)} local"]

    def shell(self, run, program, say):
        return subprocess.run(program, check=False).returncode

KIND = Local()
"""
EXPERIMENT = """\
sites: {a: [pc1], b: [pc2]}
workload: {command: 'exit CODE', where: first}
testbed: {kind: local, colour: red, sudo: true}
retries: 0
"""


@pytest.fixture(scope="module")
def third(tmp_path_factory: pytest.TempPathFactory):
    """Runs commands of a flowsweep with an additional kind: its folder, and a line."""
    copy = tmp_path_factory.mktemp("third") / "flowsweep"
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    for library in PACKAGE.glob("*.so"):
        (copy / library.name).symlink_to(library)
    folder = copy / "testbed" / "local"
    folder.mkdir()
    for name, text in (("__init__", ""), ("settings", SETTINGS), ("kind", KIND)):
        (folder / f"{name}.py").write_text(text)
    registry = copy / "experiment" / "testbeds.py"
    text = registry.read_text()
    assert LINE in text
    registry.write_text(text.replace(LINE, LINE + LINE.replace("ssh", "local")))

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flowsweep", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(copy.parent)},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )

    return run


def test_the_import_contracts_name_every_kind() -> None:
    """`make check` separates only the kinds in these contracts."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    apart = next(one["modules"] for one in contracts if one["type"] == "independence")
    unknown = next(one["forbidden_modules"] for one in contracts if one["type"] == "forbidden")
    assert set(apart) == set(unknown) == set(testbeds.KINDS.values())


def write(folder: Path, code: int, more: str = "") -> Path:
    path = folder / "own.yaml"
    path.write_text(EXPERIMENT.replace("CODE", str(code)) + more)
    return path


@pytest.mark.parametrize(("code", "status"), [(0, "valid"), (7, "failed")])
def test_a_third_kind_makes_a_run(third, tmp_path: Path, code: int, status: str) -> None:
    done = third("run", write(tmp_path, code), "-o", tmp_path / "one")
    assert done.returncode == (status == "failed"), done.stderr
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    assert record["status"] == status
    assert record["testbed"] == {"kind": "local", "colour": "red"}
    assert record["axes"]["rtt"] == {"measured": "5us"}
    assert [host["address"] for host in record["hosts"]] == ["127.0.0.1"] * 2
    assert "warning: 1 local" in done.stderr


SWEEP = """\
axes: {problem: [{n: 1}, {n: 2}, {n: 3}, {n: 4}]}
repetitions: 2
"""


def planned(third, path: Path) -> list[str]:
    """Returns the runs of the plan in their order."""
    return re.findall(r"^[x ] (\S+) +[0-9]+  ", third("plan", path).stdout, re.MULTILINE)


def test_a_sweep_whose_program_fails_wherever_it_is_run_is_given_up(third, tmp_path: Path) -> None:
    path, runs = write(tmp_path, 7, SWEEP), tmp_path / "results/own/runs"
    ids = planned(third, path)

    def made() -> list[int]:
        words = [("run", "--run", one, "-o", runs / one, "--", path) for one in ids]
        return [third(*some).returncode for some in words]

    codes = made()
    assert codes == sorted(codes)
    assert 3 <= codes.count(1) < len(ids)
    assert codes.count(2) == len(ids) - codes.count(1)
    first = next(one for one, code in zip(ids, codes, strict=True) if code == 2)
    done = third("run", "--run", first, "-o", runs / first, "--", path)
    assert "the sweep is given up" in done.stderr
    assert "exit code 7" in done.stderr
    assert f"flowsweep retry --failed {runs.parent}" in done.stderr
    assert not (runs / first).exists()
    # A run that a person starts is made anyway, and one that exists is no error.
    assert third("run", path, "-o", tmp_path / "own").returncode == 1
    done = third("run", "--run", ids[0], "-o", runs / ids[0], "--", path)
    assert done.returncode == 1
    assert "nothing to do" in done.stderr
    # The remedy names this command.
    assert third("retry", "--failed", runs.parent).returncode == 0
    write(tmp_path, 0, SWEEP)
    assert set(made()) == {0}


def test_a_sweep_of_which_some_runs_succeed_goes_on(third, tmp_path: Path) -> None:
    path, runs = write(tmp_path, 7, SWEEP), tmp_path / "results/own/runs"
    # Succeeds once, and then never again.
    own = f"'mkdir {tmp_path}/once || exit 7'"
    path.write_text(path.read_text().replace("'exit 7'", own))
    codes = [
        third("run", "--run", one, "-o", runs / one, "--", path).returncode
        for one in planned(third, path)
    ]
    assert codes == [0, *[1] * (len(codes) - 1)]


def test_a_key_of_app_json_that_is_almost_right_is_reported(third, tmp_path: Path) -> None:
    path = write(tmp_path, 0)
    command_text = json.dumps('echo \'{"completion": 1.5, "own": 1}\' > $FLOWSWEEP_OUTPUT')
    path.write_text(path.read_text().replace("'exit 0'", command_text))
    done = third("run", path, "-o", tmp_path / "one")
    assert "app.json: `completion` is not read; `completion_s` would be" in done.stderr
    assert "`own`" not in done.stderr
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    # Like any command that does not time itself.
    assert record["application"]["timed"] == "by the testbed"
    assert record["application"]["own"] == 1
    assert record["completion_s"] > 0


def test_a_third_kind_is_known_to_the_schema_the_plan_and_the_shell(third, tmp_path: Path) -> None:
    path = write(tmp_path, 0)
    schema = json.loads(third("plan", path, "--format", "schema").stdout)
    testbed = schema["$defs"]["Testbed"]["properties"]
    assert testbed["kind"]["enum"] == ["namespaces", "ssh", "local", "slurm"]
    assert testbed["colour"]["description"] == "Only of this kind."
    assert third("testbed", "shell", path, "--", "sh", "-c", "exit 9").returncode == 9
    assert "local" in third("plan", path).stderr


def test_a_kind_that_is_not_there_is_refused_with_those_that_are(third, tmp_path: Path) -> None:
    path = write(tmp_path, 0)
    path.write_text(path.read_text().replace("kind: local", "kind: moon"))
    done = third("plan", path)
    assert done.returncode == 2
    assert "testbed.kind" in done.stderr
    assert all(f"'{kind}'" in done.stderr for kind in ("namespaces", "ssh", "local", "slurm"))


@pytest.mark.parametrize("kind", testbeds.KINDS)
def test_every_kind_says_what_it_can_do(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    hosts = "hosts: {pc1: {address: 10.0.0.1}, pc2: {address: 10.0.0.2}}"
    path.write_text(
        "sites: {a: [pc1], b: [pc2]}\nworkload: {command: 'true'}\n"
        f"testbed: {{kind: {kind}, {hosts}}}\n"
    )
    loaded = experiment.load(path)
    settings = loaded.testbed
    assert settings.kind == kind
    assert isinstance(settings.shapes_links, bool)
    assert isinstance(settings.one_at_a_time, bool)
    run = loaded.plan()[0]
    made = kinds.find(run)
    for name in ("session", "describe", "python_on_host", "warnings", "shell"):
        assert callable(getattr(made, name))
    # Settings of other kinds are ignored: only one of the kinds has machines.
    assert hasattr(settings, "hosts") == (kind == "ssh")
    assert (run.spec()["testbed"] is None) == (kind == "namespaces")
