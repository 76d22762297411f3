"""Experiment files: accepted ones, refused ones and their errors, and the resulting plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import describe, workloads

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "workflows/experiments/demo.yaml"


@pytest.fixture
def changed(tmp_path):
    def write(old: str, new: str) -> Path:
        text = DEMO.read_text()
        assert old in text
        path = tmp_path / "changed.yaml"
        path.write_text(text.replace(old, new, 1))
        return path

    return write


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("old", "new", "marker", "parts"),
    [
        ("repetitions:", "repetions:", "repetions", ["unknown key", 'write "repetitions"']),
        ("  rate: 200", "  bandwidth: 200", "bandwidth", ["unknown key", 'write "rate"']),
        ("[100Mbit/s, ", "[100Mbps, ", "Mbps", ["axes.rate[0]", 'write "100Mbit/s"']),
        ("200Mbit/s", "200Mbit", "200Mbit", ["link.rate", 'write "200Mbit/s"']),
        ("  app:", "  apps:", "apps:", ["workload.apps", 'write "app"']),
        ("rtt: 0.3ms", "rtt: 0.3Mbit/s", "0.3Mbit", ["link.rtt", "not a unit of a time"]),
        ("rate: 200Mbit/s", "rate: 0Gbit/s", "0Gbit", ["link.rate", "more than 0"]),
        ("rate: 200Mbit/s", "rate: 1000", "1000", ["link.rate", "has no unit"]),
        (
            "[pc3, pc4]",
            "[pc3, pc1]",
            "[pc3, pc1]",
            ['host "pc1" is named twice', "west and in east"],
        ),
        ("16ms, ", "16, ", "16, ", ["axes.rtt[1]", "has no unit"]),
        ("16ms, ", "4ms, ", "4ms, 4ms", ["axes.rtt", "listed twice"]),
        ("seed: 2006", "seed: 1\nseed: 2", "seed: 2", ['"seed" stands twice']),
        ("repetitions: 3", "repetitions: 0", "repetitions: 0", ["greater than or equal to 1"]),
        ("[pc1, pc2]", "[pc1, wan]", "wan]", ['"wan" cannot be the name']),
        (
            "  expect: 3s",
            "  where: frist",
            "frist",
            ["workload.where", '"frist"', "hosts, first, hub, mpi, or a list of hosts"],
        ),
        ("  expect: 3s", "  where: [pc1, pc9]", "pc9", ['no host is called "pc9"', "pc1, pc2"]),
        ("seed: 2006", "papers: [evl, kitatsuj]", "kitatsuj", ['"kitatsuj"', "evl, kitatsuji,"]),
        (
            "  expect: 3s",
            "  serve: {command: x, hosts: [pc9]}",
            "pc9",
            ['no host is called "pc9"'],
        ),
        ("  expect: 3s", "  serve: {command: x, hosts: []}", "hosts: []", ["workload.serve.hosts"]),
        (
            "  expect: 3s",
            "  serve: {command: x, hosts: [pc1], prot: 80}",
            "prot",
            ["unknown key", 'write "port"'],
        ),
        (
            "  expect: 3s",
            "  serve: {command: x, hosts: [pc4]}\n  axes: {hosts: [1]}",
            "pc4]}",
            ['host "pc4" takes no part in every run', "pc1, pc3, which do"],
        ),
    ],
)
def test_a_fault_is_named_with_its_line_and_the_remedy(changed, old, new, marker, parts):
    path = changed(old, new)
    with pytest.raises(FlowsweepError) as caught:
        experiment.load(path)
    message = str(caught.value)
    assert f"{path}, line {line_of(path, marker)}" in message
    for part in [*parts, "remedy"]:
        assert part in message


@pytest.mark.parametrize("text", ["a: [", "\t- x: 1", "- 1", "just words", "sites:\n  a: 1"])
def test_what_is_not_an_experiment_is_refused_with_a_line(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(FlowsweepError, match="line"):
        experiment.load(path)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(FlowsweepError, match="not text"):
        experiment.load(path)


def test_every_experiment_in_the_repository_loads():
    files = list((ROOT / "workflows/experiments").glob("*.yaml"))
    assert files
    for path in files:
        assert experiment.load(path).plan()


def test_the_schema_for_editors_is_the_one_of_the_models():
    kept = json.loads((ROOT / "workflows/experiment.schema.json").read_text())
    assert kept == experiment.Experiment.model_json_schema(by_alias=True), (
        "run: flowsweep plan x --format schema > workflows/experiment.schema.json"
    )


def test_a_host_that_a_setting_leaves_out_serves_nothing(changed):
    path = changed("  expect: 3s", "  serve: {command: x, hosts: [pc4], port: 80}")
    run = experiment.load(path).run_at({"hosts": "1"})
    with pytest.raises(FlowsweepError, match="host pc4 takes no part in nqueens-hosts_1-r1"):
        workloads.find(run.workload).on(describe.spec_of(run), run, Path("app.json"))


def test_servers_decide_the_outcome_and_runs_without_stay_what_they_were(changed):
    plain = experiment.load(DEMO).run_at({})
    assert "serve" not in plain.spec()
    one = changed("  expect: 3s", "  serve: {command: x, hosts: [pc4], port: 80}")
    other = one.with_name("other.yaml")
    other.write_text(one.read_text().replace("80}", "81}"))
    hashes = {experiment.load(path).run_at({}).spec_hash() for path in (DEMO, one, other)}
    assert len(hashes) == 3


def test_a_block_holds_every_point_once_between_two_baselines():
    loaded = experiment.load(DEMO)
    runs = loaded.plan()
    ids = [run.id for run in runs]
    assert len(set(ids)) == len(ids)
    assert [run.warmup for run in runs].count(True) == loaded.warmup
    for block in range(1, loaded.repetitions + 1):
        inside = [run for run in runs if run.block == block]
        assert inside[0].baseline
        assert inside[-1].baseline
        middle = [run.point for run in inside[1:-1]]
        assert len(middle) == len(set(middle)) == 8


def test_the_order_is_random_but_the_same_for_the_same_seed(changed):
    first = [run.id for run in experiment.load(DEMO).plan()]
    again = [run.id for run in experiment.load(DEMO).plan()]
    other = [run.id for run in experiment.load(changed("seed: 2006", "seed: 7")).plan()]
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


def test_a_grid_has_every_combination(changed):
    path = changed("repetitions: 3", "design: grid\nrepetitions: 1")
    runs = experiment.load(path).plan()
    # 5 RTTs x 5 rates with the baseline twice, and one warm-up.
    assert len(runs) == 25 + 1 + 1
    assert "nqueens-rtt_16ms-rate_50Mbit-r1" in [run.id for run in runs]


def test_a_point_more_does_not_change_the_runs_that_were_there(changed):
    before = {run.id: run.spec_hash() for run in experiment.load(DEMO).plan()}
    path = changed("16ms, ", "8ms, 16ms, ")
    path = path.rename(path.with_name("demo.yaml"))
    after = {run.id: run.spec_hash() for run in experiment.load(path).plan()}
    assert before.items() <= after.items()


def test_one_point_can_be_set(changed):
    run = experiment.load(DEMO).run_at({"rtt": "16ms", "rate": "10Mbit/s"})
    assert (run.point.rtt_ns, run.point.rate_bit_s) == (16_000_000, 1e7)
    with pytest.raises(FlowsweepError, match="did you mean --set rtt"):
        experiment.load(DEMO).run_at({"rt": "16ms"})


def test_a_folder_with_runs_beside_it_is_a_captured_experiment(tmp_path):
    folder = tmp_path / "mine"
    (folder / "runs").mkdir(parents=True)
    (folder / "experiment.yaml").write_text("title: from tcpdump\n")
    loaded = experiment.load(folder / "experiment.yaml")
    assert loaded.name == "mine"
    assert loaded.captured is not None
    assert loaded.plan() == []


def test_of_a_captured_experiment_the_application_may_be_called_as_it_likes(tmp_path, command):
    (tmp_path / "mine/runs").mkdir(parents=True)
    path = tmp_path / "mine/experiment.yaml"
    path.write_text("workload: {app: of_my_own}\n")
    done = command("flowsweep", "plan", path)
    assert done.returncode == 0, done.stderr
    assert "nothing is run" in done.stdout
