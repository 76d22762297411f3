"""A complete run: the files on disk afterwards; a second start does nothing."""

from __future__ import annotations

import json

import pytest

from flowsweep.runs import link_balance


@pytest.fixture(scope="module")
def measured(tmp_path_factory, namespaces, measurement):
    """One run directory, shared by all tests of this file."""
    import subprocess

    from .conftest import EXPERIMENT, FLOWSWEEP, LIMIT_S

    def run():
        folder = tmp_path_factory.mktemp("runs")
        experiment = folder / "small.yaml"
        experiment.write_text(EXPERIMENT)
        directory = folder / "runs" / "nqueens-baseline-r1"
        command = [*FLOWSWEEP, "run", str(experiment), "--output", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return experiment, directory, done

    return measurement(run)


@pytest.fixture
def made(measured):
    return measured.value


def test_the_measured_round_trip_time_is_as_asked(measured):
    def check(made):
        record = json.loads((made[1] / "run.json").read_text())
        assert record["axes"]["rtt"]["measured"].endswith("ms")
        assert abs(float(record["axes"]["rtt"]["measured"][:-2]) - 1) <= 0.25

    measured.holds(check)


def test_run_is_valid_or_says_that_the_machine_was_too_busy(made):
    _, directory, _ = made
    record = json.loads((directory / "run.json").read_text())
    # Other programs on the cores may make the emulator late; any other fault is an error.
    if record["status"] == "invalid":
        assert record["reason"].startswith(("emulator late", "idle RTT")), record["reason"]
    else:
        assert record["status"] == "valid", record["reason"]
    assert record["application"]["correct"] is True
    assert record["application"]["answer"]["solutions"] == 724
    assert [host["name"] for host in record["hosts"]] == ["pc1", "pc2", "pc3"]


def test_directory_holds_a_capture_and_a_manifest_of_each_host_and_nothing_else(made):
    _, directory, _ = made
    expected = {"run.json", "app.json"}
    for host in ("pc1", "pc2", "pc3"):
        expected |= {f"{host}.pcap.zst", f"{host}.capture.json"}
    assert {path.name for path in directory.iterdir()} == expected
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_every_frame_is_accounted_for(made):
    _, directory, _ = made
    record = json.loads((directory / "run.json").read_text())
    for host in ("pc1", "pc2", "pc3"):
        manifest = json.loads((directory / f"{host}.capture.json").read_text())
        assert manifest["packets_written"] == sum(record["frames"][host].values())
    for link in link_balance.balances(record["emulator"]):
        assert (link.unexplained, link.in_flight) == (0, 0)


def test_progress_line_counts_runs(made):
    _, _, done = made
    assert done.stdout == ""
    assert " 1/" in done.stderr
    assert " nqueens rtt=1ms rate=100Mbit/s rep=1 " in done.stderr


def test_second_start_does_nothing_and_says_so(made, flowsweep):
    experiment, directory, _ = made
    before = (directory / "run.json").stat()
    done = flowsweep("run", experiment, "--output", directory)
    assert done.returncode == 0
    assert "nothing to do" in done.stderr
    assert (directory / "run.json").stat().st_ino == before.st_ino


def test_a_place_that_cannot_be_written_is_reported_with_the_remedy(experiment, flowsweep):
    done = flowsweep("run", experiment, "--output", "/proc/self/one")
    assert done.returncode == 2
    assert "error: /proc/self/one: cannot be written" in done.stderr
    assert "  remedy " in done.stderr


def test_program_that_fails_is_a_row_with_its_message(experiment, flowsweep, tmp_path):
    experiment.write_text(experiment.read_text().replace("board: 10", "board: 0"))
    done = flowsweep("run", experiment, "--output", tmp_path / "bad")
    assert done.returncode == 1, done.stderr
    record = json.loads((tmp_path / "bad" / "run.json").read_text())
    assert record["status"] == "failed"
    assert record["completion_s"] is None
    assert "board: found 0, expected a whole number from 1 to 16" in record["reason"]


def test_program_that_never_ends_is_ended_at_the_limit(experiment, flowsweep, tmp_path):
    text = experiment.read_text().replace("node_ns: 5000", "node_ns: 900000")
    experiment.write_text(text.replace("timeout: 200s", "timeout: 1s"))
    done = flowsweep("run", experiment, "--output", tmp_path / "long")
    assert done.returncode == 1, done.stderr
    record = json.loads((tmp_path / "long" / "run.json").read_text())
    assert record["status"] == "failed"
    assert "not finished after 1 s" in record["reason"]


def test_app_that_is_not_there_is_an_error_with_a_suggestion(experiment, flowsweep, tmp_path):
    experiment.write_text(experiment.read_text().replace("app: nqueens", "app: nqueen"))
    for words in (["run", "--output", tmp_path / "none"], ["plan"], ["plan", "--format", "json"]):
        done = flowsweep(words[0], experiment, *words[1:])
        assert done.returncode == 2
        assert "write app: nqueens" in done.stderr
    assert not (tmp_path / "none").exists()
