"""Converts the Zeek logs of one run, host by host, to partitioned tables.

In addition to captures, a run's folder may contain logs such as `<host>.conn.log`, also rotated
and compressed, or a folder `<host>/` with logs as Zeek writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from flowsweep.files.outputs import explaining
from flowsweep.zeek import LOG_NAME, convert, counted, flows, quality

#: Zeek's flows; if there is a capture too, `flows` has those of the native parser.
FLOWS = "zeek_flows"
#: Tables that are derived from logs and have no log of the same name.
OWN = (FLOWS, *(f"zeek_{table}" for table in counted.TABLES.values()))


def logs_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """Returns the logs of a run by host, sorted."""
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


def select_recognised(
    logs: Mapping[str, Sequence[Path]],
) -> tuple[dict[str, list[Path]], list[Path]]:
    """Returns the Zeek logs of each host, and files that only have a log's name or are empty."""
    read = {host: [path for path in some if convert.look(path)] for host, some in logs.items()}
    others = [path for host, some in logs.items() for path in some if path not in read[host]]
    return {host: some for host, some in read.items() if some}, others


def write(
    logs: Sequence[Path],
    place: Callable[[str], Path],
    bin_ns: int,
    *,
    has_capture: bool,
    dropped: int | None = None,
) -> list[convert.Converted]:
    """Writes a table for each kind of log of one host, `zeek_<kind>`, and its flows.

    Without a capture, this also writes `flows`, `captures` and the tables that flowsweep's Zeek
    script fills. With a capture, the native parser writes these; Zeek's are called `zeek_flows`,
    `zeek_intervals` and so on.

    Args:
        logs: The logs of the host.
        place: Returns the path of a table by its name; its folder is created here.
        bin_ns: Length of the script's throughput bins in ns.
        has_capture: Whether the native parser writes tables of this host.
        dropped: Packets that never reached Zeek; None to take the number from Zeek's logs.
    """
    by_table: dict[str, list[convert.Log]] = {}
    for log in (convert.look(path) for path in logs):
        if log is not None:
            by_table.setdefault(table_name(log.kind), []).append(log)
    done, written = [], {}
    for table, own in sorted(by_table.items()):
        target = _make(place(table))
        with explaining(f"cannot write {target}"):
            done.append(convert.convert(own, target))
        written[table.removeprefix("zeek_")] = target
    if "zeek_conn" in by_table:
        if dropped is None:
            stats = by_table.get("zeek_stats", [])
            dropped = quality.dropped_packets(log.path for log in stats)
        places = {table.removeprefix("zeek_"): some[0].path for table, some in by_table.items()}
        made = _tables(written, places, dropped, bin_ns, alone=not has_capture)
        for table, rows in made.items():
            target = _make(place(table))
            with explaining(f"cannot write {target}"):
                convert.write_marked(rows, target, table)
    return done


def table_name(kind: str) -> str:
    """Returns the table of a kind of log, `zeek_conn`; for names of `OWN`, `zeek_flows_log`.

    Kinds that differ only in case or punctuation share a table.
    """
    name = "zeek_" + "".join(letter if letter.isalnum() else "_" for letter in kind.lower())
    return f"{name}_log" if name in OWN else name


def _tables(
    logs: Mapping[str, Path],
    places: Mapping[str, Path],
    dropped: int | None,
    bin_ns: int,
    *,
    alone: bool,
) -> dict[str, pl.DataFrame]:
    """Returns the tables that captures would give too, by their names on disk.

    Args:
        logs: A Parquet file for each kind of log.
        places: The first log of each kind, for errors.
        dropped: Packets that never reached Zeek; None if unknown.
        bin_ns: Length of a throughput bin in ns.
        alone: Whether the native parser writes no tables of this host.
    """
    file = flows.display_name(places["conn"])
    rows = flows.flows(pl.read_parquet(logs["conn"], memory_map=False), str(places["conn"]))
    own = {
        kind: counted.rows_of(logs[kind], kind, str(places[kind]))
        for kind in counted.NEEDED
        if kind in logs
    }
    if counted.DIRECTIONS in own:
        rows = counted.with_own_times(rows, own[counted.DIRECTIONS])
    others = counted.tables(own, rows, bin_ns)
    if not alone:
        return {FLOWS: rows} | {f"zeek_{table}": made for table, made in others.items()}
    captures = flows.captures(rows, file, dropped)
    return {FLOWS: rows, "flows": rows, "captures": captures, **others}


def _make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
