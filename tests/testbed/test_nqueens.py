"""The N Queens workload alone, without a testbed: answers, counts, bad parameters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import LIMIT_S, ROOT

WORKLOADS = ROOT / "capture" / "workloads"
KNOWN = {6: 4, 7: 40, 8: 92, 9: 352, 10: 724}


# All boards in one launch, because starting MPI takes most of the time.
ALL_BOARDS = """
import sys
sys.path.insert(0, sys.argv[1])
import nqueens
from pathlib import Path
for board in map(int, sys.argv[4:]):
    nqueens.main({"board": board}, sys.argv[2], Path(sys.argv[3]) / f"{board}.json")
    sys.modules["mpi4py.MPI"].COMM_WORLD.Barrier()
"""


def mpirun(ranks: int, *program: object, folder: Path) -> subprocess.CompletedProcess[str]:
    root = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
    environment = {
        **os.environ,
        "TMPDIR": str(folder),
        **{f"{name}{end}": "1" for name in root for end in ("", "_CONFIRM")},
    }
    # TCP, as in the testbed: a rank does not wake for messages in shared memory.
    transport = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"]
    command = [Path(sys.executable).parent / "mpirun", "--host", f"localhost:{ranks}"]
    command += ["-np", ranks, "--bind-to", "none", *transport, sys.executable, *program]
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env=environment,
    )


def start(output: Path, problem: dict, compute: str, ranks: int = 3):
    program = WORKLOADS / "nqueens" / "nqueens.py"
    arguments = ["--problem", json.dumps(problem), "--compute", compute, "--output", output]
    return mpirun(ranks, program, *arguments, folder=output.parent)


@pytest.mark.parametrize("compute", ["busy", "paced"])
def test_answers_are_the_known_numbers_of_solutions(tmp_path, compute):
    arguments = (WORKLOADS / "nqueens", compute, tmp_path, *KNOWN)
    done = mpirun(3, "-c", ALL_BOARDS, *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for board, solutions in KNOWN.items():
        record = json.loads((tmp_path / f"{board}.json").read_text())
        assert record["answer"]["solutions"] == solutions
        assert record["correct"] is True


def test_what_is_sent_is_received(tmp_path):
    output = tmp_path / "app.json"
    start(output, {"board": 8}, "busy", ranks=4)
    record = json.loads(output.read_text())
    ranks = record["ranks"]
    for count in ("messages", "bytes"):
        for receiver in ranks:
            to = str(receiver["rank"])
            sent = sum(rank["to"].get(to, {}).get(count, 0) for rank in ranks)
            assert sent == receiver[f"received_{count}"]
    # The ranks return 92 solutions of 8 four-byte integers, and reports about themselves.
    assert 92 * 8 * 4 <= sum(rank["sent_bytes"] for rank in ranks[1:]) < 92 * 8 * 8
    assert {phase["name"] for phase in record["phases"]} == {"distribute", "compute", "return"}
    assert all(phase["end_s"] <= record["completion_s"] + 0.1 for phase in record["phases"])


def test_paced_work_takes_the_time_that_is_set(tmp_path, measurement):
    output = tmp_path / "app.json"

    def run():
        start(output, {"board": 9, "node_ns": 50_000}, "paced", ranks=3)
        return json.loads(output.read_text())

    def check(record):
        ideal = record["answer"]["nodes"] * 50_000e-9 / 2
        # Other programs on the cores make the run longer, never shorter.
        assert ideal <= record["completion_s"] <= 3 * ideal

    measurement(run).holds(check)


def test_one_rank_too_many_ends_at_once_with_a_message(tmp_path):
    done = start(tmp_path / "app.json", {"board": 1}, "paced")
    assert done.returncode != 0
    assert "ranks: found '2 slaves', expected at most 1 slaves" in done.stderr
    assert not (tmp_path / "app.json").exists()
