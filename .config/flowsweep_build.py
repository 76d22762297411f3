"""The build backend: maturin, after the steps that maturin does not know.

A wheel also holds the content of the repository (`flowsweep.content` finds it) and three things
that cargo compiles: the capture agent, the link emulator, and the kernels of the workloads. They
are put into the folder that `tool.maturin.data` names. An editable install uses the checkout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "target" / "wheel-data"
SHARE = DATA / "platlib" / "flowsweep" / "share"
CONTENT = ("Snakefile", "profiles", "reports", "workflows", "capture/workloads")
PROGRAMS = ("flowsweep-capture", "flowsweep-wan")
KERNELS = "libflowsweep_kernels.so"
#: Sources of the kernels, figures of the README, and what editors and Python leave behind.
LEFT_OUT = shutil.ignore_patterns("kernels", "readme-*.png", "__pycache__", "*.pyc", ".*")

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel with everything in it."""
    _begin()
    for name in CONTENT:
        _copy(ROOT / name, SHARE / name)
    built = _compiled()
    for program in PROGRAMS:
        _copy(built[program], DATA / "scripts" / program)
    _copy(built[KERNELS], SHARE / "capture/workloads" / KERNELS)
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds a wheel that points to this checkout; `make build` compiles the programs."""
    _begin()
    name: str = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    return name


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    """Writes the names and requirements, before anything is compiled."""
    _begin()
    name: str = maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)
    return name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(*_: object) -> str:
    """Refuses: maturin's source archive would lack the programs and the content."""
    raise RuntimeError(
        "flowsweep is built from a checkout (pip wheel .), or from its repository "
        "(pip wheel git+URL); there is no source archive"
    )


def _begin() -> None:
    """Empties the data folder, and uses the Rust toolchain of `make build` if there is one."""
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    if (ROOT / ".cargo-home/bin/cargo").exists():
        os.environ["RUSTUP_HOME"] = str(ROOT / ".rustup")
        os.environ["CARGO_HOME"] = str(ROOT / ".cargo-home")
        path = os.environ.get("PATH", "")
        os.environ["PATH"] = f"{ROOT / '.cargo-home/bin'}{os.pathsep}{path}"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=LEFT_OUT)
    else:
        shutil.copy2(source, target)


def _compiled() -> dict[str, Path]:
    """Compiles programs and kernels; returns their paths by file name, as cargo reports them."""
    words = ["cargo", "build", "--release", "--locked", "--message-format=json-render-diagnostics"]
    packages = ("flowsweep-capture", "flowsweep-wan", "flowsweep-kernels")
    words += [word for package in packages for word in ("--package", package)]
    output = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    files = [Path(file) for message in messages for file in message.get("filenames", ())]
    return {file.name: file for file in files}
