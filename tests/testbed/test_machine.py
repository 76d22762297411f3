"""A file is fetched from a machine completely or not at all."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.testbed.machines.machine import COPY_TRIES, Machine

CONTENT = b"captured\n" * 1000


def machine(folder: Path, damage: str) -> Machine:
    """Returns a machine that is a shell here; `damage` filters its output."""

    def words(_machine: Any, command: str) -> list[str]:
        return ["sh", "-c", f"echo >>{folder}/tries; {{ {command}; }} | {damage}"]

    reach = SimpleNamespace(words=words, remedy=lambda _machine: "look there", expected="")
    spec = SimpleNamespace(name="pc1", login="n1", address="10.0.0.1", folder=folder)
    (folder / "pc1").mkdir()
    (folder / "pc1" / "pc1.pcap.zst").write_bytes(CONTENT)
    return Machine(spec, reach)  # type: ignore[arg-type]


def test_a_copy_that_came_over_damaged_is_made_again(tmp_path: Path) -> None:
    # The first copy is truncated, as by a connection that ends early without an error.
    damage = f"if [ $(wc -l <{tmp_path}/tries) = 1 ]; then head -c 5000; else cat; fi"
    there = machine(tmp_path, damage)
    assert there.fetch("pc1.pcap.zst", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT
    assert (tmp_path / "tries").read_text() == "\n\n"


def test_one_that_always_does_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    there = machine(tmp_path, "head -c 5000")
    with pytest.raises(FlowsweepError) as caught:
        there.fetch("pc1.pcap.zst", tmp_path / "copy")
    assert f"pc1.pcap.zst came over damaged, {COPY_TRIES} times" in str(caught.value)
    assert "of 9,000 bytes, another SHA-256" in str(caught.value)
    assert (tmp_path / "tries").read_text() == "\n" * COPY_TRIES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pc1", "tries"]


def test_one_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    there = machine(tmp_path, "cat")
    assert not there.fetch("app.json", tmp_path / "app.json")
    assert not (tmp_path / "app.json").exists()
