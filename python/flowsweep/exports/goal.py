"""Writes the messages of a run as a schedule for simulators that read GOAL.

`txt2bin` of LogGOPSim reads this text. The schedule uses these statements of its grammar, one per
line, with integers:

    // a comment
    num_ranks COUNT
    rank NUMBER {
    LABEL: calc NANOSECONDS
    LABEL: send BYTESb to RANK tag TAG
    LABEL: recv BYTESb from RANK tag TAG
    LABEL requires LABEL
    }

Captures do not show what a program waits for. A schedule therefore models a host as one thread: it
sends a message after it has sent the previous one and received all messages that had arrived by
then, plus the time that passed since the last of these events. Receives wait for nothing. Every
message has a unique tag, so that each receive matches its own send.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.exports.packed import writing

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.exports.messages import Messages

#: The most operations that are in memory as text.
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
        messages: The messages; those with a `lack` are left out.
        run: The name of the run.
        hosts: The hosts in the order of their ranks.
        path: The file; an existing one is replaced.
        progress: Called with the host whose operations are written next.
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
    """Yields a host's operations in the order of time, as chunks of lines."""
    import polars as pl

    sends = rows.filter(pl.col("sender") == host).select(
        pl.col("sent_first").alias("time"), "tag", "bytes", pl.col("receiver").alias("peer"),
        pl.lit("send").alias("kind"),
    )  # fmt: skip
    receives = rows.filter(pl.col("receiver") == host).select(
        pl.col("arrived_last").alias("time"), "tag", "bytes", pl.col("sender").alias("peer"),
        pl.lit("recv").alias("kind"),
    )  # fmt: skip
    # A message that arrives at the very time of a send did not cause it.
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
