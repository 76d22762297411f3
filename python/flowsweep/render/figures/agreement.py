"""Table `agreement`: what Zeek and our parser counted, class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flowsweep import numbers
from flowsweep.render.tables import Column, table
from flowsweep.units import percent

if TYPE_CHECKING:
    from markupsafe import Markup

    from flowsweep.render.figure import Context

SAME = "the same"
#: The classes of the query in the order of the table, and the reason for each.
CLASSES = {
    SAME: "packets, bytes, payload, begin and end",
    "microseconds": "the same; Zeek writes times with six decimals",
    "duration": "the same; Zeek's time ends when a connection is closed",
    "history cut": "the same counts; Zeek's history has another beginning or end",
    "payload unknown": "the same counts; Zeek has no duration and no payload, as of one packet",
    "payload of ICMP": "the same packets; Zeek counts what ICMP carries, we TCP and UDP alone",
    "payload sent again": "the same packets; Zeek counts bytes that were sent again once",
    "missed bytes": "the same packets; Zeek's payload holds what gaps show was not captured",
    "payload": "the same packets; Zeek goes by sequence numbers, we by lengths",
    "direction turned": "the same counts; without a SYN Zeek goes by well-known ports",
    "bytes, no length": "the same packets; IP says length 0 (offloading), and we go by the frame",
    "bytes": "the same packets; lengths of IP are read otherwise",
    "packets, beyond the frame": "IP says more bytes than the frame has; Zeek drops such packets",
    "packets, cut": "Zeek drops packets whose captured part is too short",
    "packets, tunnel": "what one of them counts as the tunnel, the other counts as what is in it",
    "packets": "some packets went to only one of the two",
    "checksum": "Zeek leaves out packets with a wrong checksum (-C counts them)",
    "fragments": "Zeek counts a packet when all its fragments came, we the first fragment",
    "divided otherwise": "one beside several: time-outs, ports used again, ICMP by type",
    "other addresses": "Zeek goes by those in IPv6 options (routing header, home address)",
    "other time": "the same counts; a fraction of a second above one is read otherwise",
    "ours alone, fragments": "fragments behind the first, which Zeek puts together",
    "ours alone, no transport": "ESP, AH and GRE; Zeek makes no connection of them",
    "ours alone, tunnel": "within a tunnel or link header that Zeek does not read",
    "ours alone": "what Zeek's analyzers refuse or give no row",
    "Zeek's alone, tunnel": "Zeek has a row for the tunnel too, or reads what we do not (Teredo)",
    "Zeek's alone, fragments": "put together by Zeek from fragments",
    "Zeek's alone": "what we count under other ends or not at all",
}


def heading(context: Context) -> str:
    """States how many connections agree, and how many more agree in packets and bytes of IP."""
    rows = context.rows("agreement")
    same = rows.filter(pl.col("class") == SAME).height
    counted = rows.filter(
        (pl.col("our_connections") == pl.col("zeek_connections"))
        & (pl.col("packets") == pl.col("zeek_packets"))
        & (pl.col("ip_bytes") == pl.col("zeek_ip_bytes"))
    ).height
    total = numbers.plural(rows.height, "connection")
    share = f" ({percent(same / rows.height)})" if same else ""
    more = (
        f", {numbers.count(counted - same)} more in packets and bytes of IP"
        if counted > same
        else ""
    )
    return f"Zeek beside our parser: {numbers.count(same)} of {total} are the same{share}{more}"


def draw(context: Context) -> Markup | None:
    """Makes a row per class of difference."""
    rows = context.rows("agreement")
    if rows.is_empty():
        return None
    counts = ["packets", "zeek_packets", "payload_bytes", "zeek_payload_bytes"]
    sums = rows.group_by("class").agg(
        pl.len().alias("connections"),
        *(pl.when(pl.col(name).is_not_null().any()).then(pl.sum(name)) for name in counts),
    )
    known = {row["class"]: row for row in sums.iter_rows(named=True)}
    shown = [known[name] for name in CLASSES if name in known]
    columns = [
        Column("class", [row["class"] for row in shown], is_number=False),
        Column("connections", [numbers.count(row["connections"]) for row in shown]),
        Column("ours", [_count(row["packets"]) for row in shown], spanner="packets"),
        Column("Zeek", [_count(row["zeek_packets"]) for row in shown], spanner="packets"),
        Column("ours", [numbers.size(row["payload_bytes"]) for row in shown], spanner="payload"),
        Column(
            "Zeek", [numbers.size(row["zeek_payload_bytes"]) for row in shown], spanner="payload"
        ),
        Column("because", [CLASSES[row["class"]] for row in shown], is_number=False),
    ]
    return table("agreement", columns, fine=[row["class"] == SAME for row in shown])


def _count(number: int | None) -> str:
    return numbers.NONE if number is None else numbers.count(number)
