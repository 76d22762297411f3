"""Distributions worked out with polars from the Parquet tables, without the report's SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic

Row = dict[str, Any]
#: The host of each address in the made-up experiment.
OWNERS = {host["address"]: host["name"] for host in synthetic.HOSTS}
SITES = {host["name"]: host["site"] for host in synthetic.HOSTS}
POINT = ["app", "rtt_asked_ms", "rate_asked_mbit_s"]


def table(directory: Path, name: str) -> pl.DataFrame:
    """Returns all rows of one kind of table, with run and host."""
    found = [
        pl.read_parquet(path, hive_partitioning=False).with_columns(
            run=pl.lit(path.parts[-3].removeprefix("run=")),
            host=pl.lit(path.parts[-2].removeprefix("host=")),
        )
        for path in sorted((directory / "tables").glob(f"*/*/{name}.parquet"))
    ]
    return pl.concat(found, how="diagonal_relaxed")


def counted_runs(directory: Path) -> pl.DataFrame:
    """Returns the valid runs without warm-up, with the RTT and rate requested."""
    runs = pl.read_parquet(directory / "tables" / "runs.parquet")
    return runs.filter((pl.col("status") == "valid") & ~pl.col("warmup")).select(
        "run",
        "app",
        rtt_asked_ms=pl.col("rtt_asked_ns") / 1e6,
        rate_asked_mbit_s=pl.col("rate_asked_bit_s") / 1e6,
        start=pl.col("start").cast(pl.Int64),
        end=pl.col("end").cast(pl.Int64),
    )


def own_flows(directory: Path) -> pl.DataFrame:
    """Returns each flow direction once, from the capture of the host that sent it."""
    owner = pl.col("src_ip").replace_strict(OWNERS)
    return table(directory, "flows").filter(owner == pl.col("host"))


def shares(values: dict[str, list[float]], at: float) -> tuple[float, float, float]:
    """Returns the share of all values at or below `at`, and the least and greatest of one run.

    Args:
        values: The values of each run.
        at: The value of a step.
    """
    at *= 1 + 1e-12  # the same quotient may differ in its last bit
    below = {run: sum(value <= at for value in run_values) for run, run_values in values.items()}
    own = [below[run] / len(run_values) for run, run_values in values.items()]
    return sum(below.values()) / sum(map(len, values.values())), min(own), max(own)


def assert_steps(
    rows: pl.DataFrame, column: str, found: pl.DataFrame, keys: list[str], *, step: float = 1.0112
) -> None:
    """Asserts that the rows of a query are the distribution of `found`, exact at their values.

    Args:
        rows: Rows with `share`, `share_low`, `share_high`, and the value in `column`.
        column: Name of the value's column, in `rows` and in `found`.
        found: All values with their run.
        keys: Columns of both that identify a distribution.
        step: Neighbouring values of a distribution within this factor may share a step.
    """
    expected = dict(found.group_by(keys))
    got = dict(rows.group_by(keys))
    assert got.keys() == expected.keys()
    assert got
    for key, frame in got.items():
        values = {run: list(group[column]) for (run,), group in expected[key].group_by("run")}
        everything = sorted(value for run_values in values.values() for value in run_values)
        for row in frame.iter_rows(named=True):
            share, low, high = shares(values, row[column])
            assert (row["share"], row["share_low"], row["share_high"]) == pytest.approx(
                (share, low, high), abs=6e-7
            ), (key, row[column])
            assert row["runs"] == len(values)
        # no step is missing: each value has a step at it or slightly above
        steps = sorted(frame[column])
        for value in everything:
            above = min(one for one in steps if one >= value * (1 - 1e-12))
            assert above <= value * step + 1e-12
        assert steps[-1] == pytest.approx(everything[-1], rel=1e-12)
