"""Gaps between packets that crossed the wide-area link, where they arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from compare import Expected
from flows import POINT_DECIMALS

if TYPE_CHECKING:
    from raw import Raw

EQUAL = -1000
FRAME_BITS = 1514 * 8


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `packet_intervals`: the middle of a bucket decides its 1/20 decade."""
    one = ["run", "host", "connection"]
    streams = raw.flows.with_columns(
        stream=pl.when(pl.col("payload_bytes") == pl.col("payload_bytes").max().over(one))
        .then(pl.lit("data"))
        .otherwise(pl.lit("replies"))
    ).filter("is_on_path", pl.col("receiver") == pl.col("host"))
    low, high = pl.col("bucket_low_ns"), pl.col("bucket_high_ns")
    gaps = (
        raw.table("intervals")
        .join(streams.select(*one, "direction", "stream"), on=[*one, "direction"])
        .join(raw.runs.select("run", "point"), on="run")
        .join(raw.points.select("point", "rtt_ms", "rate_mbit_s"), on="point")
        .with_columns(
            step=pl.when(low == 0).then(EQUAL).otherwise(((low + high) / 2).log10() * 20)
            .floor().cast(pl.Int64),
            low_us=low / 1e3,
            high_us=high / 1e3,
        )
    )  # fmt: skip
    series = ["point", "stream"]
    frames = (
        streams.join(raw.runs.select("run", "point"), on="run")
        .group_by(series)
        .agg(mean_bytes=pl.col("wire_bytes").sum() / pl.col("packets").sum())
    )
    gaps = gaps.join(frames, on=series)
    run_rows = gaps.group_by(*series, "run", "step").agg(pl.col("count").sum())
    own = run_rows.with_columns(own=pl.col("count") / pl.col("count").sum().over(*series, "run"))
    runs = run_rows.group_by(series).agg(run_count=pl.col("run").n_unique())
    rows = own.group_by(*series, "step").agg(
        pl.col("count").sum(),
        share_low=pl.col("own").min(),
        share_high=pl.col("own").max(),
        there=pl.len(),
    )
    rows = rows.join(runs, on=series).sort(*series, "step")
    total = pl.col("count").sum().over(series)
    rows = rows.with_columns(
        of_count=total,
        share=pl.col("count") / total,
        share_below=pl.col("count").cum_sum().over(series) / total,
        share_low=pl.when(pl.col("there") == pl.col("run_count")).then("share_low").otherwise(0.0),
        low_us=_edge(0),
        high_us=_edge(1),
    )
    rows = rows.drop("step", "there", "run_count").join(_predicted(gaps, series), on=series)
    pools = raw.runs.group_by("point").agg(runs=pl.len())
    rows = rows.join(pools, on="point").with_columns(
        run=None,
        super_share=pl.lit(0.0),
        doubtful_captures=pl.lit(0),
        refused_captures=pl.lit(0),
    )
    shares = [name for name in rows.columns if "share" in name]
    places = ["back_to_back_us", "back_to_back_limit_us", "near_rtt_low_us", "near_rtt_high_us"]
    return {
        "packet_intervals": Expected(
            rows.join(raw.points, on="point"),
            [*series, "low_us"],
            POINT_DECIMALS
            | dict.fromkeys(shares, 6)
            | dict.fromkeys(places, 4)
            | {"low_us": 6, "high_us": 6},
        )
    }


def _edge(after: int) -> pl.Expr:
    """Returns an edge of a 1/20 decade in us."""
    edge = 10.0 ** ((pl.col("step") + after) / 20) / 1e3
    return pl.when(pl.col("step") == EQUAL).then(0.0).otherwise(edge)


def _predicted(gaps: pl.DataFrame, series: list[str]) -> pl.DataFrame:
    """Returns shares near the time of a full frame, and near the RTT, within a factor of 1.25.

    A bucket that lies there only in part counts for the upper bound, not for the lower one.
    """
    is_full = pl.col("mean_bytes") >= FRAME_BITS / 8 / 2
    frame_us = pl.when(is_full).then(FRAME_BITS / pl.col("rate_mbit_s"))
    rtt_us = pl.col("rtt_ms") * 1e3
    low, high = pl.col("low_us"), pl.col("high_us")
    limit, least = frame_us * 1.25, frame_us / 1.25
    near, far = rtt_us / 1.25, rtt_us * 1.25

    def share(condition: pl.Expr) -> pl.Expr:
        return pl.col("count").filter(condition).sum() / pl.col("count").sum()

    found = gaps.group_by(series).agg(
        back_to_back_us=frame_us.first(),
        back_to_back_limit_us=limit.first(),
        back_to_back_share=share(high <= limit),
        back_to_back_share_most=share(low <= limit),
        near_serialisation_share=share((low >= least) & (high <= limit)),
        near_serialisation_share_most=share((high > least) & (low <= limit)),
        near_rtt_low_us=near.first(),
        near_rtt_high_us=far.first(),
        near_rtt_share=share((low >= near) & (high <= far)),
        near_rtt_share_most=share((high > near) & (low <= far)),
    )
    near_frame = [name for name in found.columns if name.startswith(("back_to", "near_serial"))]
    is_known = pl.col("back_to_back_us").is_not_null()
    return found.with_columns(pl.when(is_known).then(name).alias(name) for name in near_frame)
