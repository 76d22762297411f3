"""Messages from headers, tested with senders that log their writes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hosts import Hosts
from sender import FULL, PHASES, PORTS

import flowsweep

NAMES = ("turns", "ping-pong-think", "one-way", "one-write", "equal-turns")


@pytest.fixture(scope="module")
def messages(namespaces: None, tmp_path_factory: pytest.TempPathFactory, measurement: type) -> Any:
    """For every phase the sender's report, and its messages forward and backward.

    If the sender is descheduled for long in the middle of a message, it looks like two.
    """

    def measure() -> dict:
        hosts = Hosts(tmp_path_factory.mktemp("messages"))
        try:
            reports, file = hosts.measure("messages", NAMES, 0, delay_ns=2_000_000)
        finally:
            hosts.close()
        return {
            name: (report, *_both(file, name)) for name, report in zip(NAMES, reports, strict=True)
        }

    return measurement(measure)


def _both(file: Path, name: str) -> list[pl.DataFrame]:
    flows = pl.DataFrame(flowsweep.read_flows(file)).filter(pl.col("dst_port") == PORTS[name])
    messages = pl.DataFrame(flowsweep.read_messages(file))
    own = messages.filter(pl.col("connection") == flows["connection"][0])
    return [own.filter(pl.col("direction") == direction) for direction in ("forward", "backward")]


@pytest.mark.parametrize("name", ["turns", "equal-turns", "ping-pong-think"])
def test_requests_and_answers_are_counted_exactly(messages: Any, name: str) -> None:
    def check(found: dict) -> None:
        report, forward, backward = found[name]
        assert forward["bytes"].to_list() == report["sent"]
        assert backward["bytes"].to_list() == report["answered"]
        # No turn follows the last message.
        reasons = forward["evidence"].to_list()
        assert all("turn" in reason for reason in reasons[:-1]), reasons

    messages.holds(check)


def test_writes_with_pauses_between_are_counted_exactly(messages: Any) -> None:
    def check(found: dict) -> None:
        report, forward, backward = found["one-way"]
        assert forward["bytes"].to_list() == report["sent"]
        assert backward.is_empty()
        pauses = forward["gap_before_ns"].to_list()
        assert pauses[0] is None
        asked = [after - before for before, after in itertools.pairwise(report["begun"])]
        assert min(asked) >= 0.99e9 * PHASES["one-way"].pause
        both = list(zip(pauses[1:], asked, strict=True))
        assert all(abs(pause - asked) < 50e6 for pause, asked in both), both
        for size, reason in zip(report["sent"][:-1], forward["evidence"], strict=False):
            assert ("short" in reason) == (size % FULL != 0), (size, reason)
            assert "pause" in reason

    messages.holds(check)


def test_one_large_write_is_few_messages(messages: Any) -> None:
    def check(found: dict) -> None:
        report, forward, _ = found["one-write"]
        assert forward["bytes"].sum() == sum(report["sent"]) == sum(PHASES["one-write"].writes)
        # A late wake-up of the writer looks like a pause.
        assert len(forward) <= 4, forward

    messages.holds(check)
