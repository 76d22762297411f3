"""The demo on nodes of a Slurm that is polled often, compared with the demo on one machine."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .conftest import ASKING_SNAKEMAKE, ROOT
from .test_slurm import BIN, record

DEMO = ROOT / "workflows" / "experiments" / "demo.yaml"
TESTBED = """
testbed:
  kind: slurm
  network: 10.78.0.0/24
  folder: /run/local/flowsweep
  emulate: true
"""
# All nodes share one machine's cores, and the kernel measures pressure for all of them together.
SHARED = "limits: {cpu_pressure: 100%, other_programs: 100%, lateness: 50ms}\n"
#: For each axis the hardest point, and those that refinement chooses between it and the baseline.
FEWER = {
    r"rtt: \[.*\]": "rtt: [64ms]",
    r"rate: \[.*\]": "rate: [10Mbit/s]",
    r"repetitions: .*": "repetitions: 1",
    r"refine: .*": "refine: 1",
}
FILES = f"--snakefile {ROOT}/Snakefile --configfile demo.yaml"
THERE = (
    f"{ASKING_SNAKEMAKE} {FILES} --profile {ROOT}/workflows/profiles/slurm"
    " --latency-wait 5 --slurm-init-seconds-before-status-checks 2"
)
HERE = f"{BIN}/snakemake {FILES} --profile {ROOT}/workflows/profiles/default"


def points(text: str) -> str:
    for pattern, fewer in FEWER.items():
        text, count = re.subn(pattern, fewer, text)
        assert count == 1, pattern
    return text + "\n" + SHARED


def headings(folder: Path) -> list[str]:
    """Returns the page's headings, without numbers and text after a colon."""
    found = re.findall(
        r"<h[123][^>]*>(.*?)</h[123]>", (folder / "report.html").read_text(), re.DOTALL
    )
    return [re.sub(r"[0-9][0-9.,]*", "#", one.partition(":")[0]) for one in found]


def filled(folder: Path) -> set[str]:
    """Returns the queries of the report that have rows."""
    with duckdb.connect(folder / "demo.duckdb", read_only=True) as database:
        found = database.sql("select table_name from duckdb_tables() where schema_name = 'main'")
        return {
            name
            for (name,) in found.fetchall()
            if database.sql(f'select 1 from "{name}" limit 1').fetchall()
        }


def thresholds(folder: Path, command: Any) -> list[dict[str, Any]]:
    done = command("flowsweep", "query", "thresholds", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(
    not os.environ.get("FLOWSWEEP_ALL_EXAMPLES"),
    reason="takes five minutes of CPU: make truth runs it, test_slurm.py a smaller sweep",
)
def test_the_demo_has_the_report_of_one_machine(box, tmp_path: Path, command) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="run .config/prepare.sh slurm")
    text = points(DEMO.read_text())
    for name, more in (("there", TESTBED), ("here", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "demo.yaml").write_text(text + more)
    # Both at once, next to other tests: the program waits instead of computing. With a load of
    # twelve on two cores, the completion times were 2.55 to 2.76 s at the baseline, and 3.7 to
    # 3.8 s at the hardest RTT.
    scripts = {
        "there": (f"cd there; {THERE} >said 2>&1 || {{ cat said; exit 9; }}", 4),
        "here": (f"cd here; {HERE} || exit 9", 1),
    }
    with ThreadPoolExecutor() as pool:
        made_by = [
            pool.submit(box, script, nodes=nodes, folder=f"box-{name}")
            for name, (script, nodes) in scripts.items()
        ]
        for one in made_by:
            one.result()
    there, here = (tmp_path / name / "results" / "demo" for name in ("there", "here"))
    runs = [record(path.parent) for path in there.glob("runs/*/run.json")]
    assert len(runs) >= 6
    for made in runs:
        assert made["status"] == "valid", made["reason"]
        asked, measured = (made["axes"]["rtt"][key] for key in ("asked", "measured"))
        assert measured is not None, asked
    # RTT and rate really differ between the points, and affect the program.
    by_axis = {row["axis"]: row for row in thresholds(there, command) if row["level"] == 1.1}
    assert set(by_axis) == {"rtt", "rate"}
    assert by_axis["rtt"]["hardest"] > 60
    assert by_axis["rtt"]["largest_slowdown"] > 1.1
    assert by_axis["rate"]["largest_slowdown"] > 1.3
    # The same form: sections, queries with rows, states of the verdict.
    assert headings(there) == headings(here)
    assert len(filled(here)) > 20
    assert filled(there) == filled(here)
    for folder in (there, here):
        verdict = {
            row["axis"]: row["state"] for row in thresholds(folder, command) if row["level"] == 1.1
        }
        assert verdict == {"rtt": "found", "rate": "found"}, folder
