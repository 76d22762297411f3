"""Writes a run's table `critical_path`, divided among the hosts at which the time passed.

It is computed from the run's other tables, after the matched ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.critical_path import packets, record, walk
from flowsweep.critical_path.columns import NAME
from flowsweep.critical_path.parts import Part
from flowsweep.files.owned import TABLE_MARK

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.critical_path.packets import HostPackets
    from flowsweep.critical_path.record import Circumstances
    from flowsweep.critical_path.walk import Step

#: Share of the payload whose fate and connection must be known.
LEAST_EXPLAINED = 0.95


def write(hosts: Mapping[str, Path], place: Callable[[str, str], Path], run_json: Path) -> None:
    """Finds the path of a run, and writes each host's part.

    Args:
        hosts: The folder of each host's tables; hosts that lack a needed table are left out.
        place: The file to write, by host and table.
        run_json: The record of the run; without it, the path is from the first message to the last.

    Raises:
        FlowsweepError: The record has an invalid value.
    """
    tables = ("fates", "one_way", "flows", "messages")
    whole = {
        host: folder
        for host, folder in hosts.items()
        if all((folder / f"{table}.parquet").is_file() for table in tables)
    }
    sent = packets.read(whole)
    steps = _find(sent, record.read(run_json))
    for host in whole:
        _frame(steps, host).write_parquet(
            place(host, NAME), compression="zstd", metadata={TABLE_MARK.decode(): NAME}
        )


def _find(sent: Mapping[str, HostPackets], known: Circumstances) -> list[Step]:
    import polars as pl

    if not any(host.packets.height for host in sent.values()):
        return []
    rows = pl.concat([host.packets for host in sent.values()])
    host = known.clock_of if known.clock_of in sent else None
    shift = 0 if host is None else sent[host].shift_ns
    spans = rows.select(pl.col("began").min(), pl.col("arrival").max()).row(0)
    start, end = (
        span if stated is None else stated + shift
        for stated, span in zip((known.start, known.end), spans, strict=True)
    )
    if start is None or end is None or start >= end:
        return []
    if _explained_share(rows) < LEAST_EXPLAINED:
        return [walk.Step(host or min(sent), None, Part.UNKNOWN, start, end - start)]
    return walk.find(sent, start, end, known.rates)


def _explained_share(packets: pl.DataFrame) -> float:
    """Returns the share of the payload of which connection, and arrival or loss, are known."""
    explained, payload = (
        int(rows["payload_bytes"].sum()) for rows in (packets.filter("is_explained"), packets)
    )
    return explained / payload


def _frame(steps: list[Step], host: str) -> pl.DataFrame:
    import polars as pl

    rows = [
        (number, step.peer, str(step.part), step.begin_ns, step.duration_ns)
        for number, step in enumerate(steps)
        if step.host == host
    ]
    time = pl.Datetime("ns", "UTC")
    kinds = {"step": pl.Int64, "receiver": pl.String, "part": pl.String, "begin": pl.Int64,
             "duration_ns": pl.Int64}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(pl.col("begin").cast(time))
