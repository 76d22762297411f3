"""`flowsweep testbed check` reports correctly where namespaces cannot be created."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from .conftest import FLOWSWEEP

QUICK = [*FLOWSWEEP, "testbed", "check", "--quick"]


def inside(script: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in its own user namespace after `script` has changed it."""
    unshare = ["unshare", "--user", "--map-root-user", "sh", "-ec", f'{script}\nexec "$@"', "sh"]
    return subprocess.run(
        [*unshare, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, "COLUMNS": "80"},
    )


@pytest.mark.parametrize("kind", ["user", "net"])
def test_a_limit_of_none_is_named_with_the_command_that_raises_it(namespaces, kind):
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if kind == "user" else []
    switch = f"user.max_{kind}_namespaces"
    done = inside(f"echo 0 > /proc/sys/user/max_{kind}_namespaces", *drop, *QUICK)
    assert done.returncode == 1, done.stderr
    assert f"not one is allowed: {switch} is 0" in done.stdout
    # On one line, so that it can be copied.
    assert f"remedy: as root: sysctl -w {switch}=10000\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_root_without_capabilities_is_not_advised_to_become_root(namespaces):
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = inside(":", *drop, *QUICK, "--format", "json")
    answer = json.loads(done.stdout)
    (finding,) = answer["findings"]
    if finding["level"] == "ok":
        pytest.skip("this kernel lets root without capabilities make user namespaces")
    assert done.returncode == 1
    assert "root without its capabilities" in finding["text"]
    assert "run as root" not in finding["remedy"]


def test_the_whole_check_tries_every_part_in_a_testbed(namespaces):
    """Whether the emulator is on time depends on the machine's other programs."""
    done = subprocess.run(
        [*FLOWSWEEP, "testbed", "check", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    findings = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    assert findings["namespaces"]["level"] == "ok", done.stdout
    assert "not tested" not in done.stdout
    assert "measured" in findings["link emulator"]["text"]
    assert "packets" in findings["capture"]["text"]
