"""Makes a capture's tables from the logs of flowsweep's Zeek script.

The logs of `workflows/zeek/flowsweep.zeek` contain what `conn.log` lacks: times of each direction,
inter-arrival times, messages, and bytes over time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from flowsweep.zeek import columns, kinds
from flowsweep.zeek.flows import columns_of

DIRECTIONS = "flowsweep_directions"
INTERVALS = "flowsweep_intervals"
MESSAGES = "flowsweep_messages"
BINS = "flowsweep_bins"
_SIDE: dict[str, columns.Type] = {"uid": pl.String, "is_orig": pl.Boolean}
_SPAN: dict[str, columns.Type] = {"first": kinds.TIME, "last": kinds.TIME}
NEEDED: dict[str, dict[str, columns.Type]] = {
    DIRECTIONS: _SIDE | _SPAN,
    INTERVALS: _SIDE | {"low_ns": pl.Int64, "high_ns": pl.Int64, "gaps": pl.Int64},
    MESSAGES: _SIDE | _SPAN | {"bytes": pl.Int64, "packets": pl.Int64, "evidence": pl.String},
    BINS: {"ts": kinds.TIME, "src": pl.String, "dst": pl.String, "packets": pl.Int64,
           "wire_bytes": pl.Int64, "payload_bytes": pl.Int64},
}  # fmt: skip
#: The table that each log fills.
TABLES = {INTERVALS: "intervals", MESSAGES: "messages", BINS: "throughput"}


def with_own_times(flow_rows: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    """Adds the known times of each direction's first and last packet to rows of `flows`.

    Args:
        flow_rows: The table `flows` of a `conn.log`.
        sides: Rows of `flowsweep_directions.log`.
    """
    own = sides.select(
        "uid",
        direction().alias("direction"),
        pl.col("first").alias("own_first"),
        pl.col("last").alias("own_last"),
    ).unique(["uid", "direction"], keep="first", maintain_order=True)
    joined = flow_rows.join(own, on=["uid", "direction"], how="left", maintain_order="left")
    first, last = pl.coalesce("own_first", "first_time"), pl.coalesce("own_last", "last_time")
    return joined.with_columns(
        first.alias("first_time"),
        last.alias("last_time"),
        (last - first).dt.total_nanoseconds().alias("duration_ns"),
    ).select(flow_rows.columns)


def tables(
    logs: Mapping[str, pl.DataFrame], flow_rows: pl.DataFrame, bin_ns: int
) -> dict[str, pl.DataFrame]:
    """Returns those of the tables `intervals`, `messages` and `throughput` that have a log.

    Args:
        logs: The rows of each log by its kind, as `rows_of` returns them.
        flow_rows: The table `flows`, with `uid`.
        bin_ns: Length of a throughput bin in ns.
    """
    numbers = flow_rows.select("uid", "connection").unique("uid")
    made = {}
    if INTERVALS in logs:
        gaps = logs[INTERVALS].join(numbers, on="uid", how="inner")
        made["intervals"] = _intervals(gaps)
    if MESSAGES in logs:
        made["messages"] = _messages(logs[MESSAGES].join(numbers, on="uid", how="inner"))
    if BINS in logs:
        made["throughput"] = _throughput(logs[BINS], bin_ns)
    return {table: rows.select(columns_of(table, rows.columns)) for table, rows in made.items()}


def rows_of(path: Path, kind: str, place: str) -> pl.DataFrame:
    """Reads one of the script's logs, which `place` names in errors.

    Raises:
        FlowsweepError: Needed columns are missing or have other types.
    """
    return columns.select_typed(pl.read_parquet(path, memory_map=False), NEEDED[kind], place)


def direction() -> pl.Expr:
    """Returns the direction: `forward` for packets that the originator sent."""
    return pl.when("is_orig").then(pl.lit("forward")).otherwise(pl.lit("backward"))


def _intervals(gaps: pl.DataFrame) -> pl.DataFrame:
    return gaps.select(
        "connection",
        direction().alias("direction"),
        pl.col("low_ns").alias("bucket_low_ns"),
        pl.col("high_ns").alias("bucket_high_ns"),
        pl.col("gaps").alias("count"),
    ).sort("connection", pl.col("direction") == "backward", "bucket_low_ns")


def _messages(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = rows.sort("connection", ~pl.col("is_orig"), "first", maintain_order=True)
    gap = pl.col("first") - pl.col("last").shift(1).over("connection", "is_orig")
    return ordered.select(
        "connection",
        direction().alias("direction"),
        pl.col("first").alias("first_time"),
        pl.col("last").alias("last_time"),
        "bytes",
        "packets",
        gap.dt.total_nanoseconds().alias("gap_before_ns"),
        "evidence",
    )


def _throughput(bins: pl.DataFrame, bin_ns: int) -> pl.DataFrame:
    return bins.select(
        pl.col("ts").alias("bin_start"),
        pl.lit(bin_ns).alias("bin_ns"),
        pl.col("src").alias("src_ip"),
        pl.col("dst").alias("dst_ip"),
        "packets",
        "wire_bytes",
        "payload_bytes",
    ).sort("bin_start", "src_ip", "dst_ip")
