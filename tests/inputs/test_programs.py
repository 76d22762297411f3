"""Records that a program writes about its run: no table gets values that it cannot represent."""

from __future__ import annotations

import json

import pytest

from flowsweep.runs import run_records

FILE = """
sites: {{west: 1, east: 1}}
link: {{rtt: 1ms}}
workload: {{command: '{command}', where: first, name: own}}
limits: {{other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}}
"""


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ('{"completion_s": NaN}', "NaN"),
        ('{"completion_s": "soon"}', "completion_s: not what it should be"),
        ("[" * 9000, "nested too deeply"),
        ('{"note": "' + "x" * 9_000_000 + '"}', "too large"),
    ],
)
def test_a_program_that_writes_what_no_table_holds_has_failed(written, reason, command, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/written > $FLOWSWEEP_OUTPUT\n")
    program.chmod(0o755)
    (tmp_path / "written").write_text(written)
    (tmp_path / "x.yaml").write_text(FILE.format(command=program))
    done = command("flowsweep", "run", tmp_path / "x.yaml", "-o", tmp_path / "runs/one")
    assert done.returncode == 1, done.stderr
    record = json.loads((tmp_path / "runs/one/run.json").read_text())
    assert record["status"] == "failed"
    assert record["reason"].startswith("app.json cannot be used: ")
    assert reason in record["reason"]
    # Its record can be read, and therefore those of other runs.
    (row,) = run_records.read_rows(tmp_path / "runs")
    assert row["status"] == "failed"
    done = command("flowsweep", "runs", tmp_path / "runs", "-o", tmp_path / "runs.parquet")
    assert done.returncode == 0, done.stderr
