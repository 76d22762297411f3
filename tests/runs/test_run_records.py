"""From run.json files, including hand-written ones, to the table of runs."""

from __future__ import annotations

import json

import polars as pl
import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import load
from flowsweep.runs import run_records


@pytest.fixture
def runs(tmp_path):
    def write(**records):
        for run, record in records.items():
            folder = tmp_path / "mine" / "runs" / run
            folder.mkdir(parents=True)
            if record is not None:
                text = record if isinstance(record, str) else json.dumps(record)
                (folder / "run.json").write_text(text)
        return tmp_path / "mine" / "runs"

    return write


def test_axes_and_completion_are_enough(runs):
    record = {"axes": {"rtt": "16ms", "rate": "100Mbit/s"}, "completion_s": 12.3}
    (row,) = run_records.read_rows(runs(a=record))
    assert row["rtt_asked_ns"] == 16_000_000
    assert row["rate_asked_bit_s"] == 1e8
    assert row["completion_s"] == 12.3
    assert (row["experiment"], row["status"], row["warmup"]) == ("mine", "valid", False)


def test_asked_and_measured_values_are_kept_apart(runs):
    record = {"axes": {"rtt": {"asked": "16ms", "measured": "16.05ms"}}, "completion_s": 1}
    (row,) = run_records.read_rows(runs(a=record))
    assert (row["rtt_asked_ns"], row["rtt_measured_ns"]) == (16_000_000, 16_050_000)


def test_a_run_without_a_record_is_a_row_with_the_reason(runs):
    (row,) = run_records.read_rows(runs(a=None))
    assert (row["status"], row["reason"]) == ("no record", "no run.json")


def test_the_sites_of_a_captured_experiment_are_those_of_its_file(runs):
    west, east = ({"name": name, "site": name[:4], "address": None} for name in ("west1", "east1"))
    own = {"name": "n1", "site": "here", "address": "192.0.2.1"}
    directory = runs(a=None, b={"completion_s": 1}, c={"hosts": [own]})
    path = directory.parent / "experiment.yaml"
    path.write_text("sites: {west: [west1], east: [east1]}")
    rows = run_records.read_rows(directory, path)
    assert [row["hosts"] for row in rows] == [[west, east], [west, east], [own]]
    path.write_text("title: mine")
    assert [row["hosts"] for row in run_records.read_rows(directory, path)] == [None, None, [own]]


def test_a_captured_host_that_no_site_has_is_reported(runs, command, tmp_path):
    directory = runs(a=None, b=None)
    for run in ("a", "b"):
        (directory / run / "pc1.pcap").touch()
        (directory / run / "pc3.pcap").touch()
    path = directory.parent / "experiment.yaml"
    note = f"note: {path}: `sites` does not name these hosts of the captures: pc3\n"
    for text, expected in (
        ("sites: {west: [pc1], east: [pc03]}", note),
        ("sites: {west: [pc1], east: [pc3, pc4]}", ""),
        ("title: mine", ""),
    ):
        path.write_text(text)
        output = tmp_path / "runs.parquet"
        done = command("flowsweep", "runs", directory, "--experiment", path, "-o", output)
        assert (done.returncode, done.stderr) == (0, expected)


def test_spark_gets_a_type_for_every_column(runs, tmp_path):
    run_records.write_table(runs(a={"completion_s": 1}), tmp_path / "runs.parquet", None)
    schema = json.loads(
        pl.read_parquet_metadata(tmp_path / "runs.parquet")[run_records.SPARK_SCHEMA]
    )
    types = {field["name"]: field["type"] for field in schema["fields"]}
    assert list(types) == pl.read_parquet(tmp_path / "runs.parquet").columns
    assert (types["run"], types["start"], types["loss"]) == ("string", "long", "double")
    assert types["hosts"]["elementType"]["fields"][0]["type"] == "string"


def test_times_keep_their_nanoseconds(runs, tmp_path):
    directory = runs(a={"start": "2026-11-20T23:40:12.123456789Z", "completion_s": 1})
    run_records.write_table(directory, tmp_path / "runs.parquet", None)
    frame = pl.read_parquet(tmp_path / "runs.parquet")
    assert frame["start"].dt.timestamp("ns")[0] % 10**9 == 123_456_789
    assert frame.schema["start"] == pl.Datetime("ns", "UTC")


