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

#: A capture, the parts of one capture, or a folder or file of tables.
Source = str | Path | Sequence[str | Path]
#: Unit of the time columns: nanoseconds, or microseconds, which all DuckDB functions accept.
TimeUnit = Literal["ns", "us"]


class DamagedCaptureWarning(UserWarning):
    """Reading stopped before the end of a capture; the rows cover the part before the damage."""


@dataclass(frozen=True, repr=False)
class Table(Shown):
    """One table of a capture; each request for its stream reads the files again.

    `polars.DataFrame(table)`, `pyarrow.table(table)` and `duckdb.sql("from table")` accept it. A
    stream of a damaged capture ends with a `DamagedCaptureWarning` that gives the place of the
    damage; turned into an error (`warnings.simplefilter`), it makes the read fail.
    """

    name: str
    files: tuple[Path, ...]
    settings: Settings = field(default_factory=Settings)

    def _shown_files(self) -> tuple[Path, ...]:
        return self.files

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as an Arrow C stream, in the table's own schema."""
        with readable_errors():
            return _parsers.stream(
                name_paths(self.files),
                self.name,
                self.settings,
                on_damage=_warn,
            )

    def __arrow_c_schema__(self) -> object:
        """Returns the schema without opening a file."""
        return _parsers.schema(self.name)


@dataclass(frozen=True, repr=False)
class ParquetTable(Shown):
    """A table that `flowsweep parse` or `flowsweep ingest` wrote."""

    name: str
    #: The folder that contains the table `name`, or the table's files.
    source: Path | tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The table's current files."""
        if isinstance(self.source, Path):
            return _parquet_files(self.name, self.source)
        return self.source

    def _shown_files(self) -> tuple[Path, ...]:
        return (self.source,) if isinstance(self.source, Path) else self.source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as an Arrow C stream; Hive folders add the columns `run` and `host`."""
        import duckdb

        with self.reading() as locks:
            relation = duckdb.connect().sql(parquet_files.query_files(self.files))
            stream: object = relation.__arrow_c_stream__(requested_schema)
            # DuckDB opens each file only when its rows are requested: the stream keeps the locks.
            for lock in locks:
                stream = _parsers.held(stream, os.dup(lock))
        return stream

    @contextmanager
    def reading(self) -> Iterator[list[int]]:
        """Prevents the replacement of the table's files in the `with` block; yields the locks."""
        source = self.source
        parents = [source] if isinstance(source, Path) else [path.parent for path in source]
        with ExitStack() as stack:
            folders = sorted({find_tables_folder(path) for path in parents})
            locks = [stack.enter_context(reading(folder)) for folder in folders]
            yield [lock for lock in locks if lock is not None]


#: What a reader returns; each type has the Arrow PyCapsule stream interface.
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
    """Reads one row per connection and direction.

    All settings but `time_unit` apply only to captures; tables already written stay as they are.

    Args:
        path: A capture file, a list of the parts of one capture, or a folder or Parquet file
            that `flowsweep parse` wrote.
        bin_ns: Length of a throughput bin in nanoseconds.
        udp_timeout_ns: Silence in nanoseconds after which a flow that is not TCP ends.
        verify_checksums: Whether packets with a wrong checksum are left out of all flows.
        keep_duplicates: Whether copies of other packets count as packets.
        time_unit: Unit of the time columns: `ns`, or `us`, which all DuckDB functions accept
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
    """Reads one row per packet; see `read_flows`."""
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
    """Reads inter-arrival times of packets, counted in buckets; see `read_flows`."""
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
    """Reads the non-empty time bins of each pair of addresses; see `read_flows`."""
    settings = Settings(bin_ns, verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("throughput", path, settings))


def read_messages(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Reads application messages of TCP connections, inferred from headers; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("messages", path, settings))


def read_rdma(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Reads queue pairs of RDMA over UDP (RoCEv2), one row per direction; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("rdma", path, settings))


def read_captures(
    path: Source,
    *,
    verify_checksums: bool = False,
    keep_duplicates: bool = False,
    time_unit: TimeUnit = "ns",
) -> Reading:
    """Reads one row per file and interface; see `read_flows`."""
    settings = Settings(verify_checksums=verify_checksums, keep_duplicates=keep_duplicates)
    return _in_unit(time_unit, _read("captures", path, settings))


def read_fates(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """Reads the fate of each packet between the hosts of a run.

    Args:
        path: A folder that `flowsweep match` wrote, or Parquet files from one.
        time_unit: Unit of the time columns, as in `read_flows`.

    Returns:
        An object with the Arrow PyCapsule stream interface.
    """
    return _in_unit(time_unit, _read_matched("fates", path))


def read_clocks(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """Reads offset, drift and steps of the clocks of a run's hosts; see `read_fates`."""
    return _in_unit(time_unit, _read_matched("clocks", path))


def read_one_way(path: Source, *, time_unit: TimeUnit = "ns") -> Reading:
    """Reads the one-way delay of each packet between the hosts of a run; see `read_fates`."""
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
            _parquet_files(name, paths[0])  # raises now if the table is missing
        return written
    if paths and all(path.suffix == ".parquet" for path in paths):
        return ParquetTable(name, tuple(paths))
    table = Table(name, tuple(paths), settings)
    # Reports a file that is not a capture now, and not only when the stream is read.
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
    """Warns with the message of `flowsweep parse`; the rows before the damage stay valid."""
    for damage in damaged:
        warnings.warn(str(DamagedCaptureError(damage)), DamagedCaptureWarning, stacklevel=2)


def _parquet_files(name: str, folder: Path) -> tuple[Path, ...]:
    """Returns the table's files in a folder of `parse`, or in the Hive folders of `ingest`."""
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
    """Returns the files of this name, except in hidden folders, which are still being written."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [Path(at, name)] * (name in files)
    return sorted(found)
