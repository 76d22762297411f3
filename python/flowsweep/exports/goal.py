"""Messages of a run as a schedule for simulators that read GOAL.

It is the text that `txt2bin` of LogGOPSim reads. Of its grammar these lines are used, one in a
line, with whole numbers:

    // a comment
    num_ranks COUNT
    rank NUMBER {
    LABEL: calc NANOSECONDS
    LABEL: send BYTESb to RANK tag TAG
    LABEL: recv BYTESb from RANK tag TAG
    LABEL requires LABEL
    }

Captures do not show what a program waits for. A schedule therefore takes a host for one thread: it
sends a message when it has sent the one before and has received all that had arrived by then, and
after the time that passed since the last of these. Receives wait for nothing. Every message has
a tag of its own, so that each is received as what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.exports.packed import writing

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.exports.messages import Messages

#: Operations that are in memory as text at once.
CHUNK = 1 << 14


def write(
    messages: Messages,
    run: str,
    hosts: Collection[str],
    path: Path,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Writes the schedule of messages that arrived to `path`; see `packed.writing`.

    Args:
        messages: Those with a lack are left out.
        run: Its name.
        hosts: In the order of their ranks.
        path: What is there is replaced.
        progress: Given the host whose operations are written next.
    """
    import polars as pl

    ranks = {host: rank for rank, host in enumerate(hosts)}
    rows = messages.rows.filter(messages.rows["lack"].is_null()).with_row_index("tag", 1)
    zero = rows.select(pl.col("sent_first").min().fill_null(0)).item()
    with writing(path) as stream:
        stream.write(f"// {run}\nnum_ranks {len(ranks)}\n".encode())
        for host, rank in ranks.items():
            if progress is not None:
                progress(host)
            stream.write(f"// {host}\nrank {rank} {{\n".encode())
            for lines in _operations(rows, host, ranks, zero):
                stream.write(lines.encode())
            stream.write(b"}\n")


def _operations(rows: pl.DataFrame, host: str, ranks: dict[str, int], zero: int) -> Iterator[str]:
    """Lines of a host's operations in the order of time, a chunk of them at once."""
    import polars as pl

    sends = rows.filter(pl.col("sender") == host).select(
        pl.col("sent_first").alias("time"), "tag", "bytes", pl.col("receiver").alias("peer"),
        pl.lit("send").alias("kind"),
    )  # fmt: skip
    receives = rows.filter(pl.col("receiver") == host).select(
        pl.col("arrived_last").alias("time"), "tag", "bytes", pl.col("sender").alias("peer"),
        pl.lit("recv").alias("kind"),
    )  # fmt: skip
    # What arrives at the moment in which something is sent is not its cause.
    events = pl.concat([sends, receives]).sort("time", pl.col("kind") == "recv", "tag")
    if events.is_empty():
        yield "c0: calc 0\n"
    before: list[str] = []
    latest = zero
    for some in events.iter_slices(CHUNK):
        lines: list[str] = []
        for time, tag, size, peer, kind in some.iter_rows():
            if kind == "recv":
                lines.append(f"r{tag}: recv {size}b from {ranks[peer]} tag {tag}\n")
                before.append(f"r{tag}")
            else:
                lines.append(f"c{tag}: calc {time - latest}\n")
                lines += [f"c{tag} requires {label}\n" for label in before]
                lines.append(f"s{tag}: send {size}b to {ranks[peer]} tag {tag}\n")
                lines.append(f"s{tag} requires c{tag}\n")
                before = [f"s{tag}"]
            latest = time
        yield "".join(lines)
