"""run.json files, also those that a person writes by hand, to the table of runs."""

from __future__ import annotations

import json

import polars as pl
import pytest

from flowsweep import run_records
from flowsweep.errors import FlowsweepError


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
