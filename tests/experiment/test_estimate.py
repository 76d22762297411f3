"""Duration of a sweep: before the first run, during the sweep, and at its end."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from flowsweep import experiment
from flowsweep.experiment import run as run_module
from flowsweep.experiment.estimate import OUTSIDE_S, OVERHEAD_S, estimate
from flowsweep.units import duration

EXPERIMENT = """\
sites: {west: 1, east: 1}
workload: {app: nqueens}
axes: {rtt: [64ms]}
repetitions: 2
warmup: 0
timeout: 10s
"""


@pytest.fixture
def plan(tmp_path):
    def make(text: str = EXPERIMENT):
        (tmp_path / "few.yaml").write_text(text)
        return experiment.load(tmp_path / "few.yaml").plan()

    return make


def finish(run, folder, seconds: float) -> None:
    (folder / run.id).mkdir()
    record = {"spec_hash": run.spec_hash(), "cost_s": {"set_up": 0.5, "program": seconds - 0.5}}
    (folder / run.id / "run.json").write_text(json.dumps(record))


def test_before_the_first_run_the_time_limit_is_all_that_is_known(plan, tmp_path):
    found = estimate(plan(), tmp_path)
    assert (found.total, found.missing, found.unknown) == (6, 6, 6)
    assert found.seconds == 6 * (10 + OVERHEAD_S)
    assert "at most" in str(found)


def test_what_the_file_expects_is_taken_until_there_are_runs(plan, tmp_path):
    found = estimate(plan(EXPERIMENT.replace("nqueens", "nqueens, expect: 3s")), tmp_path)
    assert found.seconds == 6 * (3 + OVERHEAD_S)
    assert str(found) == "6 of 6 runs to be made, about 27 s (as `expect` says)"


def test_a_run_takes_as_long_as_others_of_its_point(plan, tmp_path):
    runs = plan()
    base = [run for run in runs if run.baseline]
    slow = [run for run in runs if not run.baseline]
    finish(base[0], tmp_path, 2.0)
    # The other point is still unknown: estimated by the workload.
    assert estimate(runs, tmp_path).seconds == pytest.approx(5 * (2 + OUTSIDE_S))
    finish(slow[0], tmp_path, 8.0)
    assert estimate(runs, tmp_path).seconds == pytest.approx(3 * 2 + 8 + 4 * OUTSIDE_S)


def test_runs_of_an_older_specification_are_to_be_made_again_but_tell_the_time(plan, tmp_path):
    for run in plan():
        finish(run, tmp_path, 4.0)
    assert str(estimate(plan(), tmp_path)) == "all 6 runs are there"
    changed = plan(EXPERIMENT + "seed: 9\n")
    found = estimate(changed, tmp_path)
    assert (found.missing, found.unknown) == (6, 0)
    assert found.seconds == pytest.approx(6 * (4 + OUTSIDE_S))


def test_what_is_left_between_two_runs_is_what_is_left(plan, tmp_path):
    """A quick reading between runs gives the same, even if the file was edited."""
    for run in plan():
        finish(run, tmp_path, 4.0)
    assert estimate(plan(), tmp_path, quick=True).missing == 0
    changed = plan(EXPERIMENT + "seed: 9\n")
    for count, run in enumerate(changed):
        assert estimate(changed, tmp_path, quick=True).missing == 6 - count
        shutil.rmtree(tmp_path / run.id)
        finish(run, tmp_path, 4.0)
    assert estimate(changed, tmp_path, quick=True).missing == 0
    shutil.rmtree(tmp_path / changed[3].id)
    assert estimate(changed, tmp_path, quick=True).missing == 1


def test_runs_of_an_earlier_program_are_looked_at(plan, tmp_path):
    """An update may plan other runs from the same file."""
    runs = plan()
    for run in runs:
        finish(run, tmp_path, 4.0)
    last = tmp_path / runs[-1].id / "run.json"
    last.write_text(last.read_text().replace(runs[-1].spec_hash(), "0" * 16))
    assert estimate(runs, tmp_path, quick=True).missing == 0  # made since: not read
    earlier = Path(run_module.__file__).stat().st_mtime - 60
    for path in (runs[0].experiment.path, last):
        os.utime(path, (earlier, earlier))
    assert estimate(runs, tmp_path, quick=True).missing == 1


def test_one_run_and_none_are_reported_as_such(plan, tmp_path):
    one = plan()[:1]
    assert str(estimate([], tmp_path)) == "there is no run to be made"
    assert str(estimate(one, tmp_path)).startswith("1 of 1 run to be made, ")
    finish(one[0], tmp_path, 2.0)
    assert str(estimate(one, tmp_path)) == "the only run is there"
    assert str(estimate(plan(), tmp_path)).endswith("(from 1 run)")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (120, "2 min"), (7500, "2 h 5 min")]
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text
