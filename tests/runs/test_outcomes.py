"""Outcomes of a run besides its completion time, and refused ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.runs import run_records

TPS = {"name": "tps", "unit": "1/s", "better": "more", "value": 812.5}
LATENCY = {"name": "p99_latency", "unit": "ms", "better": "less", "value": 3}


def made(directory: Path, **runs: dict[str, Any]) -> Path:
    """Creates the folder `runs`, with a folder of run.json or app.json for each run."""
    for name, files in runs.items():
        folder = directory / "runs" / name
        folder.mkdir(parents=True)
        for file, record in files.items():
            (folder / f"{file}.json").write_text(json.dumps(record))
    return directory / "runs"


def test_outcomes_of_run_json_and_of_app_json_are_read(tmp_path: Path) -> None:
    axes = {"axes": {"rtt": "4ms"}}
    runs = made(
        tmp_path,
        own={"run": {**axes, "outcomes": [TPS, LATENCY]}},
        app={"run": axes, "app": {"completion_s": 2.0, "outcomes": [LATENCY]}},
        none={"run": axes},
    )
    rows = {row["run"]: row for row in run_records.read_rows(runs)}
    assert rows["own"]["outcomes"] == [TPS, {**LATENCY, "value": 3.0}]
    assert [one["name"] for one in rows["app"]["outcomes"]] == ["p99_latency"]
    assert rows["app"]["completion_s"] == 2.0
    assert rows["none"]["outcomes"] is None


@pytest.mark.parametrize(
    ("outcomes", "place", "message"),
    [
        ({"tps": 3}, "outcomes", "not a list of outcomes"),
        ([{**TPS, "better": "higher"}], "outcomes[0].better", "not what it should be"),
        ([{**TPS, "value": -0.5}], "outcomes[0].value", "is below 0"),
        ([{**TPS, "value": "812"}], "outcomes[0].value", "not what it should be"),
        ([{**TPS, "name": "p99 latency"}], "outcomes[0].name", "not what it should be"),
        ([{**TPS, "name": "completion_time"}], "outcomes", "completion_s"),
        ([TPS, TPS], "outcomes", "there twice"),
        ([{"name": "tps", "value": 1.0}], "outcomes[0].better", "this key"),
        ([{**TPS, "name": f"tps{one}"} for one in range(33)], "outcomes", "at most 32"),
    ],
)
@pytest.mark.parametrize("file", ["run", "app"])
def test_what_is_no_outcome_is_reported_with_its_place(
    tmp_path: Path, file: str, outcomes: Any, place: str, message: str
) -> None:
    record = {"run": {"axes": {}}, file: {"axes": {}, "outcomes": outcomes}}
    with pytest.raises(FlowsweepError) as caught:
        run_records.read_rows(made(tmp_path, one=record))
    assert f"{file}.json: {place}: " in caught.value.what
    assert message in str(caught.value)


def test_a_name_means_one_thing_in_all_runs_of_an_application(tmp_path: Path) -> None:
    seconds = {**LATENCY, "unit": "s"}
    runs = made(
        tmp_path,
        a={"run": {"app": "db", "outcomes": [LATENCY]}},
        b={"run": {"app": "web", "outcomes": [seconds]}},
    )
    assert len(run_records.read_rows(runs)) == 2
    made(tmp_path, c={"run": {"app": "db", "outcomes": [seconds]}})
    with pytest.raises(FlowsweepError, match="c: outcome p99_latency is not that of a"):
        run_records.read_rows(runs)
