"""Any input of a person or an attacker gives an answer, or an error that explains what is wrong.

The suite tries a few hundred documents for each reader, the same every time;
FLOWSWEEP_EXAMPLES=10000 tries that many, and different ones each time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowsweep import experiment as experiments
from flowsweep import printing
from flowsweep.cli.run import parse_settings
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import estimate, results
from flowsweep.files import manifests, names
from flowsweep.runs import link_balance, run_records

from .mutations import WRONG, WRONG_YAML, contents

IN_THE_SUITE = 200
EXAMPLES = int(os.environ.get("FLOWSWEEP_EXAMPLES", IN_THE_SUITE))
#: CPU seconds that an input may take.
MOST_S = 1.0
ROOT = Path(__file__).parents[2]
many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES == IN_THE_SUITE,
    database=None,
    suppress_health_check=list(HealthCheck),
)

EXPERIMENTS = [
    yaml.safe_load((ROOT / f"workflows/experiments/{name}.yaml").read_text())
    for name in ("demo", "http", "das3-quick", "kitatsuji-quick", "lambdastream-quick",
        "uklight-quick")
] + [
    {
        "title": "all of it",
        "sites": {"west": [f"a{n}" for n in range(3)], "east": {"hosts": 2,
        "uplink": {"rate": "1Mbit/s"}}},
        "link": {"rtt": "1ms", "rate": "10Mbit/s", "loss": "1%", "loss_burst": 2, "jitter": "20%",
        "queue": "64KiB"},
        "pairs": [{"between": ["west", "east"], "rtt": "2ms", "back": {"rate": "1Mbit/s"}}],
        "schedule": [{"at": "2s", "between": ["west", "east"], "rate": "1Mbit/s"}],
        "testbed": {"kind": "namespaces", "hosts": {"a0": {"address": "10.0.0.1"}},
        "options": ["-F", "x"]},
        "tcp": {"congestion_control": "reno", "buffer": "64KiB"},
        "workload": [
            {"command": "sleep 1", "where": ["a0"], "serve": {"command": "x", "hosts": ["a1"],
            "port": 80, "wait": "1s"}},
            {"app": "lu", "name": "lu2", "problem": {"rows": 4, "deep": {"a": [1, {"b": 2}]}},
            "ranks": 4,
             "axes": {"problem": [{"rows": 5}, {"rows": 6}]}},
        ],
        "axes": {"rtt": ["2ms", "4ms"], "loss": [0.02], "jitter": ["1ms"], "hosts": [1],
        "ranks": [2, 3]},
        "design": [["rtt", "loss"], ["jitter"]],
        "repetitions": 2, "retries": 1, "warmup": 1, "seed": 7, "timeout": "10s",
        "limits": {"other_programs": "50%", "lateness": "2ms"}, "capture": {"snaplen": 96,
        "filter": "tcp", "buffer": "1MiB"},
        "analysis": {"bin": "5ms"},
    },
]  # fmt: skip
RECORDS = [
    json.loads(
        (ROOT / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1/run.json").read_text()
    ),
    {"axes": {"rtt": "16ms", "rate": "100Mbit/s", "jitter": "20%"}, "completion_s": 12.3},
    {
        "axes": {
            "rtt": {"asked": "1ms", "measured": "1.1ms"}, "rate": {"asked": "1Mbit/s",
            "measured": "1Mbit/s"},
            "queue": "64KiB", "buffer": {"asked": "1MB"}, "loss": {"asked": "1%",
            "measured": "0.9%"}, "jitter": "1ms",
            "links": 2, "congestion": "cubic", "hosts": "2", "ranks": {"asked": "8"},
            "ranks_per_host": 1,
        },
        "status": "invalid", "spec_hash": "0123456789abcdef", "reason": "late",
        "cost_s": {"run": 3.5},
        "hosts": [{"name": "pc1", "site": "west", "address": "10.77.1.1"}],
        "emulator": {
            "lateness_ns": {"p99": 12000},
            "links": [{"from": "west", "to": "east", "received": 5, "delivered": 4,
            "dropped_queue": 1, "in_flight": 0}],
            "ports": [{"name": "west", "kernel_dropped": 0}],
        },
        "links": [{"between": ["west", "east"], "rate_bit_s": 1e8, "links": 1}],
        "start": "2026-11-20T23:40:12.123456789Z", "end": "2026-11-20T23:41:12+01:00",
    },
]  # fmt: skip
APPLICATIONS = [
    RECORDS[0]["application"],
    {
        "completion_s": 1.5, "problem": {"n": 1}, "compute": "busy",
        "start": "2026-11-20T23:40:12Z",
        "phases": [{"name": "a", "rank": 0, "start_s": 0.1, "end_s": 0.2}],
        "transfers": [{"from": 0, "to": 1, "bytes": 5, "start_s": 0.1, "end_s": 0.2}],
        "ranks": [{"rank": 0, "host": "pc1", "to": {"1": {"bytes": 5, "messages": 1}},
                   "mpi": {"send": {"calls": 1, "seconds": 0.5}}}],
        "answer": {"sizes": [{"message_bytes": 4, "mean_s": 0.5}], "streams": [{"mbit_s": 5,
        "beside_mbit_s": 4}]},
    },
]  # fmt: skip
MANIFESTS = [
    {"dropped_kernel": 3, "dropped_interface": 0, "received": 5, "snaplen": 96, "filter": None},
    json.loads(
        (
            ROOT / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1/pc1.capture.json"
        ).read_text()
    ),
]


def answered(read: Callable[[], object], place: str | None = None) -> bool:
    """Returns whether `read` succeeded; else checks its error. Neither may take long."""
    refused = None
    start = time.process_time()
    try:
        read()
    except FlowsweepError as error:
        refused = error
    assert time.process_time() - start < MOST_S
    if refused is not None:
        message = str(refused)
        assert refused.exit_code == 2
        assert len(message) < 8200
        assert refused.found is not None
        assert refused.expected is not None
        assert place is None or place in message
        printing.visible(message).encode()
    return refused is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder of runs: one run with a file of each kind."""
    made = tmp_path_factory.mktemp("inputs") / "mine" / "runs"
    (made / "a").mkdir(parents=True)
    return made


