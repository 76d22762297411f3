"""The renderer reserves much address space; a limit that forbids it is reported."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sending import experiment

from flowsweep.render import svg

GIB = 1 << 30


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@pytest.mark.parametrize("size", [8 * GIB, svg.ROOM_BYTES])
def test_too_small_a_limit_is_reported_before_the_work(tmp_path: Path, size: int) -> None:
    experiment(tmp_path)
    command = [sys.executable, "-m", "flowsweep", "report", tmp_path]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=limited(size)
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: no figure can be drawn: too little address space")
    assert f"found     ulimit -v {size >> 10}" in done.stderr
    assert "remedy    ulimit -v unlimited" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]


def test_a_limit_that_leaves_enough_is_no_hindrance() -> None:
    script = (
        "from flowsweep.render import charts, svg\n"
        "chart = charts.Chart([{'a': 1}, {'a': 2}]).mark('bar').encode(x='a:Q')\n"
        "print(svg.render(chart, 'x').startswith('<svg'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited(svg.ROOM_BYTES + 8 * GIB),
    )
    assert done.stdout == "True\n", done.stderr
