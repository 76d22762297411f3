"""A program's messages, of any length, give a record that every command can read."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.runs import run_records
from flowsweep.testbed import kernel, program
from flowsweep.testbed.run_folder import RunFolder, is_run

MIB = 1 << 20


def ended(script: str, folder: Path) -> program.Ended:
    commands = [(["sh", "-c", script], {})]
    log = folder / "log"
    return program.run_commands(commands, os.environ, folder, log, limit_s=200, look=lambda: None)


def test_of_much_that_a_program_says_little_is_held(tmp_path):
    words = "first lost words"
    lines = f"echo {words}; yes 'a line of words' | head -c {100 * MIB}; echo 'error: disk'; exit 3"
    tracemalloc.start()
    done = ended(f"exec >&2; {lines}", tmp_path)
    failure = done.failure
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert failure == "exit code 3: disk"
    assert done.stderr.startswith(words)
    assert most < 16 * MIB


def test_of_a_long_line_the_reason_has_its_begin(tmp_path):
    line = f"head -c {9 * MIB} /dev/zero | tr '\\0' x"
    failure = ended(f"exec >&2; {line}; exit 3", tmp_path).failure or ""
    assert failure.startswith("exit code 3: xxx")
    assert len(failure) < 1000


def test_the_middle_of_what_is_printed_takes_no_memory(tmp_path):
    path = tmp_path / "printed"
    path.write_bytes(b"b" * MIB + b"m" * 8 * MIB + b"e" * MIB)
    with path.open("r+b") as stream:
        kernel.free_middle(stream.fileno(), MIB, MIB)
        kernel.free_middle(stream.fileno(), 6 * MIB, 6 * MIB)
    assert path.stat().st_blocks * 512 < 3 * MIB
    assert path.read_bytes() == b"b" * MIB + bytes(8 * MIB) + b"e" * MIB


DEEP = inputs.MOST_DEPTH - 1
ANSWERS = {
    "numbers": ({"answer": [1.5] * 1_400_000}, True),
    "text": ({"answer": "é" * 3_000_000}, True),
    "objects": ({"answer": [[]] * (inputs.MOST_OBJECTS - 2)}, False),
    "depth": ({"answer": json.loads("[" * DEEP + "]" * DEEP)}, False),
}


@pytest.mark.parametrize(("content", "is_kept"), ANSWERS.values(), ids=ANSWERS)
def test_what_an_application_tells_is_kept_where_it_can_be_read_again(tmp_path, content, is_kept):
    path = tmp_path / "app.json"
    path.write_text(json.dumps(content, ensure_ascii=False))
    application, _ = inputs.read_object(path, "the record of an application", "{}")
    folder = RunFolder(tmp_path / "runs/r1")
    folder.stage()
    record = {"spec_hash": "1", "status": "valid", "application": application}
    if not is_kept:
        with pytest.raises(FlowsweepError, match="at most"):
            folder.publish(record)
        folder.leave()
        assert not [*folder.directory.parent.iterdir()]
        return
    folder.publish(record)
    assert is_run(folder.directory)
    assert run_records.with_status(folder.directory.parent, ["valid"]) == {"r1": "None"}


BIG = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload:
  where: first
  command: "echo '{\\"answer\\": [' > $FLOWSWEEP_OUTPUT; yes '[],' | head -249995 >>
    $FLOWSWEEP_OUTPUT; echo '[]]}' >> $FLOWSWEEP_OUTPUT"
warmup: 0
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 500ms}
"""


def test_a_run_whose_app_json_cannot_be_kept_is_a_row_that_says_so(namespaces, flowsweep, tmp_path):
    (tmp_path / "big.yaml").write_text(BIG)
    done = flowsweep("run", tmp_path / "big.yaml", "-o", tmp_path / "runs/r1")
    assert "cannot be kept in run.json" in done.stderr
    done = flowsweep("runs", tmp_path / "runs", "-o", tmp_path / "runs.parquet")
    assert done.returncode == 0, done.stderr
    done = flowsweep("run", tmp_path / "big.yaml", "-o", tmp_path / "runs/r1")
    assert (done.returncode, "nothing to do" in done.stderr) == (1, True)
    record = json.loads((tmp_path / "runs/r1/run.json").read_text())
    assert record["status"] == "failed"
    assert record["application"] is None
    assert "at most 250,000" in record["reason"]
