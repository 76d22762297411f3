"""`make audit`: a finding makes it exit with 1; an unreachable source is skipped and reported."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def audit(programs: Path) -> subprocess.CompletedProcess[str]:
    path = f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin"
    words = [sys.executable, ROOT / ".config/audit.py"]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path}
    )


def program(folder: Path, name: str, text: str) -> None:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)


def packages(**more: object) -> str:
    found = [{"name": "a", "version": "1", **more}, {"name": "b", "version": "2", "vulns": []}]
    return f"echo '{json.dumps({'dependencies': found})}'"


def test_without_its_programs_it_says_what_is_skipped(tmp_path: Path) -> None:
    if shutil.which("cargo-deny", path="/usr/bin:/bin"):
        pytest.skip("cargo-deny is a program of the system")
    done = audit(tmp_path)
    assert done.returncode == 0
    assert "audit: cargo-deny: skipped: it is not installed" in done.stdout
    assert done.stdout.count("pip-audit: skipped") == 1


def test_nothing_found(tmp_path: Path) -> None:
    program(tmp_path, "cargo-deny", "exit 0")
    program(tmp_path, "pip-audit", packages(vulns=[]))
    done = audit(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "crates: advisories: nothing found" in done.stdout
    assert "packages of requirements.lock: nothing found" in done.stdout


@pytest.fixture(scope="module")
def images() -> Callable[[str], bool]:
    """Audits a Containerfile's text."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".config/audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.images


ONE, OTHER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


@pytest.mark.parametrize(
    ("text", "is_found", "message"),
    [
        ("FROM a:1 AS build\nFROM a:1\n", False, "skipped: Containerfile names none"),
        (f"FROM a:1@{ONE} AS build\nFROM a:1@{ONE}\n", False, "a:1: nothing found"),
        (f"FROM a:1@{ONE} AS build\nFROM a:1@{OTHER}\n", True, "a:1: FOUND"),
        (f"FROM a:1@{ONE} AS build\nFROM a:1\n", True, "a:1: FOUND"),
    ],
)
def test_the_stages_of_the_container_begin_with_one_image(images, capsys, text, is_found, message):
    assert images(text) is is_found
    assert message in capsys.readouterr().out


def test_a_digest_locks_the_image_of_the_container(tmp_path: Path) -> None:
    (line,) = [
        line for line in audit(tmp_path).stdout.splitlines() if "digest of the image" in line
    ]
    assert line.startswith("audit: digest of the image debian:bookworm-")
    assert line.endswith(": nothing found")


@pytest.mark.parametrize("which", ["licenses", "advisories"])
def test_a_crate_that_breaks_the_policy(which: str, tmp_path: Path) -> None:
    program(tmp_path, "cargo-deny", f'case "$*" in *{which}*) echo bad crate; exit 1 ;; esac')
    program(tmp_path, "pip-audit", packages(vulns=[]))
    done = audit(tmp_path)
    assert done.returncode == 1
    assert "bad crate" in done.stderr


def test_a_package_with_a_known_fault(tmp_path: Path) -> None:
    program(tmp_path, "cargo-deny", "exit 0")
    program(tmp_path, "pip-audit", f"{packages(vulns=[{'id': 'PYSEC-1'}])}; exit 1")
    done = audit(tmp_path)
    assert done.returncode == 1
    assert "a 1: PYSEC-1" in done.stderr


def test_a_database_that_cannot_be_asked_is_no_clean_answer(tmp_path: Path) -> None:
    program(tmp_path, "cargo-deny", '[ "$1" != fetch ]')
    program(tmp_path, "pip-audit", "echo no network >&2; exit 1")
    done = audit(tmp_path)
    assert done.returncode == 0
    assert "crates: advisories: skipped: " in done.stdout
    assert "packages of requirements.lock: skipped: " in done.stdout
    program(tmp_path, "pip-audit", packages(skip_reason="not known"))
    assert "1 of 2 packages of requirements.lock: skipped: " in audit(tmp_path).stdout


def test_the_policy_lets_no_crate_in_from_elsewhere() -> None:
    policy = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    assert policy["sources"] == {"unknown-registry": "deny", "unknown-git": "deny"}
    assert not any(name.startswith(("GPL", "AGPL")) for name in policy["licenses"]["allow"])


def test_the_crates_keep_the_policy() -> None:
    if shutil.which("cargo-deny") is None:
        pytest.skip("no cargo-deny")
    words = ["cargo-deny", "--offline", "check", "licenses", "bans", "sources"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
