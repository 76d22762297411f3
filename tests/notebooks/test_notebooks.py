"""The notebooks run from top to bottom on a real experiment, and contain no output."""

from __future__ import annotations

import ast
import json

import polars as pl
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
    """DuckDB and Altair behave differently in a notebook and in a script."""
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
        # Charts are images, which need no network.
        kinds = [kind for one in shown for kind in one["content"].get("data", {})]
        assert "image/svg+xml" in kinds, path.name


def test_every_cell_runs_and_each_notebook_draws(notebooks, captured_demo, monkeypatch):
    import altair as alt  # takes two seconds, which each test process would spend

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
                    # JupyterLab shows this; to_dict checks it against Vega-Lite's schema.
                    drawn.append(shown.to_dict())
                else:
                    assert shown is None or repr(shown)
            else:
                exec(compile(ast.Module([last], []), path.name, "exec"), names)
        assert drawn, path.name
        assert all(len(next(iter(one["datasets"].values()))) > 1 for one in drawn), path.name


def test_the_matrix_counts_each_packet_of_a_baseline_run_once(
    notebooks, captured_demo, monkeypatch
):
    """Neither captures of both ends nor other runs and the warm-up may be added."""
    monkeypatch.chdir(captured_demo.parents[1] / "notebooks")
    names: dict = {}
    for cell in cells(notebooks[3])[:2]:
        exec("".join(cell["source"]), names)
    addresses = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
    flows = pl.scan_parquet(captured_demo / "tables/*/*/flows.parquet", hive_partitioning=True)
    sent = flows.filter(
        pl.col("run").str.contains("-baseline-r")
        & (pl.col("src_ip") == pl.col("host").cast(pl.String).replace_strict(addresses))
    )
    runs = sent.select(pl.col("run").n_unique()).collect().item()
    pairs = sent.group_by("src_ip", "dst_ip").agg(mb=pl.sum("payload_bytes") / 1e6 / runs)
    expected = pairs.sort("src_ip", "dst_ip").collect()
    matrix = names["matrix"]
    assert matrix.select("src_ip", "dst_ip").rows() == expected.select("src_ip", "dst_ip").rows()
    assert matrix["mb"].to_list() == pytest.approx(expected["mb"].to_list())
