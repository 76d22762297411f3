"""Impossible parameters: every application refuses them at once, with a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .launch import LIMIT_S, WORKLOADS, alone, captured

PARAMETERS = {
    "nqueens": "board split node_ns",
    "jigsaw": "side colours seed node_ns slice_ms",
    "ssor": "side iterations seed point_ns",
    "lu": "rows block seed flop_ns",
    "taskgraph": "graph tasks reach seed least_bytes most_bytes memory_mb unit_ms unit_rounds",
    "modelcheck": "floors persons controller batch_bytes flush_rate_limit state_ns",
    "awari": "stones job_ns barrier_boards descriptors tree_synchronisation autonomous_flush "
    "ring_per_destination tuned_polling large_messages",
    "video": "format shrink frames fps readers filters spare filter_ns compress_ns quality folder",
    "supernova": "pairs side spread servers pixel_ns seed",
    "pingpong": "message_bytes repetitions warmup",
    "bulk": "transport source target both_ways beside megabytes start_mbit_s least_mbit_s "
    "most_mbit_s seed folder files",
}
# As JSON: Python's reader also knows NaN and numbers too large for a float.
VALUES = ("0", "-1", "-5.5", "0.5", '"abc"', '""', "true", "[]", '[1, "x"]', "{}", "1e400", "NaN",
          "1000000000000000000000")  # fmt: skip
SWITCHES = "tree_synchronisation autonomous_flush ring_per_destination tuned_polling large_messages"
# Values that these parameters accept.
POSSIBLE = {
    "0": "jigsaw.seed ssor.seed lu.seed taskgraph.seed supernova.seed bulk.seed "
    "modelcheck.flush_rate_limit video.spare video.filter_ns video.compress_ns supernova.spread "
    "supernova.pixel_ns pingpong.message_bytes pingpong.warmup",
    "0.5": "nqueens.node_ns jigsaw.slice_ms lu.flop_ns taskgraph.unit_ms "
    "modelcheck.flush_rate_limit video.fps video.filter_ns video.compress_ns supernova.spread "
    "supernova.pixel_ns bulk.megabytes bulk.start_mbit_s bulk.least_mbit_s",
    "true": " ".join(f"awari.{name}" for name in SWITCHES.split()) + " bulk.both_ways",
    # The rank that reads frames finds later that the folder is missing: below.
    '"abc"': "video.folder",
}

# Collects, in one process, the errors that a rank reports before it would meet the others.
ASKED = """
import importlib, json, os, sys
from pathlib import Path
folder, cases = Path(sys.argv[1]), json.load(sys.stdin)
sys.path.insert(0, str(folder))
import channels, common, mpi

class Met(Exception):
    pass

def meet(*_, **__):
    raise Met

mpi.Ranks.__init__ = channels.Ranks.__init__ = meet
said = []
for app, problem, ranks in cases:
    os.environ["OMPI_COMM_WORLD_SIZE"] = str(ranks)
    sys.path.insert(0, str(folder / app))
    module = importlib.import_module(app)
    if app == "taskgraph":
        module.node.start = meet
    try:
        module.main(json.loads(problem), "paced", Path("nowhere"))
    except common.BadProblemError as error:
        said.append(str(error))
    except Met:
        said.append(None)
print(json.dumps(said))
"""


def ask(cases: list[tuple[str, str, int]]) -> list[str | None]:
    """Returns rank 1's error for each (application, problem, ranks); None if it starts."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED, WORKLOADS],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**os.environ, "OMPI_COMM_WORLD_RANK": "1"},
    )
    assert done.returncode == 0, done.stderr
    messages: list[str | None] = json.loads(done.stdout)
    return messages


def test_every_parameter_refuses_what_it_cannot_be():
    cases = [
        (app, name, value)
        for app, names in PARAMETERS.items()
        for name in names.split()
        for value in VALUES
    ]
    messages = ask([(app, f'{{"{name}": {value}}}', 4) for app, name, value in cases])
    possible = {
        (*place.split("."), value) for value, places in POSSIBLE.items() for place in places.split()
    }
    assert {case for case, words in zip(cases, messages, strict=True) if words is None} == possible
    for (app, name, value), words in zip(cases, messages, strict=True):
        assert words is None or words.startswith(f"problem: {name}: found "), (app, value, words)
        assert words is None or "expected" in words


def test_what_is_no_parameter_is_reported_with_those_that_are():
    messages = ask([(app, '{"nonsense": 1}', 4) for app in PARAMETERS])
    for words, names in zip(messages, PARAMETERS.values(), strict=True):
        assert words is not None
        assert words.startswith("problem: nonsense: found 1, expected one of ")
        assert set(words.partition("one of ")[2].split(", ")) == set(names.split())


def test_parameters_of_the_readmes_are_those_that_there_are():
    for app, names in PARAMETERS.items():
        text = (WORKLOADS / app / "README.md").read_text()
        documented = {
            name
            for line in text.splitlines()
            if line.startswith("| `")
            for name in line.split("|")[1].replace("`", "").replace(",", " ").split()
        }
        assert documented == set(names.split()), app


