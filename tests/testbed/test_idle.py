"""The idle path after a run: an RTT within the jitter is valid, any longer one is a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from flowsweep import experiment
from flowsweep.testbed import describe
from flowsweep.testbed.machines import idle
from flowsweep.testbed.namespaces import validity

if TYPE_CHECKING:
    from pathlib import Path

    from flowsweep.testbed.spec import Spec

MS = 1_000_000
BED = """\
sites: {west: 1, east: 1}
link: {rtt: 20ms, rate: 100Mbit/s, queue: 125kB}
workload: {app: nqueens}
"""


@pytest.fixture
def spec(tmp_path: Path):
    """Returns the specification of a run of two hosts; `text` is added to the file."""

    def make(text: str) -> Spec:
        (tmp_path / "bed.yaml").write_text(BED + text)
        return describe.spec_of(experiment.load(tmp_path / "bed.yaml").plan()[0])

    return make


def faults(spec: Spec, after_ms: int) -> tuple[list[str], list[str]]:
    """Returns the faults with namespaces, and those with machines whose links are emulated."""
    before, after = 20 * MS, after_ms * MS
    evidence = SimpleNamespace(rtt_before_ns=[before], rtt_after_ns=[after])
    limits = SimpleNamespace(cpu_pressure=None)
    machines = SimpleNamespace(hosts=spec.hosts, link=spec.link, limits=limits)
    pair = (spec.hosts[0].name, spec.hosts[1].name)
    return (
        validity._idle_faults(spec, evidence),
        idle.faults(machines, {}, {pair: before}, {pair: after}, {}),
    )


@pytest.mark.parametrize(
    ("text", "most_ms"),
    [
        ("", 0),
        ("pairs: [{between: [west, east], jitter: 10ms}]\n", 40),
        ("pairs: [{between: [west, east], jitter: 10ms, back: {jitter: 0ms}}]\n", 20),
        ("pairs: [{between: [west, east], back: {jitter: 10ms}}]\n", 20),
    ],
)
def test_jitter_of_either_direction_explains_some_of_a_longer_way(spec, text, most_ms):
    made = spec(text)
    assert faults(made, 20 + most_ms) == ([], [])
    for found in faults(made, 20 + most_ms + 5):
        [fault] = found
        assert "20.00 ms before" in fault


@pytest.mark.parametrize(
    ("before", "after", "when"), [(None, 20 * MS, "before"), (20 * MS, None, "after")]
)
def test_a_path_that_no_probe_crossed_makes_a_run_invalid(spec, before, after, when):
    evidence = SimpleNamespace(rtt_before_ns=[before], rtt_after_ns=[after])
    [fault] = validity._idle_faults(spec(""), evidence)
    assert fault == f"idle path of west and east: no probe came through {when} the run"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.01),  # 125 kB at 100 Mbit/s
        ("pairs: [{between: [west, east], back: {rate: 1Mbit/s}}]\n", 1.0),
        ("schedule: [{at: 1s, rate: 500kbit/s}]\n", 2.0),
    ],
)
def test_a_queue_drains_at_the_slowest_rate_that_a_link_ever_has(spec, text, seconds):
    assert spec(text).longest_drain_s == pytest.approx(seconds)


def test_an_access_line_has_a_queue_too(spec):
    made = spec("").to_json().replace('"uplinks": {}', '"uplinks": {"west": {"rate_bit_s": 1e5, '
        '"queue_bytes": 12500, "links": 1}}')  # fmt: skip
    assert type(spec("")).from_json(made).longest_drain_s == pytest.approx(1.0)


def test_the_longest_round_trip_may_come_later(spec):
    assert spec("schedule: [{at: 1s, rtt: 300ms}]\n").longest_rtt_ns == 300 * MS
