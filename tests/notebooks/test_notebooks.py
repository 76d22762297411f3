"""The notebooks run from top to bottom on a real experiment; no output is kept."""

from __future__ import annotations

import json

import pytest


def cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def notebooks(root):
    found = sorted((root / "notebooks").glob("*.ipynb"))
    assert found
    return found


def test_no_output_is_kept(notebooks):
    for path in notebooks:
        assert all(not cell["outputs"] for cell in cells(path)), path.name


def test_every_cell_runs(notebooks, captured_demo, monkeypatch):
    monkeypatch.chdir(captured_demo.parents[1] / "notebooks")
    for path in notebooks:
        names: dict = {}
        for cell in cells(path):
            exec("".join(cell["source"]), names)
