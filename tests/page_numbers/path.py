"""Throughput and goodput along both axes, and bytes in flight beside rate times RTT."""

from __future__ import annotations

import polars as pl
from compare import Expected
from rates import bin_bytes
from raw import BIN_NS, Raw

WAY = ["from_site", "to_site"]
#: By axis: its unit, the column measured along it, and the column kept at the baseline.
AXES = {
    "rtt": ("ms", "rtt_ms", "rate_asked_mbit_s"),
    "rate": ("Mbit/s", "rate_mbit_s", "rtt_asked_ms"),
}


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `path_throughput` and `bytes_in_flight`."""
    return {"path_throughput": _throughput(raw), "bytes_in_flight": _in_flight(raw)}


def _throughput(raw: Raw) -> Expected:
    means = pl.DataFrame(
        [
            {
                "run": key["run"],
                "from_site": key["from_site"],
                "to_site": key["to_site"],
                "mean": bins.sum() * 8e3 / (len(bins) * BIN_NS),
            }
            for key, bins in bin_bytes(raw)
            if key["direction"] == "between"
        ]
    )
    new = pl.col("payload_bytes") - pl.col("retransmitted_bytes")
    shares = raw.sent.group_by("run", *WAY).agg(share=new.sum() / pl.col("wire_bytes").sum())
    by_run = means.join(shares, on=["run", *WAY]).join(raw.runs.select("run", "point"), on="run")
    by_point = by_run.group_by("point", *WAY).agg(
        pl.len().alias("runs_used"),
        pl.col("mean").median().alias("throughput_mbit_s"),
        pl.col("mean").min().alias("throughput_mbit_s_min"),
        pl.col("mean").max().alias("throughput_mbit_s_max"),
        (pl.col("mean") * pl.col("share")).median().alias("goodput_mbit_s"),
        is_far_side=pl.lit(False),
    )
    base = raw.points.filter("is_baseline")
    lines = [
        raw.points.filter(pl.col(fixed) == base[fixed][0]).with_columns(
            axis=pl.lit(axis),
            kind=pl.lit("number"),
            unit=pl.lit(unit),
            x=pl.col(measured),
            is_reference=pl.col("is_baseline"),
            link_mbit_s=pl.col("rate_mbit_s"),
        )
        for axis, (unit, measured, fixed) in AXES.items()
    ]
    return Expected(
        pl.concat(lines).join(by_point, on="point"),
        ["axis", "point", *WAY],
        figures=frozenset(
            ["x", "link_mbit_s", "goodput_mbit_s", "throughput_mbit_s", "throughput_mbit_s_min",
             "throughput_mbit_s_max"]
        ),
    )  # fmt: skip


def _in_flight(raw: Raw) -> Expected:
    other = pl.when(pl.col("direction") == "forward").then(pl.lit("backward"))
    windows = raw.flows.select(
        "run",
        "host",
        "connection",
        other.otherwise(pl.lit("forward")).alias("direction"),
        pl.col("max_window_bytes").alias("window"),
    )
    sent = raw.sent.filter("is_on_path", pl.col("max_in_flight_bytes") > 0)
    sent = sent.join(windows, on=["run", "host", "connection", "direction"])
    by_run = (
        sent.sort("max_in_flight_bytes", "window")
        .group_by("run", *WAY)
        .agg(pl.len().alias("connections"), pl.col("max_in_flight_bytes", "window").last())
        .join(raw.runs.select("run", "point"), on="run")
    )
    by_point = by_run.group_by("point", *WAY).agg(
        pl.len().alias("runs_used"),
        pl.col("connections").sum(),
        pl.col("max_in_flight_bytes").median().alias("in_flight_bytes"),
        pl.col("max_in_flight_bytes").max().alias("in_flight_bytes_max"),
        pl.col("window").median().alias("window_bytes"),
    )
    bdp = (pl.col("rate_mbit_s") * pl.col("rtt_ms") * 125).round(4)
    rows = raw.points.join(by_point, on="point").with_columns(bdp_bytes=bdp)
    return Expected(
        rows.with_columns(of_bdp=pl.col("in_flight_bytes") / pl.col("bdp_bytes")),
        ["point", *WAY],
        figures=frozenset(["bdp_bytes", "of_bdp"]),
    )
