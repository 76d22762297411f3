"""The wheel, built once, in clean environments that contain no other flowsweep."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

BUILD_LIMIT_S = 600


@pytest.fixture(scope="session")
def wheel(root, tmp_path_factory) -> Path:
    """The wheel of this checkout, built without a network: the environment has its requirements."""
    for program in ("cargo", "cc"):
        if shutil.which(program) is None and not (root / ".cargo-home/bin/cargo").exists():
            pytest.skip(f"no {program} to build the wheel with")
    folder = tmp_path_factory.mktemp("wheel")
    own = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", root, "--wheel-dir", folder),
            *("--no-deps", "--no-build-isolation", "--no-index", "--quiet"),
        ],
        env={**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory) -> Callable[[str], Path]:
    """Creates a virtual environment with the wheel and the packages of an extra, by its name.

    The packages are links to those of the test environment. The checkout is in none of them,
    because an editable install is a .pth file, which is read in site folders only.
    """

    def make(extra: str) -> Path:
        folder = tmp_path_factory.mktemp(extra or "plain") / "venv"
        venv.create(folder, with_pip=False, symlinks=True)
        packages = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--python", folder / "bin/python", "install"),
                *("--no-deps", "--no-index", "--quiet", wheel),
            ],
            check=True,
            timeout=BUILD_LIMIT_S,
        )
        for name in sorted(_needed(wheel, extra)):
            _link(name, packages, folder / "bin")
        return folder

    return make


def _needed(wheel: Path, extra: str) -> set[str]:
    """Returns the packages that flowsweep with an extra needs, from the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        own = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist")
    found: set[str] = set()
    waiting = [("flowsweep", extra)]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(name)
        for line in own if name == "flowsweep" else metadata.requires(name) or []:
            other = _applies(line, extras)
            if other is not None:
                waiting.append(other)
    return found - {"flowsweep"}


def _applies(line: str, extra: str) -> tuple[str, str] | None:
    """Returns name and extra of a requirement that applies here."""
    from packaging.requirements import Requirement

    asked = Requirement(line)
    if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
        return None
    name = re.sub(r"[-_.]+", "-", asked.name).lower()
    if name != "flowsweep":
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return None
    return name, next(iter(asked.extras), "")


def _link(name: str, packages: Path, programs: Path) -> None:
    """Links the files of an installed package into another environment."""
    distribution = metadata.distribution(name)
    own = [Path(folder).resolve() for folder in site.getsitepackages()]
    tops = set()
    for file in distribution.files or []:
        path = Path(distribution.locate_file(file)).resolve()
        if any(path.is_relative_to(folder) for folder in own):
            tops.add(file.parts[0])
        elif path.parent == Path(sys.executable).parent:
            _link_program(path, programs)
    for top in sorted(tops):
        source = Path(distribution.locate_file(top))
        if source.exists() and not (packages / top).exists():
            (packages / top).symlink_to(source)


def _link_program(path: Path, programs: Path) -> None:
    """Adds a program of a package: a script gets the other Python, anything else is a link."""
    target = programs / path.name
    if target.exists() or not path.exists():
        return
    if path.read_bytes()[:2] == b"#!":
        text = path.read_text().partition("\n")[2]
        target.write_text(f"#!{programs / 'python'}\n{text}")
        target.chmod(0o755)
    else:
        target.symlink_to(path)


@pytest.fixture
def outside(tmp_path, monkeypatch) -> Path:
    """A folder outside any checkout, with no variable that points to one."""
    for name in [name for name in os.environ if name.startswith("FLOWSWEEP_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(outside) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of an environment outside any checkout."""

    def start(environment: Path, *words: object) -> subprocess.CompletedProcess[str]:
        program, *arguments = map(str, words)
        return subprocess.run(
            [environment / "bin" / program, *arguments],
            cwd=outside,
            env={**os.environ, "PATH": f"{environment / 'bin'}{os.pathsep}/usr/bin:/bin:/usr/sbin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return start
