"""Outcomes that a command prints: read from its output, or a reason why the run failed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import printed

EXPERIMENT = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 10ms, rate: 100Mbit/s}
workload:
  command: COMMAND
  where: WHERE
  outcomes: OUTCOMES
repetitions: 1
warmup: 0
timeout: 200s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""
TPS = {"pattern": "tps = ([0-9.]+)", "unit": "1/s", "better": "more"}
LATENCY = {"pattern": "latency average = ([0-9.]+) ms", "unit": "ms", "better": "less"}


@pytest.fixture
def make(tmp_path, namespaces, flowsweep):
    def run(command: str, outcomes: dict[str, Any], where: str = "first") -> dict[str, Any]:
        text = EXPERIMENT.replace("COMMAND", json.dumps(command)).replace("WHERE", where)
        (tmp_path / "own.yaml").write_text(text.replace("OUTCOMES", json.dumps(outcomes)))
        flowsweep("run", tmp_path / "own.yaml", "-o", tmp_path / "run")
        return json.loads((tmp_path / "run" / "run.json").read_text())

    return run


def test_what_a_command_prints_is_an_outcome_and_its_time_is_none(make):
    command = """echo 'latency average = 12.5 ms'; echo 'tps = 80.1 (without)'
        echo '{"outcomes": [{"name": "errors", "better": "less", "value": 0}]}' > $FLOWSWEEP_OUTPUT
    """
    record = make(command, {"tps": TPS, "latency": LATENCY})
    assert record["status"] == "valid", record["reason"]
    assert record["completion_s"] is None
    assert {one["name"]: one["value"] for one in record["outcomes"]} == {
        "errors": 0,
        "tps": 80.1,
        "latency": 12.5,
    }


def test_its_time_counts_where_it_is_asked_for_and_hosts_are_summed(make):
    outcomes = {"completion_time": "measured", "tps": {**TPS, "take": "sum"}}
    record = make("echo tps = 1$FLOWSWEEP_RANK.5", outcomes, where="hosts")
    assert record["completion_s"] > 0
    assert record["outcomes"] == [{"name": "tps", "unit": "1/s", "better": "more", "value": 22.0}]


def test_an_outcome_is_reported_once(make):
    own = {"outcomes": [{"name": "tps", "better": "more", "value": 1}]}
    record = make(f"echo tps = 2; echo '{json.dumps(own)}' > $FLOWSWEEP_OUTPUT", {"tps": TPS})
    assert record["status"] == "failed"
    assert "outcomes: an outcome is there twice" in record["reason"]


def test_a_run_that_lacks_an_outcome_has_failed_with_the_pattern(make):
    record = make("echo tps = none", {"tps": TPS})
    assert record["status"] == "failed"
    assert record["reason"] == "outcome tps: no line that was printed matches tps = ([0-9.]+)"
    assert record["outcomes"] == []


def log(tmp_path, content: bytes):
    path = tmp_path / "program.log"
    path.write_bytes(content)
    return path


def outcome(**given: Any) -> printed.Printed:
    return printed.Printed(**{"better": "less", **given})


@pytest.mark.parametrize(
    ("take", "value"), [("last", 2), ("sum", 6), ("mean", 2), ("least", 1), ("most", 3)]
)
def test_of_several_lines_one_number_is_taken(tmp_path, take, value):
    path = log(tmp_path, b"at 1\nat 3\r\nat 2 at 9\nno\n")
    found = printed.read({"x": outcome(pattern="at ([0-9])", take=take)}, path)
    assert found["outcomes"] == [{"name": "x", "unit": "", "better": "less", "value": value}]


@pytest.mark.parametrize("text", ["1.2.3", "1,5", "-", "inf", "nan", "1e999"])
def test_what_is_no_number_is_reported(tmp_path, text):
    path = log(tmp_path, f"x={text}".encode())
    with pytest.raises(FlowsweepError, match=r"outcome x: .* is not a number"):
        printed.read({"x": outcome(pattern="x=(.+)")}, path)


def test_a_number_below_0_is_reported(tmp_path):
    path = log(tmp_path, b"x=-0.5")
    with pytest.raises(FlowsweepError, match=r"outcome x: -0.5 is below 0"):
        printed.read({"x": outcome(pattern="x=(.+)")}, path)


def test_a_completion_time_may_be_printed(tmp_path):
    path = log(tmp_path, b"took 2.5 s")
    took = outcome(pattern="took ([0-9.]+) s", unit="s")
    printed.check({"completion_time": took}, "command")
    assert printed.read({"completion_time": took}, path) == {"outcomes": [], "completion_s": 2.5}


@pytest.mark.parametrize(
    "pattern", ["tps", "(a)(b)", "(", "(a{1000}){1000}", "(" + "a" * 200 + ")", "(?=a)(b)", ""]
)
def test_a_pattern_that_cannot_be_used_is_refused_before_a_run(pattern):
    with pytest.raises(ValueError, match=r"pattern|characters"):
        outcome(pattern=pattern)


#: Python's `re` takes hours for the first, and quadratic time to find all matches.
HOSTILE = [
    (r"(a+)+$x", b"a" * (4 << 20)),
    (r"(.*.*.*)=x", b"a" * (4 << 20)),
    (r"(.*b|a)", b"a" * (4 << 20)),
    ("(" + r"\w?" * 55 + r"\w" * 15 + ")!", b"\xc3\xa9a" * (1 << 20)),
    ("(" + r"\w*" * 64 + ")!", b"ab1 " * (1 << 20)),
    (r"(x)", b"\n" * (4 << 20)),
    (r"(x)", bytes(range(256)) * (1 << 14)),
]


@pytest.mark.parametrize(("pattern", "content"), HOSTILE)
def test_no_pattern_and_no_output_takes_long(tmp_path, pattern, content):
    path = log(tmp_path, content)
    begin = time.process_time()
    with pytest.raises(FlowsweepError, match=r"^outcome x: "):
        printed.read({"x": outcome(pattern=pattern)}, path)
    assert time.process_time() - begin < 60


def test_of_a_long_output_both_ends_are_read(tmp_path):
    path = log(tmp_path, b"first 1\n" + b"between 2\n" * (1 << 20) + b"last 3\n")
    ends = {"a": outcome(pattern="first ([0-9])"), "b": outcome(pattern="last ([0-9])")}
    assert [one["value"] for one in printed.read(ends, path)["outcomes"]] == [1, 3]


def test_a_line_that_a_cut_leaves_in_part_is_none(tmp_path):
    """The cuts lie in the middle of numbers."""
    path = log(tmp_path, b"1234567\n" + b"value 1000000\n" * 200_000)
    found = printed.read({"x": outcome(pattern="value ([0-9]+)")}, path)
    assert found["outcomes"][0]["value"] == 1_000_000
    lines, is_cut = printed._lines(path)
    assert is_cut
    assert {*lines} == {"1234567", "value 1000000", ""}


@pytest.mark.parametrize("take", ["sum", "mean", "least", "most"])
def test_of_a_long_output_nothing_is_summed_up(tmp_path, take):
    path = log(tmp_path, b"sent 10 bytes\n" * 200_000)
    with pytest.raises(FlowsweepError, match=f"outcome x: the {take} of more lines than are read"):
        printed.read({"x": outcome(pattern="sent ([0-9]+)", take=take)}, path)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"app": "nqueens", "outcomes": {"tps": TPS}}, "an app reports its outcomes itself"),
        ({"command": "x", "outcomes": {"tps": "measured"}}, "tps is not measured"),
        ({"command": "x", "outcomes": {"completion_time": TPS}}, "completion_time is in seconds"),
        ({"command": "x", "outcomes": {"P99": TPS}}, "P99"),
        ({"command": "x", "outcomes": {"tps": {"pattern": "(a)"}}}, "better"),
    ],
)
def test_what_is_no_outcome_is_refused_in_an_experiment_file(tmp_path, workload, message):
    from flowsweep import experiment

    path = tmp_path / "own.yaml"
    data = {"sites": {"west": ["pc1"], "east": ["pc2"]}, "workload": workload}
    path.write_text(json.dumps(data))
    with pytest.raises(FlowsweepError) as caught:
        experiment.load(path)
    assert message in str(caught.value)
