"""What several subjects need: the checkout, its commands, and what this machine can do."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@functools.cache
def _namespaces_fault() -> str | None:
    """Why network namespaces cannot be made here, or None."""
    if shutil.which("unshare") is None:
        return "no `unshare`"
    result = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stderr.strip() or "unshare failed" if result.returncode else None


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips, with the reason, where network namespaces are forbidden."""
    fault = _namespaces_fault()
    if fault is not None:
        pytest.skip(f"no network namespaces here: {fault}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def command():
    """Runs a program of .venv/bin and returns what it printed and its exit code."""

    def run(name: str, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
        program = BIN / name
        assert program.exists(), f"{program} is missing: run `make build`"
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def captured_demo(command, root, tmp_path_factory) -> Path:
    """Results of the captured demo, analysed once; needs no namespaces."""
    folder = tmp_path_factory.mktemp("captured")
    result = command(
        "snakemake",
        *("--snakefile", root / "Snakefile"),
        *("--configfile", root / "workflows/experiments/captured/demo.yaml"),
        cwd=folder,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    (folder / "notebooks").mkdir()
    results = folder / "results/demo"
    (results / "runs").symlink_to(root / "workflows/experiments/captured/demo/runs")
    return results
