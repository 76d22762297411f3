"""Awari: the databases of one thread, with any optimisation off; timed phases and primitives."""

from __future__ import annotations

import pytest

from .launch import alone, counts_agree

SWITCHES = (
    "tree_synchronisation",
    "autonomous_flush",
    "ring_per_destination",
    "tuned_polling",
    "large_messages",
)
ALL_OFF = dict.fromkeys(SWITCHES, False)
BOARDS = 18_564  # with up to 6 stones


@pytest.mark.parametrize(
    ("problem", "ranks", "compute"),
    [
        ({}, 3, "busy"),
        (ALL_OFF, 4, "paced"),
        ({"tree_synchronisation": False, "barrier_boards": 100}, 2, "paced"),
        ({"autonomous_flush": False, "barrier_boards": 1000}, 5, "paced"),
        ({"ring_per_destination": False, "large_messages": False, "descriptors": 1}, 3, "paced"),
    ],
)
def test_databases_are_those_of_a_sequential_search(tmp_path, problem, ranks, compute):
    given = {"stones": 6, "job_ns": 500, **problem}
    done, record = alone("awari", given, tmp_path, ranks=ranks, compute=compute)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert {name: answer[name] for name in answer["expected"]} == answer["expected"]
    assert answer["won"] + answer["lost"] + answer["drawn"] == BOARDS
    assert record["correct"] is True
    assert counts_agree(record)
    assert {phase["name"] for phase in record["phases"]} == {"init", "busy", "sync"}
    for rank in record["ranks"]:
        assert set(rank["mpi"]) == {"send", "receive", "probe_failed", "probe_found"}