@many
@given(content=contents(EXPERIMENTS, [*WRONG, *WRONG_YAML]))
def test_experiments(folder, content):
    path = folder.parent / "x.yaml"
    path.write_bytes(content)

    def read() -> None:
        loaded = experiments.load(path)
        runs = loaded.plan()
        for run in runs[:20]:
            json.dumps(run.spec())
            run.spec_hash()
            run.summary().encode()
        str(estimate.estimate(runs[:20], folder))
        results.check(loaded, folder.parent)
        if loaded.workloads and loaded.sites:
            loaded.run_at({}).spec_hash()

    answered(read, str(path))


@many
@given(content=contents(RECORDS, WRONG))
def test_records_of_runs(folder, content):
    path = folder / "a" / "run.json"
    path.write_bytes(content)
    (folder / "a" / "app.json").write_text("{}")

    def read() -> None:
        run_records.write_table(folder, folder.parent / "runs.parquet", None)
        run_records.with_status(folder, {"invalid"})
        (row,) = run_records.read_rows(folder)
        link_balance.rows([(row["run"], row["json"])])

    answered(read, str(path))
    record = estimate._record(path)
    estimate._seconds(record)


@many
@given(content=contents(APPLICATIONS, WRONG))
def test_records_of_applications(folder, content):
    (folder / "a" / "run.json").write_text('{"status": "valid"}')
    path = folder / "a" / "app.json"
    path.write_bytes(content)
    answered(
        lambda: run_records.write_table(folder, folder.parent / "runs.parquet", None), str(path)
    )


@many
@given(content=contents(MANIFESTS, WRONG))
def test_manifests(folder, content):
    path = folder / "a" / "pc1.capture.json"
    path.write_bytes(content)
    answered(lambda: manifests.drops(path), str(path))


DEMO = experiments.load(ROOT / "workflows/experiments/demo.yaml")
TEXTS = [str(value) for value in WRONG if isinstance(value, str | int | float)]
AXES = ["rtt", "rate", "loss", "jitter", "links", "queue", "buffer", "congestion", "hosts",
    "ranks", "ranks_per_host", "placement", "schedule", "beside",
        "problem.board", "problem", "problem.", "workload", "", "rt", "\x1b",
        "a" * 300]  # fmt: skip
VALUES = [
    "16ms",
    "10Mbit/s",
    "1%",
    "20%",
    "2",
    "64KiB",
    "reno",
    "[1, 2]",
    "{}",
    "[" * 2000,
    "nqueens",
    *TEXTS,
]


@many
@given(
    st.lists(st.tuples(st.sampled_from(AXES), st.sampled_from(["=", "=", "=", "", "=="]),
        st.sampled_from(VALUES)),
             max_size=3)
)  # fmt: skip
def test_settings(words):
    def read() -> None:
        run = DEMO.run_at(parse_settings("".join(word) for word in words))
        run.spec_hash()
        run.summary().encode()

    answered(read)


@many
@given(content=st.one_of(st.binary(max_size=50), contents(MANIFESTS, WRONG)))
def test_marks_of_results(tmp_path_factory, folder, content):
    experiment = experiments.load(ROOT / "workflows/experiments/demo.yaml")
    mark = folder / results.RUNS_MARK
    mark.write_bytes(content)
    tables = folder.parent / results.TABLES_MARK
    tables.mkdir(exist_ok=True)
    (tables / "other").write_bytes(content)
    answered(lambda: results.check(experiment, folder.parent))
    results.has_own_runs(folder.parent)
    mark.unlink()


@many
@given(st.text(max_size=300) | st.sampled_from(TEXTS) | st.binary(max_size=300).map(os.fsdecode))
def test_names(name):
    from urllib.parse import unquote

    if answered(lambda: names.check(name, "a run", "here"), "here"):
        spelled = names.partition("host", name)
        assert unquote(spelled.removeprefix("host=")) == name
        assert len(os.fsencode(spelled)) <= 255
        assert not set(spelled) & set("/\\*?[]{}%\"' \n=#:^") - set("=%")
