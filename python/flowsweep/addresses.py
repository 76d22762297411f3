"""Finds a capturing host's own address, by the same rule for `show` and the report's SQL."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: A regular expression: multicast (RFC 5771, RFC 4291), limited broadcast (RFC 919), unspecified.
NO_HOST = r"^(2(2[4-9]|3[0-9])\.|255\.255\.255\.255$|0\.0\.0\.0$|::$|[fF][fF][0-9a-fA-F]{2}:)"
#: Loopback addresses (RFC 1122 3.2.1.3, RFC 4291 2.5.3).
LOOPBACK = r"^(127\.|::1$)"
#: Private networks (RFC 1918, RFC 4193), those behind carriers (RFC 6598), link-local ones.
PRIVATE = (
    r"^(10\.|172\.(1[6-9]|2[0-9]|3[01])\.|192\.168\.|169\.254\."
    r"|100\.(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\."
    r"|[fF][cCdD][0-9a-fA-F]{2}:|[fF][eE][89abAB][0-9a-fA-F]:)"
)
#: An end is next to the capture if its packets' RTT is more than this many times the other end's.
BESIDE = 4
#: A capturing host's address is in more than this share of the packets of its address family.
NEARLY_ALL = 0.9
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
    """Writes `10.77.1.1:80`, `[2001:db8::1]:80`, or the address alone without a port."""
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def canonical(text: str) -> str:
    """Returns an IP address as the tables contain it, and any other text as it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    # Python before 3.13 writes the IPv4 address in it in hexadecimal.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return f"::ffff:{mapped}" if mapped else str(address)


def guess_own(flows: pl.DataFrame) -> list[str]:
    """Guesses the capturing host's addresses: the main one, and one of the other address family.

    Empty if no host sent a packet. The fact `hosts` states the rules, and applies them to all hosts
    of a run.

    Args:
        flows: The table `flows`.
    """
    import polars as pl

    ranked = _rank(_find_ends(flows))
    if ranked.is_empty():
        return []
    family, evidence = pl.col("is_v6"), pl.struct("is_marked", "host_packets", "is_near")
    bests = ranked.with_columns(
        is_in_most=pl.col("answered") > NEARLY_ALL * pl.col("sent_answered").sum().over(family),
        is_alone_best=evidence.ne_missing(evidence.shift(-1).over(family)),
    ).unique("is_v6", keep="first", maintain_order=True)
    is_one_host = bests.select(pl.all_horizontal("is_in_most", "is_alone_best").all()).item()
    return bests["address"].to_list()[: 2 if is_one_host else 1]


def _find_ends(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each end of each direction, with what the direction shows of that end."""
    import polars as pl

    keys = ["connection", "direction"]
    opposite = flows.select(
        "connection",
        pl.when(pl.col("direction") == "forward")
        .then(pl.lit("backward"))
        .otherwise(pl.lit("forward"))
        .alias("direction"),
        pl.col("rtt_min_ns").alias("back_ns"),
        pl.col("packets").alias("back_packets"),
    )
    both = flows.join(opposite, on=keys, how="left")
    there, back = pl.col("rtt_min_ns"), pl.col("back_ns")
    is_host = {end: ~pl.col(end).str.contains(NO_HOST) for end in ("src_ip", "dst_ip")}
    is_exchange = pl.col("protocol").is_in(["tcp", "udp"]) & (pl.col("back_packets") > 0)
    return pl.concat(
        both.select(
            pl.col(column).alias("address"),
            pl.col("packets"),
            pl.when(is_host[other]).then("packets").otherwise(0).alias("host_packets"),
            pl.when(is_exchange).then("packets").otherwise(0).alias("answered"),
            ((pl.col("packets") > 0) & is_source).alias("is_source"),
            near.fill_null(False).alias("is_near"),
            (pl.lit(is_source) & (pl.col("direction") == "forward")).alias("is_opener"),
            (pl.lit(is_source) * pl.col("outgoing_packets")).alias("outgoing"),
        )
        for column, other, is_source, near in (
            ("src_ip", "dst_ip", True, there > BESIDE * back),
            ("dst_ip", "src_ip", False, back > BESIDE * there),
        )
    ).drop_nulls("address")


def _rank(ends: pl.DataFrame) -> pl.DataFrame:
    """Sorts the addresses that sent packets; the likeliest to be the host's own comes first."""
    import polars as pl

    address = pl.col("address")
    is_v6 = address.str.contains(":", literal=True)
    sums = ends.group_by("address").agg(
        pl.col("is_source").any(),
        pl.col("packets", "host_packets", "answered", "is_near", "is_opener", "outgoing").sum(),
        pl.col("answered").filter("is_source").sum().alias("sent_answered"),
        pl.len(),
    )
    return (
        sums.filter("is_source")
        .with_columns(
            is_host=~address.str.contains(NO_HOST),
            is_private=address.str.contains(PRIVATE),
            is_v6=is_v6,
            is_marked=2 * pl.col("outgoing") > pl.col("outgoing").sum().over(is_v6),
        )
        .sort(
            [
                "is_host",
                "is_marked",
                "host_packets",
                "is_near",
                "packets",
                "is_private",
                "is_opener",
                "len",
                "address",
            ],
            descending=[True] * 8 + [False],
        )
    )
