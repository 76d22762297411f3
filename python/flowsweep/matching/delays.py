"""One-way delays of the paths between hosts, from the table `one_way`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Quantiles of a path's delays.
QUANTILES = {"p50": 0.5, "p99": 0.99}


def summarise(folder: Path) -> list[dict[str, Any]]:
    """A row for each path whose delays are known, all in ns.

    `delay_min_ns`, `delay_p50_ns`, `delay_p99_ns` and `delay_error_ns` are of the delay,
    `queue_p50_ns` and `queue_p99_ns` of what exceeds the least of the direction. Quantiles are
    values that occur.
    """
    import polars as pl

    delay, queue = pl.col("delay_ns"), pl.col("queue_ns")
    rows = pl.scan_parquet(folder / "one_way.parquet").filter(delay.is_not_null())
    paths = rows.group_by("sender", "receiver").agg(
        pl.len().alias("packets"),
        delay.min().alias("delay_min_ns"),
        *(
            values.quantile(share, "lower").cast(pl.Int64).alias(f"{what}_{name}_ns")
            for what, values in (("delay", delay), ("queue", queue))
            for name, share in QUANTILES.items()
        ),
        pl.col("delay_error_ns").max(),
    )
    return paths.sort("sender", "receiver").collect().to_dicts()