# Faults that depend on the ranks, on files, or on another parameter. The first one of each
# application is also tried with all its ranks.
FAULTS: list[tuple[str, dict[str, Any], int, str]] = [
    ("nqueens", {"board": 4, "split": 1}, 6, "ranks: found '5 slaves', expected at most 4"),
    ("jigsaw", {"side": 1}, 6, "ranks: found '5 slaves', expected a master and 1 to 4 slaves"),
    ("ssor", {}, 1, "ranks: found 1, expected 2 or more, and 2 points for each"),
    ("lu", {"rows": 64, "block": 32}, 3, "ranks: found 3, expected 2 or more, and a block for"),
    ("taskgraph", {"tasks": 1}, 3, "ranks: found '2 workers', expected a master and 1 to 1"),
    ("taskgraph", {"graph": "none.stg"}, 2, "expected a readable .stg file (FileNotFoundError)"),
    ("modelcheck", {}, 1, "ranks: found 1, expected at least 2"),
    ("awari", {}, 1, "ranks: found 1, expected at least 2"),
    ("pingpong", {}, 1, "ranks: found 1, expected at least 2"),
    ("video", {"readers": 2}, 4, "ranks: found 4, expected 2 readers, 1 filters"),
    ("video", {"frames": 3}, 4, "frames: found 3, expected one for each of 4 ranks"),
    ("supernova", {"pairs": 1}, 4, "ranks: found '2 workers', expected at most 1 workers"),
    ("bulk", {}, 3, "ranks: found 3, expected an even number: senders and receivers"),
    ("bulk", {"files": 7}, 2, "files: found 7, expected a number that divides the 32000000 bytes"),
    (
        "bulk",
        {"files": 226, "both_ways": True},
        2,
        "files: found 226, expected a whole number from",
    ),
    ("bulk", {"folder": "/nowhere"}, 2, "folder: found '/nowhere', expected a folder"),
    ("nqueens", {"board": 17}, 3, "board: found 17, expected a whole number from 1 to 16"),
    ("nqueens", {"board": 3, "split": 4}, 3, "split: found 4, expected a whole number from 1 to 3"),
    ("lu", {"rows": 64, "block": 65}, 3, "block: found 65, expected a whole number from 1 to 64"),
    ("taskgraph", {"most_bytes": 50, "least_bytes": 51}, 3, "least_bytes: found 51, expected"),
    ("modelcheck", {"persons": 7}, 2, "persons: found 7, expected a whole number from 1 to 6"),
    ("modelcheck", {"batch_bytes": 8}, 2, "batch_bytes: found 8"),
    ("modelcheck", {"controller": "mad"}, 2, "expected one of clever, naive"),
    ("awari", {"stones": 16}, 2, "stones: found 16, expected a whole number from 1 to 15"),
    ("video", {"format": "8K"}, 4, "format: found '8K', expected one of 4K, 2K, 1K"),
    ("supernova", {"side": 63}, 3, "side: found 63, expected a whole number from 64"),
    ("supernova", {"servers": 2}, 3, "expected a master, 2 servers and at least 1 worker"),
    ("pingpong", {"message_bytes": [4, -1]}, 2, "message_bytes: found -1"),
    ("bulk", {"least_mbit_s": 21}, 2, "least_mbit_s: found 21, expected a number from 0.001 to 20"),
    ("bulk", {"most_mbit_s": 19}, 2, "most_mbit_s: found 19, expected a number from 20 to"),
    ("bulk", {"transport": "carrier pigeon"}, 2, "expected one of lambda, tcp, udp"),
]


def test_ranks_and_files_are_checked_before_any_rank_waits():
    messages = ask([(app, json.dumps(problem), ranks) for app, problem, ranks, _ in FAULTS])
    for words, (*case, message) in zip(messages, FAULTS, strict=True):
        assert message in str(words), case


@pytest.mark.parametrize("app", PARAMETERS)
def test_all_ranks_end_at_once_and_leave_no_record(tmp_path, app):
    problem, ranks, message = next(fault[1:] for fault in FAULTS if fault[0] == app)
    begin = time.monotonic()
    done, record = alone(app, problem, tmp_path, ranks=ranks)
    # 1 s on an idle machine, most of it mpirun's; a rank that waited would never end.
    assert time.monotonic() - begin < LIMIT_S / 2
    assert done.returncode != 0
    assert record is None
    assert message in done.stderr


def test_a_rank_that_alone_finds_a_fault_ends_the_others_and_the_run_says_why(
    namespaces, tmp_path: Path
):
    """The reader finds that the folder has no frames while the other ranks wait for it."""
    run = captured("video", {"folder": "/nowhere"}, tmp_path)
    assert run.record["status"] == "failed"
    assert run.record["completion_s"] is None
    assert run.record["application"] is None
    found = "folder: found 'frame-00000.rgb48: missing', expected a frame of 777600 bytes (rank 0)"
    assert found in run.record["reason"]
    assert "not finished" not in run.record["reason"]
