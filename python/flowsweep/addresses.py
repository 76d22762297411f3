"""Addresses: which one is the capturing host's own, by one rule for `show` and the report's SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: A regular expression: multicast (RFC 5771, RFC 4291), limited broadcast (RFC 919), unspecified.
NO_HOST = r"^(2(2[4-9]|3[0-9])\.|255\.255\.255\.255$|0\.0\.0\.0$|::$|[fF][fF][0-9a-fA-F]{2}:)"
#: Private networks (RFC 1918, RFC 4193), those behind carriers (RFC 6598), link-local ones.
PRIVATE = (
    r"^(10\.|172\.(1[6-9]|2[0-9]|3[01])\.|192\.168\.|169\.254\."
    r"|100\.(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\."
    r"|[fF][cCdD][0-9a-fA-F]{2}:|[fF][eE][89abAB][0-9a-fA-F]:)"
)
#: An end whose RTT is so many times that of the other is beside the capture: see `guess`.
BESIDE = 4
#: For DuckDB.
MACRO = f"""\
-- Whether a host may have this address: one that sent nothing is nobody's.
create or replace temp macro is_host_address(address, has_sent) as
has_sent and not regexp_matches(address, '{NO_HOST}');

-- Whether an address is of a private network or of one link.
create or replace temp macro is_private_address(address) as
regexp_matches(address, '{PRIVATE}');
"""


def join_port(address: str, port: int | None) -> str:
    """`10.77.1.1:80`, `[2001:db8::1]:80`; the address alone where there is no port."""
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def guess(flows: pl.DataFrame) -> str | None:
    """The address of the host that captured these flows, or None where nobody sent anything.

    The fact `hosts` says by which rule, and guesses alike for several hosts of one run.

    Args:
        flows: The table `flows`.
    """
    import polars as pl

    keys = ["connection", "direction"]
    opposite = flows.select(
        "connection",
        pl.when(pl.col("direction") == "forward")
        .then(pl.lit("backward"))
        .otherwise(pl.lit("forward"))
        .alias("direction"),
        pl.col("rtt_min_ns").alias("back_ns"),
    )
    both = flows.join(opposite, on=keys, how="left")
    there, back = pl.col("rtt_min_ns"), pl.col("back_ns")
    ends = pl.concat(
        both.select(
            pl.col(column).alias("address"),
            pl.col("packets"),
            ((pl.col("packets") > 0) & is_source).alias("is_source"),
            near.fill_null(False).alias("is_near"),
            (pl.lit(is_source) & (pl.col("direction") == "forward")).alias("is_opener"),
        )
        for column, is_source, near in (
            ("src_ip", True, there > BESIDE * back),
            ("dst_ip", False, back > BESIDE * there),
        )
    ).drop_nulls("address")
    address = pl.col("address")
    scored = (
        ends.group_by("address")
        .agg(
            pl.col("is_source").any(), pl.col("packets").sum(), pl.col("is_near").sum(),
            pl.col("is_opener").sum(), pl.len(),
        )
        .filter("is_source")
        .with_columns(
            is_host=~address.str.contains(NO_HOST), is_private=address.str.contains(PRIVATE)
        )
        .sort(
            ["is_host", "packets", "is_near", "is_private", "is_opener", "len", "address"],
            descending=[True] * 6 + [False],
        )
    )  # fmt: skip
    return None if scored.is_empty() else str(scored["address"][0])
