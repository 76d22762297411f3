"""What prepares a checkout: no service is started, and no file is run that is not the known one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
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


def installed(tmp_path: Path, script: str) -> subprocess.CompletedProcess[str]:
    """What rustup.sh says where `curl` gives a file that notes that it was run."""
    programs, home = tmp_path / "bin", tmp_path / "cargo"
    programs.mkdir()
    given = f"#!/bin/sh\ntouch {tmp_path / 'run'}\n"
    (tmp_path / "given").write_text(given)
    curl = programs / "curl"
    curl.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp {tmp_path}/given "$2"\n')
    curl.chmod(0o755)
    (tmp_path / "rustup.sh").write_text(script)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}", "CARGO_HOME": str(home),
    }  # fmt: skip
    return subprocess.run(
        ["sh", tmp_path / "rustup.sh"], env=environment, capture_output=True, text=True, check=False
    )


def test_an_installer_that_is_not_the_known_one_does_not_run(tmp_path: Path) -> None:
    done = installed(tmp_path, (ROOT / ".config/rustup.sh").read_text())
    assert done.returncode == 2
    assert "not started" in done.stderr
    assert not (tmp_path / "run").exists()
    assert list((tmp_path / "cargo").iterdir()) == []


def test_the_installer_that_is_known_runs(tmp_path: Path) -> None:
    given = f"#!/bin/sh\ntouch {tmp_path / 'run'}\n"
    known = hashlib.sha256(given.encode()).hexdigest()
    lines = (ROOT / ".config/rustup.sh").read_text().splitlines()
    script = "\n".join(
        f"sha256={known}" if line.startswith("installer=") else line for line in lines
    ).replace(f"sha256={known}", f"sha256={known}\ninstaller=$CARGO_HOME/rustup-init", 1)
    assert installed(tmp_path, script).returncode == 0
    assert (tmp_path / "run").exists()
