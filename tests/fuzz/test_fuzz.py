"""Each reader keeps its invariant, on inputs from a fixed seed and on all earlier failures."""

from __future__ import annotations

import time
from pathlib import Path

import fuzz
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from invariant import MOST_MEMORY, MOST_S, Fault, hold
from readers import TARGETS, place, renew

from flowsweep.errors import FlowsweepError

REGRESSIONS = sorted(Path(__file__).with_name("regressions").glob("*/*"))
EXAMPLES = 60


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_answers_or_refuses(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    path, output = place(tmp_path / "work", name)

    def one(content: bytes) -> None:
        path.write_bytes(content)
        hold(target.read, path, output, target.commands)
        renew(output)

    for content in target.seeds:
        one(content)
    limits = settings(
        max_examples=EXAMPLES, deadline=None, database=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    seed(48)(limits(given(content=target.inputs())(one)))()


@pytest.mark.parametrize("kept", REGRESSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_failed_once_does_not_fail_again(kept: Path, tmp_path: Path) -> None:
    name = kept.parent.name
    path, output = place(tmp_path / "work", name)
    path.write_bytes(kept.read_bytes())
    hold(TARGETS[name].read, path, output, TARGETS[name].commands)


def refuse(**parts: str) -> None:
    raise FlowsweepError("x.yaml: wrong", **parts)


def take_memory(*_: object) -> None:
    bytearray(b"x") * (MOST_MEMORY + (64 << 20))


def take_time(*_: object) -> None:
    end = time.process_time() + MOST_S + 0.1
    while time.process_time() < end:
        pass


def take_time_once(_: Path, output: Path) -> None:
    """Is slow once, as on a busy machine."""
    if not slept:
        slept.append(output)
        take_time()


slept: list[Path] = []
WHOLE = {"found": "a", "expected": "b", "remedy": "c"}


@pytest.mark.parametrize(
    ("read", "key"),
    [
        (lambda *_: int("x"), "ValueError"),
        (lambda *_: refuse(found="a"), "expected+remedy"),
        (lambda *_: refuse(**WHOLE), "file"),
        (lambda path, _: (path.parent / "y").write_text(""), "writes"),
        (lambda path, _: path.with_suffix(".new").mkdir(), "writes"),
        (take_memory, "memory"),
        (take_time, "slow"),
    ],
)
def test_the_invariant_finds_what_it_looks_for(read, key: str, tmp_path: Path) -> None:
    path, output = place(tmp_path / "work", "experiment")
    path.write_bytes(b"")
    with pytest.raises(Fault) as found:
        hold(read, path, output)
    assert key in found.value.key


def test_a_reader_may_write_into_its_output(tmp_path: Path) -> None:
    path, output = place(tmp_path / "work", "experiment")
    path.write_bytes(b"")
    assert hold(lambda _, folder: (folder / "y").write_text(""), path, output)


def test_a_reader_that_was_slow_once_is_not_slow(tmp_path: Path) -> None:
    path, output = place(tmp_path / "work", "experiment")
    path.write_bytes(b"")
    assert hold(take_time_once, path, output)


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    kept = fuzz.keep(b"x", tmp_path / "not" / "there")
    assert kept.read_bytes() == b"x"
