"""Parses captures into Parquet files from Python: `flowsweep.parse`."""

from __future__ import annotations

import html
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flowsweep.captures import DamagedCaptureWarning
from flowsweep.defaults import BIN_NS, UDP_TIMEOUT_NS
from flowsweep.files.file_sets import file_set
from flowsweep.parsing import (
    ALL_TABLES,
    DamagedCaptureError,
    Options,
    Settings,
    name_paths,
    write_tables,
)
from flowsweep.units import counted


@dataclass(frozen=True, repr=False)
class Parsed:
    """What `parse` wrote.

    Attributes:
        folder: The folder of the tables, which the readers accept.
        tables: The Parquet file of each table, by the table's name.
        packets: Number of packets read.
        connections: Number of connections that these packets belong to.
        undecoded: Number of packets that belong to no flow.
        damage: Where a capture could not be read to its end, as messages.
    """

    folder: Path
    tables: dict[str, Path]
    packets: int
    connections: int
    undecoded: int
    damage: tuple[str, ...]

    def __repr__(self) -> str:
        """Returns one line: what was read, and where the tables are."""
        read = f"{counted(self.packets, 'packet')}, {counted(self.connections, 'connection')}"
        damaged = ", damaged" if self.damage else ""
        return f"<{read}{damaged} -> {self.folder}: {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        """Shows a row for each table in a notebook."""
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(str(path))}</td></tr>"
            for name, path in self.tables.items()
        )
        head = "<tr><th>table</th><th>file</th></tr>"
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table>{head}{rows}</table>"


def parse(
    files: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    bin_ns: int = BIN_NS,
    udp_timeout_ns: int = UDP_TIMEOUT_NS,
    packets: bool = False,
    threads: int = 0,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
) -> Parsed:
    """Parses captures into Parquet tables, as `flowsweep parse` does.

    Args:
        files: A capture, or the parts of one capture in the order of their packets.
        output: Folder for `<table>.parquet`. Tables of an earlier `parse` there are replaced.
        bin_ns: Length of a throughput bin in nanoseconds.
        udp_timeout_ns: Silence in nanoseconds after which a flow that is not TCP ends.
        packets: Whether the table `packets`, one row per packet, is written as well.
        threads: Number of threads; 0 for one per core. It does not change the tables.
        verify_checksums: Whether packets with a wrong checksum are left out of all flows.
        keep_duplicates: Whether copies of other packets count as packets.

    Returns:
        Counts, and the file of each table. `read_flows(output)` and the like read them.

    Raises:
        ValueError: A file is not a capture, or cannot be read (a `FlowsweepError`). A damaged
            capture is read up to the damage and gives a `DamagedCaptureWarning`.
    """
    paths = [Path(files)] if isinstance(files, (str, Path)) else [Path(file) for file in files]
    folder = Path(output)
    settings = Settings(bin_ns, udp_timeout_ns, verify_checksums, keep_duplicates=keep_duplicates)
    options = Options(settings, packets=packets, threads=threads)
    names = [f"{table}.parquet" for table in ALL_TABLES]
    with file_set(folder, "tables", names, is_alone=True) as hidden:
        written = {table: hidden / f"{table}.parquet" for table in options.tables}
        places = {table: folder / f"{table}.parquet" for table in options.tables}
        summary = write_tables(name_paths(paths), written, places, options)
    damage = tuple(str(DamagedCaptureError(place)) for place in summary["damage"])
    for message in damage:
        warnings.warn(message, DamagedCaptureWarning, stacklevel=2)
    return Parsed(
        folder, places, summary["packets"], summary["connections"], summary["undecoded"], damage
    )
