"""The emulator's counters account for all frames: one rule for runs and reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flowsweep.runs import link_balance
from flowsweep.testbed import netem

README = Path(__file__).parents[2] / "capture" / "emulator" / "README.md"
LINK = {"from": "west", "to": "east", "received": 100, "delivered": 100, "in_flight": 0}


def causes() -> list[str]:
    """Returns the kinds of drops that flowsweep-wan documents."""
    found = re.findall(r"dropped_[a-z]+", README.read_text(encoding="utf-8"))
    return sorted(set(found))


def test_the_emulator_documents_seven_causes() -> None:
    assert len(causes()) == 7


@pytest.mark.parametrize("cause", [*causes(), "dropped_by_a_cause_to_come"])
def test_a_drop_of_every_cause_is_explained(cause: str) -> None:
    link = LINK | {"delivered": 93, cause: 7, f"{cause}_bytes": 9_000}
    (balance,) = link_balance.balances({"links": [link]})
    assert (balance.dropped, balance.unexplained) == (7, 0)


def test_duplicates_add_frames_and_those_on_their_way_are_not_lost() -> None:
    link = LINK | {"duplicated": 5, "delivered": 102, "in_flight": 3}
    (balance,) = link_balance.balances({"links": [link]})
    assert balance.unexplained == 0


def test_what_no_counter_tells_is_unexplained() -> None:
    (balance,) = link_balance.balances({"links": [LINK | {"delivered": 96, "dropped_loss": 1}]})
    assert balance.unexplained == 3


def test_netem_counts_by_the_same_names() -> None:
    queue = {"packets": 90, "drops": 7, "qlen": 3}
    delay = {"packets": 88, "drops": 4, "qlen": 1}
    record = netem.link_record("west", "east", queue, delay)
    (balance,) = link_balance.balances({"links": [record]})
    assert (balance.received, balance.duplicated, balance.dropped) == (100, 3, 11)
    assert balance.unexplained == 0


def test_a_port_that_lost_frames_before_the_emulator_is_known() -> None:
    ports = [{"name": "west", "kernel_dropped": 4}, {"name": "east", "kernel_dropped": 0}]
    back = LINK | {"from": "east", "to": "west"}
    balances = link_balance.balances({"links": [LINK, back], "ports": ports})
    assert [balance.dropped_before for balance in balances] == [4, 0]


@pytest.mark.parametrize("emulator", [None, [], {}, {"links": None}, {"links": [3, {"from": "a"}]}])
def test_what_is_no_record_of_an_emulator_has_no_balance(emulator: object) -> None:
    text = json.dumps({"emulator": emulator})
    assert link_balance.rows([("r", text), ("s", None)]) == []
