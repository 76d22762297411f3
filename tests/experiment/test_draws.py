"""Where links drop, delay or duplicate frames randomly, each run draws separately."""

from __future__ import annotations

import pytest

from flowsweep import experiment
from flowsweep.testbed import describe

FILE = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 10ms, LINK}
workload:
  app: nqueens
  problem: {board: 8}
  expect: 2s
  axes: {AXES}
MORE
repetitions: 3
warmup: 0
seed: SEED
"""


@pytest.fixture
def plan(tmp_path):
    def made(link="rate: 100Mbit/s", axes="", more="", seed=7):
        path = tmp_path / "drawn.yaml"
        words = {"LINK": link, "AXES": axes, "MORE": more, "SEED": str(seed)}
        text = FILE
        for word, value in words.items():
            text = text.replace(word, value)
        path.write_text(text)
        return experiment.load(path).plan()

    return made


def test_runs_of_a_point_lose_other_frames(plan):
    """Otherwise they would agree, and an interval over them would be far too narrow."""
    runs = plan(axes="loss: [1%]")
    seeds = [run.spec()["emulator_seed"] for run in runs if run.point.loss]
    assert len(set(seeds)) == len(seeds) == 3
    assert seeds == [describe.spec_of(run).seed for run in runs if run.point.loss]
    again = [run.spec()["emulator_seed"] for run in plan(axes="loss: [1%]") if run.point.loss]
    assert again == seeds
    other = plan(axes="loss: [1%]", seed=8)
    assert not {run.spec()["emulator_seed"] for run in other if run.point.loss} & set(seeds)
    # The runs of one experiment keep the file's seed, which determines the order.
    assert {run.spec()["seed"] for run in runs} == {7}


@pytest.mark.parametrize(
    ("link", "more"),
    [
        ("loss: 0.1%", ""),
        ("jitter: 1ms", ""),
        ("jitter: 10%", ""),
        ("duplicate: 1%", ""),
        ("rate: 1Gbit/s", "pairs: [{between: [west, east], loss: 1%}]"),
        ("rate: 1Gbit/s", "pairs: [{between: [west, east], back: {jitter: 1ms}}]"),
        ("rate: 1Gbit/s", "schedule: [{at: 1s, loss: 1%}]"),
    ],
)
def test_whatever_is_random_is_drawn(plan, link, more):
    assert all("emulator_seed" in run.spec() for run in plan(link, more=more))


def test_runs_without_it_stay_those_that_they_were(plan):
    """Without random impairments a recorded run has no seed of its own, and is not repeated."""
    for run in plan(axes="rtt: [20ms]", more="schedule: [{at: 1s, rate: 1Mbit/s}]"):
        assert "emulator_seed" not in run.spec()
