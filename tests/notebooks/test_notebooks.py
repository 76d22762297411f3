"""The notebooks run from top to bottom on a real experiment; no output is kept."""

from __future__ import annotations

import ast
import json

import altair as alt
import pytest


def cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def notebooks(root):
    found = sorted((root / "notebooks").glob("*.ipynb"))
    assert found
    return found


def test_they_are_five(notebooks):
    names = [path.stem for path in notebooks]
    assert names == ["01-first-look", "02-throughput-and-messages", "03-sensitivity",
                     "04-your-own-question", "05-packets"]  # fmt: skip


def test_no_output_is_kept(notebooks):
    for path in notebooks:
        assert all(not cell["outputs"] for cell in cells(path)), path.name


def test_every_cell_runs_in_a_kernel_of_jupyter(notebooks, captured_demo, monkeypatch):
    """DuckDB and Altair see where they run, and behave otherwise than in a script."""
    client = pytest.importorskip("jupyter_client", reason="make notebook installs JupyterLab")
    monkeypatch.chdir(captured_demo.parents[1] / "notebooks")
    for path in notebooks:
        manager, kernel = client.manager.start_new_kernel(kernel_name="python3")
        try:
            shown: list[dict] = []
            for cell in cells(path):
                kernel.execute_interactive(
                    "".join(cell["source"]),
                    timeout=120,
                    output_hook=shown.append,
                )
        finally:
            kernel.stop_channels()
            manager.shutdown_kernel(now=True)
        errors = [one["content"]["evalue"] for one in shown if one["msg_type"] == "error"]
        assert not errors, path.name
        # Charts are there as pictures, which need no network.
        kinds = [kind for one in shown for kind in one["content"].get("data", {})]
        assert "image/svg+xml" in kinds, path.name


def test_every_cell_runs_and_each_notebook_draws(notebooks, captured_demo, monkeypatch):
    monkeypatch.chdir(captured_demo.parents[1] / "notebooks")
    drawn: list[dict] = []
    for path in notebooks:
        names: dict = {}
        drawn.clear()
        for cell in cells(path):
            *before, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(before, []), path.name, "exec"), names)
            if isinstance(last, ast.Expr):
                shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
                if isinstance(shown, alt.TopLevelMixin):
                    # What JupyterLab shows; it is checked against Vega-Lite's schema.
                    drawn.append(shown.to_dict())
                else:
                    assert shown is None or repr(shown)
            else:
                exec(compile(ast.Module([last], []), path.name, "exec"), names)
        assert drawn, path.name
        assert all(len(next(iter(one["datasets"].values()))) > 1 for one in drawn), path.name