def test_the_table_is_the_same_bytes_again(runs, tmp_path):
    directory = runs(b={"completion_s": 1}, a={"axes": {"rtt": "1ms"}})
    for name in ("one", "two"):
        run_records.write_table(directory, tmp_path / name, None)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


PLANNED = """
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {app: lu, problem: {rows: 64}}
axes: {rtt: [16ms]}
warmup: 0
"""


def test_runs_that_the_plan_has_no_more_are_marked_and_reported(runs, command, tmp_path):
    experiment = tmp_path / "mine.yaml"
    experiment.write_text(PLANNED)
    hashes = {run.id: run.spec_hash() for run in load(experiment).plan()}
    found = runs(**{
        "lu-rtt_16ms-r1": {"spec_hash": hashes["lu-rtt_16ms-r1"]},
        "lu-baseline-r1": {"spec_hash": "0123456789abcdef"},  # of another problem, say
        "lu-baseline-r2": {"completion_s": 1},  # does not state how it was made
        "lu-rtt_64ms-r1": {"spec_hash": "0123456789abcdef"},
    })  # fmt: skip
    rows = run_records.read_rows(found, experiment)
    assert {row["run"]: row["planned"] for row in rows} == {
        "lu-rtt_16ms-r1": True,
        "lu-baseline-r1": False,
        "lu-baseline-r2": True,
        "lu-rtt_64ms-r1": False,
    }
    assert {row["planned"] for row in run_records.read_rows(found)} == {None}
    result = command("flowsweep", "runs", found, "--experiment", experiment, "-o", tmp_path / "t")
    assert result.returncode == 0
    assert result.stderr.strip().endswith("not in the report: lu-baseline-r1, lu-rtt_64ms-r1")
    assert pl.read_parquet(tmp_path / "t").height == 4


def test_of_many_runs_that_are_left_out_a_few_are_named(runs, command, tmp_path):
    experiment = tmp_path / "mine.yaml"
    experiment.write_text(PLANNED)
    found = runs(**{f"old{number}": {"spec_hash": "0123456789abcdef"} for number in range(7)})
    result = command("flowsweep", "runs", found, "--experiment", experiment, "-o", tmp_path / "t")
    assert result.stderr.strip().endswith("report: old0, old1, old2, old3, old4, 2 more")


MADE = {"spec_hash": "0123456789abcdef", "reason": "other programs used 70 % of the cores"}


@pytest.mark.parametrize(
    ("options", "removed"), [([], ["late"]), (["--failed"], ["crashed", "late"])]
)
def test_invalid_runs_are_removed_and_nothing_else(runs, command, options, removed):
    records = {
        "crashed": MADE | {"status": "failed"},
        "good": MADE | {"status": "valid"},
        "late": MADE | {"status": "invalid"},
        "recorded_by_hand": {"status": "invalid"},
        "warmup": MADE | {"status": "invalid", "warmup": True},
        "without_record": None,
    }
    folder = runs(**records)
    result = command("flowsweep", "retry", folder.parent, *options)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == removed
    assert f"{len(removed)} invalid" in result.stderr
    assert {path.name for path in folder.iterdir()} == set(records) - set(removed)
    assert command("flowsweep", "retry", folder.parent, *options).stdout == ""


def test_a_folder_without_runs_is_named(command, tmp_path):
    result = command("flowsweep", "retry", tmp_path)
    assert result.returncode == 2
    assert f"{tmp_path}/runs: no such folder" in result.stderr


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ('{"axes": ', "line 1"),
        ("[]", "a list"),
        ({"axes": {"rtt": "16"}}, "axes.rtt"),
        ({"axes": {"rtt": 16}}, "axes.rtt"),
        ({"axes": {"speed": "1s"}}, "unknown axis"),
    ],
)
def test_a_faulty_record_is_named_with_its_place(runs, record, part):
    with pytest.raises(FlowsweepError) as caught:
        run_records.read_rows(runs(a=record))
    assert "run.json" in str(caught.value)
    assert part in str(caught.value)
