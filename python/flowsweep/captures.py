"""Reads captures, or tables that `flowsweep parse` wrote, as Arrow streams."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flowsweep import _parsers
from flowsweep.defaults import BIN_NS, UDP_TIMEOUT_NS
from flowsweep.duckdb_tables import Microseconds
from flowsweep.errors import FlowsweepError
from flowsweep.files import parquet_files
from flowsweep.files.file_sets import find_tables_folder, reading
from flowsweep.notebook import Shown
from flowsweep.parsing import (
    CaptureError,
    DamagedCaptureError,
    Settings,
    check,
    name_paths,
    readable_errors,
)

if TYPE_CHECKING:
    from flowsweep._parsers import Damage

#: A capture, several that are one, or a folder or file of tables.
Source = str | Path | Sequence[str | Path]
#: Of the time columns: nanoseconds, or microseconds, for which DuckDB has all of its functions.
TimeUnit = Literal["ns", "us"]


class DamagedCaptureWarning(UserWarning):
    """Reading a capture stopped before its end; the rows are of what came before."""


@dataclass(frozen=True, repr=False)
class Table(Shown):
    """One table of a capture, read anew each time its stream is asked for.

    `polars.DataFrame(table)`, `pyarrow.table(table)` and `duckdb.sql("from table")` take it. At
    the end of a stream that is read whole, a `DamagedCaptureWarning` says where the capture is
    damaged, if it is; turned into an error (`warnings.simplefilter`), it makes the reading fail.
    """

    name: str
    files: tuple[Path, ...]
    settings: Settings = field(default_factory=Settings)

    def _shown_files(self) -> tuple[Path, ...]:
        return self.files

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream, in the schema that the table has."""
        with readable_errors():
            return _parsers.stream(
                name_paths(self.files),
                self.name,
                self.settings,
                on_damage=_warn,
            )

    def __arrow_c_schema__(self) -> object:
        """The schema alone; no file is opened."""
        return _parsers.schema(self.name)


@dataclass(frozen=True, repr=False)
class ParquetTable(Shown):
    """A table that `flowsweep parse` or `flowsweep ingest` wrote."""

    name: str
    #: A folder, of which it is the table `name`, or files.
    source: Path | tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it has now."""
        if isinstance(self.source, Path):
            return _parquet_files(self.name, self.source)
        return self.source

    def _shown_files(self) -> tuple[Path, ...]:
        return (self.source,) if isinstance(self.source, Path) else self.source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream; in Hive folders with the columns `run` and `host`."""
        import duckdb

        with self.reading() as locks:
            relation = duckdb.connect().sql(parquet_files.query_files(self.files))
            stream: object = relation.__arrow_c_stream__(requested_schema)
            # DuckDB opens the files one after the other, as their rows are asked for.
            for lock in locks:
                stream = _parsers.held(stream, os.dup(lock))
        return stream

    @contextmanager
    def reading(self) -> Iterator[list[int]]:
        """Keeps its files from being replaced while this is entered; yields the locks."""
        source = self.source
        parents = [source] if isinstance(source, Path) else [path.parent for path in source]
        with ExitStack() as stack:
            folders = sorted({find_tables_folder(path) for path in parents})
            locks = [stack.enter_context(reading(folder)) for folder in folders]
            yield [lock for lock in locks if lock is not None]


#: What a reader returns; all of it has the Arrow PyCapsule stream interface.
Reading = Table | ParquetTable | Microseconds


