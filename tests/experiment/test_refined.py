"""Points that refinement adds to a sweep are ordinary runs of its plan."""

from __future__ import annotations

import json

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import refined

SWEEP = """\
sites: {west: [a], east: [b]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {app: nqueens, problem: {board: 9}}
axes: {rtt: [4ms, 16ms]}
repetitions: 2
warmup: 0
refine: 2
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def keep(runs, number, *settings):
    refined.keep(runs, number, [refined.Point(settings=one) for one in settings])


def test_a_refined_point_is_planned_behind_the_sweep(file, runs):
    before = experiment.load(file, runs).plan()
    keep(runs, 1, {"rtt": "8ms"}, {"rtt": "6ms"})
    keep(runs, 2, {"rtt": "7ms"})
    plan = experiment.load(file, runs).plan()
    assert [run.id for run in plan[: len(before)]] == [run.id for run in before]
    further = plan[len(before) :]
    assert {(run.id, run.block, run.repetition) for run in further} == {
        ("nqueens-rtt_8ms-r1", 3, 1), ("nqueens-rtt_6ms-r1", 3, 1),
        ("nqueens-rtt_8ms-r2", 4, 2), ("nqueens-rtt_6ms-r2", 4, 2),
        ("nqueens-rtt_7ms-r1", 5, 1), ("nqueens-rtt_7ms-r2", 6, 2),
        # The sweep has two runs at the baseline in each block.
        ("nqueens-baseline-r5", 3, 5), ("nqueens-baseline-r6", 4, 6),
        ("nqueens-baseline-r7", 5, 7), ("nqueens-baseline-r8", 6, 8),
    }  # fmt: skip
    assert [run.block for run in further] == [3, 3, 3, 4, 4, 4, 5, 5, 6, 6]
    assert all(run.baseline == ("baseline" in run.id) for run in further)
    run = experiment.load(file, runs).find_run("nqueens-rtt_8ms-r2")
    assert (run.point.rtt_ns, run.baseline, run.spec()["seed"]) == (8_000_000, False, 1)
    # The seed determines the order.
    assert [one.id for one in experiment.load(file, runs).plan()] == [one.id for one in plan]


def test_a_refined_point_of_another_problem_has_the_baseline_of_that_problem(file, runs):
    file.write_text(SWEEP.replace("{rtt: [4ms, 16ms]}", "{rtt: [4ms], problem: [{board: 8}]}"))
    before = {run.id for run in experiment.load(file, runs).plan()}
    keep(runs, 1, {"rtt": "8ms", "problem.board": "8"})
    plan = experiment.load(file, runs).plan()
    further = [run for run in plan if run.id not in before]
    assert {run.id: run.baseline for run in further} == {
        "nqueens-board_8-rtt_8ms-r1": False, "nqueens-board_8-rtt_8ms-r2": False,
        "nqueens-board_8-r3": True, "nqueens-board_8-r4": True,
    }  # fmt: skip


def test_the_same_point_is_the_same_run_once_the_file_names_it(file, runs):
    keep(runs, 1, {"rtt": "8ms"})
    kept = experiment.load(file, runs).find_run("nqueens-rtt_8ms-r1").spec_hash()
    file.write_text(SWEEP.replace("4ms,", "4ms, 8ms,"))
    plan = experiment.load(file, runs).plan()
    assert len({run.id for run in plan}) == len(plan)
    assert experiment.load(file, runs).find_run("nqueens-rtt_8ms-r1").spec_hash() == kept


def test_passes_that_are_not_asked_for_are_not_planned(file, runs):
    keep(runs, 1, {"rtt": "8ms"})
    without = len(experiment.load(file).plan())
    file.write_text(SWEEP.replace("refine: 2", "refine: 0"))
    assert len(experiment.load(file, runs).plan()) == without


def test_a_pass_is_chosen_once(file, runs):
    keep(runs, 1, {"rtt": "8ms"})
    keep(runs, 1, {"rtt": "9ms"})
    assert experiment.load(file, runs).refined[0][0].settings == {"rtt": "8ms"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"points": 3}', '{"points": [{"set": {}}]}', '{"points": [{"set": 1}]}',
             '{"points": [{"set": {"rtt": "8ms"}, "x": 1}]}', "{}"]
)  # fmt: skip
def test_a_damaged_pass_is_reported(file, runs, text):
    path = refined.path(runs, 1)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(FlowsweepError) as caught:
        experiment.load(file, runs)
    assert str(path) in str(caught.value)


def test_a_pass_at_an_impossible_point_is_reported(file, runs):
    keep(runs, 1, {"rtt": "-8ms"})
    with pytest.raises(FlowsweepError, match="rtt"):
        experiment.load(file, runs).plan()


def test_points_of_a_workload_that_is_gone_are_left_out(file, runs):
    keep(runs, 1, {"workload": "lu", "rtt": "8ms"}, {"rtt": "9ms"})
    ids = {run.id for run in experiment.load(file, runs).plan()}
    assert "nqueens-rtt_9ms-r1" in ids
    assert not any("8ms" in one for one in ids)


def test_the_command_lists_keeps_and_never_repeats(file, tmp_path, command):
    """With generated records: 4 ms is below 10 %, 16 ms above."""
    results = tmp_path / "results"
    for asked, seconds in (("1ms", 10.0), ("4ms", 10.4), ("16ms", 12.0)):
        for number in (1, 2):
            name = f"nqueens-{'baseline' if asked == '1ms' else f'rtt_{asked}'}-r{number}"
            folder = results / "runs" / name
            folder.mkdir(parents=True)
            record = {
                "app": "nqueens", "problem": {"board": 9}, "baseline": asked == "1ms",
                "axes": {"rtt": {"asked": asked, "measured": asked}, "rate": "100Mbit/s"},
                "completion_s": seconds * (1 + 0.001 * number), "status": "valid",
            }  # fmt: skip
            (folder / "run.json").write_text(json.dumps(record))
    (results / "experiment.yaml").write_text(SWEEP)
    shown = command("flowsweep", "plan", "--refine", results)
    assert shown.returncode == 0, shown.stderr
    assert "rtt=8ms" in shown.stdout
    assert "4ms to 16ms" in shown.stdout
    assert "rtt: [4ms, 8ms, 16ms]" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    rows = json.loads(command("flowsweep", "plan", "--refine", results, "--format", "json").stdout)
    assert [row["set"] for row in rows] == [{"workload": "nqueens", "rtt": "8ms"}]
    assert (rows[0]["factor"], rows[0]["factor_after"]) == (4, 2)
    kept = command("flowsweep", "plan", "--refine", results, "--keep", "1")
    assert kept.returncode == 0, kept.stderr
    assert (results / "runs/.refined/1.json").is_file()
    ids = command("flowsweep", "plan", results / "experiment.yaml", "-o", results / "runs")
    assert ids.returncode == 0, ids.stderr


@pytest.mark.parametrize(
    ("axis", "tried", "text"),
    [
        ("loss", {"0%": 10.0, "0.1%": 10.3, "1%": 14.0}, "loss=0.316%"),
        ("jitter", {"0ms": 10.0, "1ms": 10.3, "9ms": 14.0}, "jitter=3ms"),
        ("queue", {"64kB": 10.0, "16kB": 10.3, "4kB": 14.0}, "queue=8kB"),
        ("buffer", {"64KiB": 10.0, "16KiB": 10.3, "4KiB": 14.0}, "buffer=8.19kB"),
        ("rate", {"100Mbit/s": 10.0, "40Mbit/s": 10.3, "10Mbit/s": 14.0}, "rate=20Mbit/s"),
    ],
)
def test_every_axis_with_a_mild_end_is_refined(tmp_path, command, axis, tried, text):
    results = tmp_path / "results"
    for place, (asked, seconds) in enumerate(tried.items()):
        for number in range(3):
            folder = results / "runs" / f"{place}-{number}"
            folder.mkdir(parents=True)
            axes = {"rtt": "1ms", "rate": "100Mbit/s", "queue": "64kB", axis: asked}
            record = {
                "app": "a", "axes": axes, "baseline": place == 0, "status": "valid",
                "completion_s": seconds * (1 + 0.001 * number),
            }  # fmt: skip
            (folder / "run.json").write_text(json.dumps(record))
    done = command("flowsweep", "plan", "--refine", results)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout, done.stdout


def test_the_limit_of_a_rate_is_a_share_of_its_baseline(tmp_path, command):
    results = tmp_path / "results"
    for asked, value in (("1ms", 1000.0), ("4ms", 980.0), ("16ms", 800.0)):
        for number in range(3):
            folder = results / "runs" / f"{asked}-{number}"
            folder.mkdir(parents=True)
            outcome = {"name": "tps", "unit": "1/s", "better": "more", "value": value + number}
            record = {
                "app": "a", "axes": {"rtt": asked, "rate": "100Mbit/s"}, "baseline": asked == "1ms",
                "status": "valid", "outcomes": [outcome],
            }  # fmt: skip
            (folder / "run.json").write_text(json.dumps(record))
    lines = command("flowsweep", "plan", "--refine", results).stdout.splitlines()
    assert "rtt=8ms  91 %" in lines[1]
    assert lines[2] == "a rtt 67 %: it was not reached: only a harder point could show where"


def test_keep_and_yaml_are_of_refine(file, command):
    for words in (("--keep", "1"), ("--format", "yaml")):
        done = command("flowsweep", "plan", file, *words)
        assert done.returncode == 2
        assert "--refine" in done.stderr
    assert command("flowsweep", "plan").returncode == 2
    assert command("flowsweep", "plan", "--refine", file.parent, "--keep", "9").returncode == 2
