"""The Zeek logs of one run, host by host, to partitioned tables.

Beside captures, a run's folder may hold `<host>.conn.log` and other logs called so, also rotated
and compressed, or a folder `<host>/` as Zeek writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from flowsweep.files.outputs import sync
from flowsweep.zeek import LOG_NAME, convert, flows, quality

#: Flows of Zeek, beside those of the native parser where there is a capture too.
FLOWS = "zeek_flows"


def logs_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """The logs of a run by host, sorted."""
    hosts: dict[str, list[Path]] = {}
    for path in sorted(run_dir.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            found = [one for one in convert.find([path]) if not one.name.startswith(".")]
            if found:
                hosts.setdefault(path.name, []).extend(found)
        elif (match := LOG_NAME.fullmatch(path.name)) and path.is_file():
            host, dot, _ = convert.unrotated(match["stem"]).rpartition(".")
            if dot:
                hosts.setdefault(host, []).append(path)
    return dict(sorted(hosts.items()))


def write(
    logs: Sequence[Path],
    place: Callable[[str], Path],
    *,
    has_capture: bool,
) -> list[convert.Converted]:
    """Writes a table for each kind of log of one host, `zeek_<kind>`, and its flows.

    Where the host has no capture, the tables `flows` and `captures` are Zeek's too.

    Args:
        logs: The host's.
        place: Where the table of a name comes to lie; its folder is made here.
        has_capture: Whether the native parser writes these two.
    """
    kinds: dict[str, list[convert.Log]] = {}
    for log in (convert.look(path) for path in logs):
        if log is not None:
            kinds.setdefault(log.kind, []).append(log)
    done = []
    for kind, of_kind in sorted(kinds.items()):
        target = _made(place(table_name(kind)))
        done.append(convert.convert(of_kind, target))
        sync(target)
        if kind == "conn":
            conn = pl.read_parquet(target, memory_map=False)
            dropped = quality.dropped_packets(log.path for log in kinds.get("stats", []))
            _write_flows(conn, of_kind[0].path.name, dropped, place, alone=not has_capture)
    return done


def table_name(kind: str) -> str:
    """The table of a kind of log: `zeek_conn`."""
    return "zeek_" + "".join(letter if letter.isalnum() else "_" for letter in kind.lower())


def _write_flows(
    conn: pl.DataFrame,
    file: str,
    dropped: int | None,
    place: Callable[[str], Path],
    *,
    alone: bool,
) -> None:
    rows = flows.flows(conn, file)
    tables: Mapping[str, pl.DataFrame] = {FLOWS: rows}
    if alone:
        tables = {**tables, "flows": rows, "captures": flows.captures(rows, file, dropped)}
    for table, frame in tables.items():
        target = _made(place(table))
        convert.write_marked(frame, target, table)
        sync(target)


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def tables_of(logs: Sequence[Path]) -> set[str]:
    """Names of the tables that these logs may become."""
    kinds = {log.kind for log in map(convert.look, logs) if log is not None}
    return {FLOWS, *map(table_name, kinds)}