def read_flows(
    path: Source,
    *,
    bin_ns: int = BIN_NS,
    udp_timeout_ns: int = UDP_TIMEOUT_NS,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """One row per connection and direction.

    All but `path` say how captures are read; tables that are written already stay as they are.

    Args:
        path: A capture file, a list of files that are one capture, or a folder or Parquet
            file that `flowsweep parse` wrote.
        bin_ns: Length of a throughput bin in nanoseconds.
        udp_timeout_ns: Silence in nanoseconds after which a flow that is not TCP ends.
        verify_checksums: Whether packets with a wrong checksum are left out of all flows.
        keep_duplicates: Whether copies of other packets count as packets.
        time_unit: Of the time columns: `ns`, or `us`, for which DuckDB has all of its functions
            (`max(time) - min(time)`, `date_trunc`, `time_bucket`, `epoch`).

    Returns:
        An object with the Arrow PyCapsule stream interface.
    """
    settings = Settings(bin_ns, udp_timeout_ns, verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("flows", path, settings))


def read_packets(
    path: Source,
    *,
    udp_timeout_ns: int = UDP_TIMEOUT_NS,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """One row per packet; see `read_flows`."""
    settings = Settings(BIN_NS, udp_timeout_ns, verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("packets", path, settings))


def read_intervals(
    path: Source,
    *,
    udp_timeout_ns: int = UDP_TIMEOUT_NS,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Gaps between packets, counted in buckets; see `read_flows`."""
    settings = Settings(BIN_NS, udp_timeout_ns, verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("intervals", path, settings))


def read_throughput(
    path: Source,
    *,
    bin_ns: int = BIN_NS,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Non-empty time bins per pair of addresses; see `read_flows`."""
    settings = Settings(bin_ns, verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("throughput", path, settings))


def read_messages(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Application messages of TCP connections, inferred from headers; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("messages", path, settings))


def read_rdma(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Queue pairs of RDMA over UDP (RoCEv2), one row per direction; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("rdma", path, settings))


def read_captures(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """One row per file and interface; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("captures", path, settings))


def read_fates(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """What became of each packet between the hosts of a run.

    Args:
        path: A folder that `flowsweep match` wrote, or Parquet files of it.
        time_unit: Of the time columns, as in `read_flows`.

    Returns:
        An object with the Arrow PyCapsule stream interface.
    """
    return _in_unit(time_unit, _read_matched("fates", path))


def read_clocks(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """Offset, drift and steps of the clocks of a run's hosts; see `read_fates`."""
    return _in_unit(time_unit, _read_matched("clocks", path))


def read_one_way(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """How long each packet between the hosts of a run was under way; see `read_fates`."""
    return _in_unit(time_unit, _read_matched("one_way", path))


def _in_unit(time_unit: TimeUnit, table: Table | ParquetTable) -> Reading:
    if time_unit not in ("ns", "us"):
        raise FlowsweepError(f"time_unit: {time_unit!r}", expected="'ns' or 'us'")
    return Microseconds(table) if time_unit == "us" else table


def _read(name: str, source: Source, settings: Settings) -> Table | ParquetTable:
    single = isinstance(source, (str, Path))
    paths = [Path(source)] if isinstance(source, (str, Path)) else [Path(path) for path in source]
    if single and paths[0].is_dir():
        written = ParquetTable(name, paths[0])
        with written.reading():
            _parquet_files(name, paths[0])  # says so now where there is none
        return written
    if paths and all(path.suffix == ".parquet" for path in paths):
        return ParquetTable(name, tuple(paths))
    table = Table(name, tuple(paths), settings)
    # A file that is no capture is reported here, not when the stream is read.
    check(paths)
    return table


def _read_matched(name: str, source: Source) -> ParquetTable:
    table = _read(name, source, Settings())
    if isinstance(table, ParquetTable):
        return table
    raise CaptureError(
        f"{table.files[0] if table.files else source}: table {name} is not of one capture",
        found="a capture",
        expected="a folder that `flowsweep match` wrote",
        remedy="flowsweep match RUN --output FOLDER",
    )


def _warn(damaged: list[Damage]) -> None:
    """Says what `flowsweep parse` would say; the rows are still those before the damage."""
    for damage in damaged:
        warnings.warn(str(DamagedCaptureError(damage)), DamagedCaptureWarning, stacklevel=2)


def _parquet_files(name: str, folder: Path) -> tuple[Path, ...]:
    """The table's files in a folder of `parse`, or of `ingest` with its Hive folders."""
    flat = folder / f"{name}.parquet"
    if flat.exists():
        return (flat,)
    found = _files_below(folder, f"{name}.parquet")
    if not found:
        raise CaptureError(
            f"{folder}: no table {name} in this folder",
            expected=f"{name}.parquet, or run=*/host=*/{name}.parquet",
            remedy=f"flowsweep match RUN --output {folder}"
            if name in _parsers.matched_tables()
            else f"flowsweep parse FILE --output {folder}",
        )
    return tuple(found)


def _files_below(folder: Path, name: str) -> list[Path]:
    """Files of the name, but for those in hidden folders, which are being written."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [Path(at, name)] * (name in files)
    return sorted(found)
