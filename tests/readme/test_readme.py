"""Everything named in the README exists."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(scope="module")
def readme(root):
    return (root / "README.md").read_text()


def test_every_file_and_folder_in_its_tables_exists(readme, root):
    rows = [line for line in readme.splitlines() if line.startswith("|")]
    named = {
        name
        for row in rows
        for name in re.findall(r"`([\w./-]+)`", row)
        if "/" in name or name in {"Snakefile", "capture", "parsers", "reports", "workflows"}
    }
    assert len(named) > 7
    missing = {name for name in named if not (root / name).exists()}
    # Short forms: `decode/` after `parsers/src/records/`.
    assert {name for name in missing if not (root / "parsers/src" / name).exists()} == set()


def test_its_figures_exist(readme, root):
    figures = re.findall(r'(?:src|srcset)="([^"]+)"', readme)
    assert len(figures) == 2
    assert all((root / figure).exists() for figure in figures)


def test_its_commands_exist(readme, command):
    commands = set(
        re.findall(r"flowsweep (plan|show|parse|run|retry|report|query|testbed)\b", readme)
    )
    help_text = command("flowsweep", "--help").stdout
    assert commands
    assert all(re.search(rf"^ +{name} ", help_text, re.MULTILINE) for name in commands)


def test_its_targets_exist(readme, root):
    makefile = (root / "Makefile").read_text()
    assert all(f"{name}:" in makefile for name in re.findall(r"^make (\w+)", readme, re.MULTILINE))
