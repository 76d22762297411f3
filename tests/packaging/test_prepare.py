"""Preparing a checkout starts no service, and executes no downloaded file with a wrong hash."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".config" / "without_services.sh"
FORBIDDEN, ALLOWED = 101, 0


def started(policy: Path, *command: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [SCRIPT, *map(str, command)], env=os.environ | {"POLICY_RC_D": str(policy)}
    )


def ask_policy(policy: Path) -> int:
    return subprocess.run([policy], check=False).returncode


def test_no_service_starts_while_the_command_runs(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    assert started(policy, "sh", "-c", f"{policy}; test $? = {FORBIDDEN}").wait() == 0
    assert not policy.exists()
    assert started(policy, "sh", "-c", "exit 7").wait() == 7
    assert not policy.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_policy_goes_with_a_script_that_is_stopped(
    number: int, tmp_path: Path, until: Callable[[Callable[[], bool], str], None]
) -> None:
    policy, begun = tmp_path / "policy", tmp_path / "begun"
    process = started(policy, "sh", "-c", f"touch {begun}; exec sleep 600")
    until(begun.exists, "the command")
    process.send_signal(number)
    assert process.wait(timeout=60) == 128 + number
    assert not policy.exists()


def test_after_sigkill_services_start_again(
    tmp_path: Path, until: Callable[[Callable[[], bool], str], None]
) -> None:
    policy, begun = tmp_path / "policy", tmp_path / "begun"
    process = started(policy, "sh", "-c", f"touch {begun}; exec sleep 3")
    until(begun.exists, "the command")
    assert ask_policy(policy) == FORBIDDEN
    process.kill()
    process.wait()
    assert ask_policy(policy) == ALLOWED
    assert started(policy, "true").wait() == 0
    assert not policy.exists()


def test_a_policy_of_somebody_else_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    policy.write_text("#!/bin/sh\nexit 104\n")
    assert started(policy, "true").wait() == 0
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


LIST, INSTALLER = "dist/channel-rust", "rustup/archive"
SCRIPT_OF_RUST = ROOT / ".config/rustup.sh"


def installed(
    tmp_path: Path, known: str, given: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs rustup.sh, which trusts the hash of `known`; `curl` returns `given` by address."""
    programs, home = tmp_path / "bin", tmp_path / "cargo"
    programs.mkdir()
    cases = ""
    for number, (place, content) in enumerate(given.items()):
        (tmp_path / f"given{number}").write_text(content)
        cases += f'*{place}*) cp {tmp_path}/given{number} "$file" ;;\n'
    curl = programs / "curl"
    curl.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nfile=$2\n'
        f"case $3 in\n{cases}*) exit 22 ;;\nesac\n"
    )
    curl.chmod(0o755)
    digest = hashlib.sha256(known.encode()).hexdigest()
    script, count = re.subn(r"sha256=[0-9a-f]{64}", f"sha256={digest}", SCRIPT_OF_RUST.read_text())
    assert count == 3  # the list, and rustup-init of two kinds of machines
    (tmp_path / "rustup.sh").write_text(script)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}", "CARGO_HOME": str(home),
    }  # fmt: skip
    return subprocess.run(
        ["sh", tmp_path / "rustup.sh"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("other", [LIST, INSTALLER])
def test_nothing_is_installed_that_is_not_the_known_file(tmp_path: Path, other: str) -> None:
    program = f"#!/bin/sh\ntouch {tmp_path / 'run'}\n"
    given = {LIST: program, INSTALLER: program} | {other: f"{program}#\n"}
    done = installed(tmp_path, program, given)
    assert done.returncode == 2
    assert f"prepare: {other}" in done.stderr
    assert "nothing is installed" in done.stderr
    assert "remedy" in done.stderr
    assert not (tmp_path / "run").exists()
    assert list((tmp_path / "cargo").iterdir()) == []


def test_the_installer_that_is_known_installs_one_release(tmp_path: Path) -> None:
    program = f'#!/bin/sh\necho "$@" >{tmp_path / "run"}\n'
    done = installed(tmp_path, program, {LIST: program, INSTALLER: program})
    assert done.returncode == 0, done.stderr
    (release,) = re.findall(r"^rust=(.+)$", SCRIPT_OF_RUST.read_text(), re.MULTILINE)
    assert f"--default-toolchain {release} " in (tmp_path / "run").read_text()
    needed = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"][
        "rust-version"
    ]
    assert [*map(int, release.split("."))] >= [*map(int, needed.split("."))]
    assert list((tmp_path / "cargo").iterdir()) == []
