"""The check of words finds what it should, and the repository passes it."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / ".config" / "words.py"


@pytest.mark.parametrize(
    ("suffix", "text", "places"),
    [
        (".py", "x = 1\nfor told in ():\n    pass\n", [(2, "told")]),
        (".py", "def f(_said):\n    return _said\nclass Said: ...\n", [(1, "_said"), (3, "Said")]),
        (".py", '"""It is told."""\nx.told = 1\n', []),
        (".rs", "// let told = 1\npub fn told() {}\n", [(2, "told")]),
        (".py", "is_told = OF_ONE = 1\nundertold = 2\n", [(1, "OF_ONE"), (1, "is_told")]),
        (".js", "const unsaid = 1; // let said\n", [(1, "unsaid")]),
        (".sql", "of_runs as (\n    select 1 as of_runs,\n)\n", [(1, "of_runs")]),
        (".sql", "-- told as (\nmine as (\n    select 1 as said,\n)\n", [(2, "mine"), (3, "said")]),
    ],
)
def test_names_that_are_neither_noun_nor_verb_are_found(
    suffix: str, text: str, places: list[tuple[int, str]]
) -> None:
    found = runpy.run_path(str(CHECK))["_banned"](suffix, text)
    assert sorted((line, name) for line, name, _ in found) == places


def test_a_phrase_is_found_across_lines_of_a_comment() -> None:
    found = list(runpy.run_path(str(CHECK))["_prose"]("x\n# files, of\n# which none is there\n"))
    assert [line for line, _ in found] == [2]


def test_the_repository_passes() -> None:
    done = subprocess.run(
        [sys.executable, CHECK], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
