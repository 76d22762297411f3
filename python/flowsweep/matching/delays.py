"""Summarises the one-way delays of the paths between hosts, from the table `one_way`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: Quantiles of the delay distribution.
QUANTILES = {"p50": 0.5, "p99": 0.99}


def summarise(folder: Path) -> list[dict[str, Any]]:
    """Returns a row for each path whose delays are known, all in ns.

    `delay_min_ns`, `delay_p50_ns`, `delay_p99_ns` and `delay_error_ns` describe the delay,
    `queue_p50_ns` and `queue_p99_ns` its excess over the direction's minimum. Quantiles are
    observed values, as in all queries: the smallest with at least that share of all at or below it.
    """
    paths = _known(folder).group_by("sender", "receiver").agg(*_statistics())
    return paths.sort("sender", "receiver").collect().to_dicts()


def summarise_between(folder: Path, sites: Mapping[str, str]) -> dict[str, Any] | None:
    """Does the same for all packets between different sites; without sites, for all packets."""
    import polars as pl

    rows = _known(folder)
    if sites:
        sender, receiver = (
            pl.col(end).replace_strict(sites, default=None, return_dtype=pl.String)
            for end in ("sender", "receiver")
        )
        rows = rows.filter(sender != receiver)
    found = rows.select(*_statistics()).collect().row(0, named=True)
    return found if found["packets"] else None


def _known(folder: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(folder / "one_way.parquet").filter(pl.col("delay_ns").is_not_null())


def _statistics() -> list[pl.Expr]:
    import polars as pl

    return [
        pl.len().alias("packets"),
        pl.col("delay_ns").min().alias("delay_min_ns"),
        *(
            _quantile(f"{what}_ns", share).alias(f"{what}_{name}_ns")
            for what in ("delay", "queue")
            for name, share in QUANTILES.items()
        ),
        pl.col("delay_error_ns").max(),
    ]


def _quantile(column: str, share: float) -> pl.Expr:
    import polars as pl

    # The inverted CDF: of n values, n * share, rounded up, are at or below it.
    return pl.col(column).quantile(share, interpolation="equiprobable").cast(pl.Int64)
