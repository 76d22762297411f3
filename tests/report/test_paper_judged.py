"""No measured value is judged twice, and no value that the experiment file sets is judged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from flowsweep import content
from flowsweep.warehouse import kept_papers, reports_folder

KEPT = kept_papers.folders()
NAMES = [folder.name for folder in KEPT]
JUDGED = ("reproduced", "same shape", "not reproduced")
#: Factors between a number of an experiment file and a value: Mbit/s to Gbit/s, MB to bytes etc.
FACTORS = (1, 1e3, 1e-3, 1e6, 1e-6)


def is_judged() -> pl.Expr:
    return pl.col("ours").is_not_null() & pl.any_horizontal(
        pl.col("verdict").str.starts_with(kind) for kind in JUDGED
    )


def equal_values(folder: Path) -> set[tuple[str, str]]:
    """Finds judged values of a paper that equal another one, except 1 and values of 3 digits."""
    rows = kept_papers.rows(folder).filter(is_judged() & ((pl.col("ours") - 1).abs() > 1e-3))
    exact = rows.filter(pl.col("ours").round_sig_figs(3) != pl.col("ours"))
    twice = exact.filter(pl.struct("paper", "ours").is_duplicated())
    return {*twice.select("item", "key").rows()}


@pytest.mark.parametrize("folder", KEPT, ids=NAMES)
def test_no_measurement_is_judged_twice(folder: Path) -> None:
    assert equal_values(folder) == set()


def test_a_measurement_that_is_judged_twice_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    items = reports / "papers" / "kitatsuji" / "items.yaml"
    text = items.read_text(encoding="utf-8")
    line = "        aside: judged elsewhere   # one estimate of ours, within the range or not\n"
    assert line in text
    rule = "        reproduced: {at_least: gradual_low, at_most: gradual_high}\n"
    items.write_text(text.replace(line, rule), encoding="utf-8")
    assert equal_values(reports / "papers" / "measured" / "kitatsuji") == {
        ("table 3", f"{app} gradual_{end}")
        for app in ("nqueens", "ssor", "taskgraph")
        for end in ("low", "high")
    }


def stated_numbers(experiment: str) -> set[float]:
    """Returns all numbers of an experiment's file except those in comments."""
    path = content.folder("workflows") / "experiments" / f"{experiment}.yaml"
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
    return {float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)} - {0.0}


def is_stated(value: float, known: set[float]) -> bool:
    return any(abs(value / (one * factor) - 1) < 1e-4 for one in known for factor in FACTORS)


@pytest.mark.parametrize("folder", KEPT, ids=NAMES)
def test_no_value_is_judged_that_the_experiment_file_has(folder: Path) -> None:
    known = stated_numbers(folder.name)
    rows = kept_papers.rows(folder).filter((pl.col("unit") != "") & (pl.col("unit") != "share"))
    # Rows have four decimals: a smaller value has too few digits to be distinct.
    judged = rows.filter(is_judged() & (pl.col("ours") >= 0.1))
    found = [row for row in judged.iter_rows(named=True) if is_stated(row["ours"], known)]
    assert [(row["item"], row["key"], row["ours"]) for row in found] == []


@pytest.mark.parametrize(
    ("experiment", "item", "key"),
    [
        ("uklight", "section 2", "rate"),
        ("das3", "figure 1", "lightpath"),
        ("kitatsuji", "section 2", "taskgraph"),
    ],
)
def test_what_the_experiment_file_sets_is_seen(experiment: str, item: str, key: str) -> None:
    folder = reports_folder() / "papers" / "measured" / experiment
    is_it = (pl.col("item") == item) & (pl.col("key") == key)
    row = kept_papers.rows(folder).filter(is_it).row(0, named=True)
    assert row["verdict"] == "set-up"
    assert is_stated(row["ours"], stated_numbers(experiment))
